package probe

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var userinfo = regexp.MustCompile(`://[^/?#\s"'<>]+@`)

// Safe returns a text that may be shown: control characters, which could drive a terminal,
// are escaped, and URLs have no password.
func Safe(text string) string {
	var safe strings.Builder
	for rest := userinfo.ReplaceAllString(text, "://<user>@"); rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == '\n' || r == '\t' || unicode.IsPrint(r) && !(r == utf8.RuneError && size == 1) {
			safe.WriteString(rest[:size])
		} else {
			quoted := strconv.Quote(rest[:size])
			safe.WriteString(quoted[1 : len(quoted)-1])
		}
		rest = rest[size:]
	}
	return safe.String()
}
