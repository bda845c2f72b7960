package guard

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Content is the meaning of a request. Two requests with equal contents are the same
// request.
type Content struct {
	Method string
	// Segments is the path, split at slashes and then decoded: "ann@x", "ann%40x" and
	// "%61nn%40x" are one segment, and "a%2Fb" is one as well (RFC 3986, section 6.2.2).
	Segments []string
	// Query is the query with parameters sorted by name.
	Query string
	// Body is canonical: bodies with the same meaning are equal bytes. RFC 8785 does
	// that for JSON; encoding the decoded command again also does.
	Body []byte
	// Headers are headers that change the meaning, each as "Name: value" and in a fixed
	// order. Most requests have no such header.
	Headers []string

	// path is escaped as it was sent, and route is the pattern that InVersion1 got. Only
	// version 1 needs them.
	path, route string
}

// NewContent returns the content of a request to a URL. body must be canonical.
func NewContent(method string, target *url.URL, body []byte) Content {
	query := target.RawQuery
	if values, err := url.ParseQuery(query); err == nil {
		query = values.Encode() // sorted; a query that cannot be parsed counts as it came
	}
	path := target.EscapedPath()
	segments := strings.Split(cmp.Or(target.RawPath, path), "/")
	for i, segment := range segments {
		if decoded, err := url.PathUnescape(segment); err == nil {
			segments[i] = decoded
		}
	}
	return Content{Method: method, Segments: segments, Query: query, Body: body, path: path}
}

// InVersion1 returns c to be stored in version 1, for a service whose last release knows no
// other: replicas of both releases share the records during an upgrade. route is the
// pattern of the route, such as /orders/{order_id}/cancel. New services do not need this.
func (c Content) InVersion1(route string) Content {
	c.route, c.path = route, spellRoute(route, c.path)
	return c
}

// Fingerprint is a content hash: one byte for the version, then the hash.
type Fingerprint string

// currentVersion is the version that new records are stored with. Every replica must know
// it, so the version after it comes in two releases of a service: the first knows it, and
// the second stores it. See [Content.InVersion1].
const currentVersion byte = 2

// fingerprintVersions holds every version that a stored record may have.
//
// A record is compared in the version it was stored with. To change the hashed parts,
// add a version here and deploy it everywhere; only then make it the current one. An
// older version may go when the last such record has expired. That way no upgrade
// answers "key reused" to an honest retry, and no replica meets an unknown version.
//
// Version 1 hashes the path as it was sent, although clients and proxies spell a path
// differently. Version 1 records are therefore compared with the other spellings as
// well.
var fingerprintVersions = map[byte]func(Content) Fingerprint{
	1: func(c Content) Fingerprint { return hashParts(c, c.path) },
	2: func(c Content) Fingerprint { return hashParts(c, string(joinParts(c.Segments))) },
}

// Fingerprint returns the fingerprint that c is stored with.
func (c Content) Fingerprint() Fingerprint {
	version := currentVersion
	if c.route != "" {
		version = 1
	}
	return Fingerprint([]byte{version}) + fingerprintVersions[version](c)
}

// Matches reports whether f is a fingerprint of c, in the version that f was made with.
// An error means that this program does not know the version.
func (c Content) Matches(f Fingerprint) (bool, error) {
	if f == "" {
		return false, errors.New("the stored fingerprint is empty")
	}
	hash, known := fingerprintVersions[f[0]]
	if !known {
		return false, fmt.Errorf("the stored fingerprint has version %d, which this program does not know", f[0])
	}
	if hash(c) == f[1:] {
		return true, nil
	}
	return f[0] == 1 && c.matchesOtherSpelling(f[1:]), nil
}

// hashParts returns the SHA-256 over all parts, with the path in the form of a version.
func hashParts(c Content, path string) Fingerprint {
	text := make([]byte, 0, 512) // the stack has room for most requests
	text = appendPart(text, c.Method)
	text = appendPart(text, path)
	text = appendPart(text, c.Query)
	text = appendPart(text, c.Body)
	for _, header := range c.Headers {
		text = appendPart(text, header)
	}
	hash := sha256.Sum256(text)
	return Fingerprint(hash[:])
}

// joinParts returns one part that holds all parts.
func joinParts(parts []string) (text []byte) {
	for _, part := range parts {
		text = appendPart(text, part)
	}
	return text
}

// appendPart appends a part after the length, so that no two contents become the same
// text.
func appendPart[T string | []byte](text []byte, part T) []byte {
	text = binary.BigEndian.AppendUint64(text, uint64(len(part)))
	return append(text, part...)
}
