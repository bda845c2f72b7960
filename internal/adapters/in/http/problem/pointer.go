package problem

import (
	"net/url"
	"strings"
)

// pointerEscapes are the characters with a meaning in a JSON pointer (RFC 6901).
var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer returns a member's location as a JSON pointer in a URI fragment.
func Pointer(location ...string) string {
	var p strings.Builder
	for _, token := range location {
		p.WriteString("/" + pointerEscapes.Replace(token))
	}
	return Fragment(p.String())
}

// Fragment returns a JSON pointer as a URI fragment, as in RFC 9457: "/a b" is
// "#/a%20b".
func Fragment(pointer string) string {
	return "#" + (&url.URL{Fragment: pointer}).EscapedFragment()
}
