package httpapi

import (
	"net/url"
	"regexp"
	"strings"
)

// hidden replaces what an instance must not repeat.
const hidden = "*"

// repeated says which parameters of a path an instance repeats, and of which form. All
// others are hidden.
var repeated = map[string]*regexp.Regexp{
	"{order_id}":    regexp.MustCompile(`^[0-9]{1,19}$`),
	"{sku}":         skuPattern,
	"{customer_id}": regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`),
}

// instanceOf returns the instance of a problem: the path of the request, as far as the
// pattern of its route knows it. People copy problems into tickets, and anything can be in
// a path: an e-mail address, a token, a card number (AUTH-16). The pattern is empty where
// no route has the path.
func instanceOf(pattern string, u *url.URL) string {
	names, values := strings.Split(pattern, "/"), strings.Split(u.EscapedPath(), "/")
	if pattern == "" || len(names) != len(values) {
		return "/" + hidden
	}
	for i, name := range names {
		if strings.HasPrefix(name, "{") {
			names[i] = parameterIn(name, values[i])
		}
	}
	return strings.Join(names, "/")
}

func parameterIn(name, value string) string {
	form := repeated[name]
	if form == nil || !form.MatchString(value) || hasCardNumberOf(minInIdentifier, value) {
		return hidden
	}
	return value
}
