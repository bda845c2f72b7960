package guard

import (
	"net/url"
	"strings"
)

// matchesOtherSpelling reports whether a hash of version 1 is that of c with the path
// parameters spelled differently. It can go together with version 1.
//
// It tries every spelling of up to eight bytes. Of more, it tries what encoders do:
// they escape all occurrences of a byte or leave them, with hexadecimal digits in one
// case.
func (c Content) matchesOtherSpelling(hash Fingerprint) bool {
	names := strings.Split(c.route, "/")
	if len(names) != len(c.Segments) {
		return false // no pattern, or one that does not say where the parameters are
	}
	choices, count := choose(c.optionalEscapes(names))
	for set := range 1 << count {
		for _, digits := range []string{"0123456789ABCDEF", "0123456789abcdef"} {
			if hashParts(c, c.respelled(names, choices, set, digits)) == hash {
				return true
			}
		}
	}
	return false
}

// optionalEscapes returns the bytes of the parameters that may be escaped and need not be.
func (c Content) optionalEscapes(names []string) (optional []byte) {
	for i, segment := range c.Segments {
		for _, char := range []byte(segment) {
			if isParameter(names[i]) && isPlain(char) {
				optional = append(optional, char)
			}
		}
	}
	return optional
}

// spellRoute returns an escaped path with one spelling for all segments except the
// parameters. Some routers accept more spellings.
func spellRoute(route, path string) string {
	names, segments := strings.Split(route, "/"), strings.Split(path, "/")
	if len(names) != len(segments) || !strings.Contains(path, "%") {
		return path
	}
	for i, name := range names {
		if decoded, err := url.PathUnescape(segments[i]); err == nil && !isParameter(name) {
			segments[i] = (&url.URL{Path: decoded}).EscapedPath()
		}
	}
	return strings.Join(segments, "/")
}

// maxChoices bounds the spellings: two for each set of so many choices.
const maxChoices = 8

// choose numbers the choices whether to escape a byte. Bytes with one number are escaped
// together, and those with -1 never: letters and digits beyond the bound, because client
// libraries differ in punctuation only.
func choose(optional []byte) (choices []int, count int) {
	choices = make([]int, len(optional))
	numbers := map[int]int{}
	for _, i := range punctuationFirst(optional) {
		together := int(optional[i])
		if len(optional) <= maxChoices {
			together = i
		}
		number, known := numbers[together]
		switch {
		case !known && len(numbers) == maxChoices:
			number = -1
		case !known:
			number = len(numbers)
			numbers[together] = number
		}
		choices[i] = number
	}
	return choices, len(numbers)
}

// punctuationFirst returns the indexes of the bytes, those of letters and digits last.
func punctuationFirst(text []byte) []int {
	var first, last []int
	for i, char := range text {
		if isAlphanumeric(char) {
			last = append(last, i)
		} else {
			first = append(first, i)
		}
	}
	return append(first, last...)
}

// respelled returns the path with a set of choices to escape.
func (c Content) respelled(names []string, choices []int, set int, digits string) string {
	var path strings.Builder
	for i, segment := range c.Segments {
		if i > 0 {
			path.WriteByte('/')
		}
		for _, char := range []byte(segment) {
			literal := !isParameter(names[i])
			if !literal && isPlain(char) {
				literal = choices[0] < 0 || set&(1<<choices[0]) == 0
				choices = choices[1:]
			}
			if literal {
				path.WriteByte(char)
				continue
			}
			path.WriteByte('%')
			path.WriteByte(digits[char>>4])
			path.WriteByte(digits[char&0xf])
		}
	}
	return path.String()
}

func isParameter(name string) bool { return strings.HasPrefix(name, "{") }

// isPlain reports whether a path segment may contain the byte as it is.
func isPlain(char byte) bool {
	return isAlphanumeric(char) || strings.IndexByte("-._~!$&'()*+,;=:@[]", char) >= 0
}

func isAlphanumeric(char byte) bool {
	return '0' <= char && char <= '9' || 'A' <= char && char <= 'Z' || 'a' <= char && char <= 'z'
}
