// Package etag writes product versions as entity tags, and reads them from If-Match.
package etag

import (
	"regexp"
	"strconv"
	"strings"

	"example.com/orders/internal/core/order"
)

// Of returns the entity tag of a version.
func Of(version int64) string { return strconv.Quote(strconv.FormatInt(version, 10)) }

// first matches the first entity tag in a list, and the comma after it.
var first = regexp.MustCompile(`^(W/)?("[\x21\x23-\x7e]*")[ \t]*(?:,|$)`)

// ParseIfMatch parses the values of If-Match (RFC 9110, section 13.1.1), at least one. It
// returns the versions that match, no version for "*", and [order.NoVersion] for each tag
// that is not ours. It reports whether the values are valid.
func ParseIfMatch(values []string) (versions []int64, valid bool) {
	list := strings.Trim(strings.Join(values, ","), ", \t")
	if list == "*" {
		return nil, true
	}
	for list != "" {
		tag := first.FindStringSubmatch(list)
		if tag == nil {
			return nil, false
		}
		versions = append(versions, versionOf(tag[2]))
		list = strings.TrimLeft(list[len(tag[0]):], ", \t")
	}
	return versions, len(versions) > 0
}

// rewritten matches an entity tag of ours, also with the content coding that a proxy
// appended when it compressed the response: "3-gzip" (Apache), "3--gzip" (Jetty).
var rewritten = regexp.MustCompile(`^"([1-9][0-9]*)(?:(?:--?|[;:+.])(?:x-)?(?:gzip|gz|deflate|br|brotli|zstd|bzip2|compress))*"$`)

// versionOf returns the version that an entity tag names, also if a proxy has weakened the
// tag. RFC 9110 compares If-Match strongly, because a weak tag may stand for different
// bytes. Our tags are the version of all that PutProduct replaces. A proxy that compresses
// the response leaves that unchanged, so the comparison is as safe.
func versionOf(tag string) int64 {
	named := rewritten.FindStringSubmatch(tag)
	if named == nil {
		return order.NoVersion
	}
	version, err := strconv.ParseInt(named[1], 10, 64)
	if err != nil { // too large
		return order.NoVersion
	}
	return version
}
