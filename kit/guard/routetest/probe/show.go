package probe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Curl returns the request as a command line. Shown masks the credentials in it.
func (e Exchange) Curl() string {
	parts := []string{"curl -i -X", e.Request.Method, quoted(e.Server + e.Request.Path)}
	for _, name := range slices.Sorted(maps.Keys(e.Request.Header)) {
		for _, value := range e.Request.Header[name] {
			parts = append(parts, "-H", quoted(name+": "+value))
		}
	}
	if e.Request.Body != "" {
		parts = append(parts, "-d", quoted(e.Request.Body))
	}
	return strings.Join(parts, " ")
}

var cookie = regexp.MustCompile(`(^|, )([^=;, ]+)=[^;,]*`)

func quoted(text string) string { return "'" + escaped(text) + "'" }

func escaped(text string) string { return strings.ReplaceAll(text, "'", `'\''`) }

// Response returns the response as text.
func (e Exchange) Response() string {
	if e.Status == 0 {
		return fmt.Sprintf("no answer: %v", e.Err)
	}
	lines := []string{fmt.Sprint("HTTP/1.1 ", e.Status)}
	for _, name := range slices.Sorted(maps.Keys(e.Header)) {
		value := strings.Join(e.Header[name], ", ")
		if name == "Set-Cookie" {
			value = cookie.ReplaceAllString(value, "$1$2=<cookie>")
		}
		lines = append(lines, name+": "+value)
	}
	return strings.Join(append(lines, "", string(e.Body)), "\n")
}

// Limits of Shown.
const (
	Evidence = 2500
	line     = 400
)

// Shown returns a text as a report may show it: with the name of the principal in place of
// each credential, then Safe, and only then cut.
func (t *Target) Shown(text string, limit int) string {
	text = Safe(t.masks().Replace(text))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// shown returns a text for one line of a report.
func (t *Target) shown(text string) string {
	return strings.ReplaceAll(t.Shown(text, line), "\n", " ")
}

// masks replaces credentials, and a longer one before its beginning. A mask stays one.
func (t *Target) masks() *strings.Replacer {
	var masks, pairs []string
	for _, secret := range slices.SortedFunc(maps.Keys(t.Secrets), func(a, b string) int { return cmp.Compare(len(b), len(a)) }) {
		mask := "<token of " + t.Secrets[secret] + ">"
		masks = append(masks, mask, mask)
		inJSON, _ := json.Marshal(secret) //nolint:errchkjson // a string
		for _, spelling := range []string{secret, string(inJSON[1 : len(inJSON)-1]), url.QueryEscape(secret), escaped(secret)} {
			pairs = append(pairs, spelling, mask)
		}
	}
	return strings.NewReplacer(append(masks, pairs...)...)
}

var userinfo = regexp.MustCompile(`://[^/?#\s"'<>]+@`)

// Safe returns a text that may be shown: control characters, which could drive a terminal,
// are escaped, and URLs have no password.
func Safe(text string) string {
	var safe strings.Builder
	for rest := userinfo.ReplaceAllString(text, "://<user>@"); rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == '\n' || r == '\t' || unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) {
			safe.WriteString(rest[:size])
		} else {
			quoted := strconv.Quote(rest[:size])
			safe.WriteString(quoted[1 : len(quoted)-1])
		}
		rest = rest[size:]
	}
	return safe.String()
}
