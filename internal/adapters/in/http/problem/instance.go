package problem

import (
	"net/url"
	"regexp"
	"strings"

	"example.com/orders/internal/adapters/in/http/cardnumber"
)

// hidden replaces path values that an instance must not repeat.
const hidden = "*"

// repeated lists the path parameters that an instance repeats, with their form. It
// hides the rest.
var repeated = map[string]*regexp.Regexp{
	"{order_id}":    regexp.MustCompile(`^[0-9]{1,19}$`),
	"{sku}":         regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`),
	"{customer_id}": regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`),
}

// Instance returns a problem's instance: the request's path, as far as its route's
// pattern knows it. People copy problems into tickets, and a path can contain anything:
// an e-mail address, a token, a card number (AUTH-16). The pattern is empty where no
// route has the path.
func Instance(pattern string, u *url.URL) string {
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
	if form == nil || !form.MatchString(value) || cardnumber.In(value) {
		return hidden
	}
	return value
}
