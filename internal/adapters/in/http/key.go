package httpapi

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"net/url"
	"strings"

	"example.com/orders/internal/adapters/in/http/wire"
	"example.com/orders/internal/idempotency"
)

// maxKeyLength is how many characters an Idempotency-Key may have.
const maxKeyLength = 255

// idempotencyKey reads the Idempotency-Key header: visible ASCII, up to 255
// characters, bare or as the quoted string of a structured field (RFC 9651), which is
// the same key. Nothing that two parsers could read in two ways is let in.
func idempotencyKey(h http.Header) (string, error) {
	values := h.Values("Idempotency-Key")
	if len(values) > 1 {
		return "", newProblem(wire.ProblemCodeIdempotencyKeyInvalid, "the Idempotency-Key header stands more than once")
	}
	key := strings.Trim(strings.Join(values, ""), " \t")
	if quoted := len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"'; quoted {
		key = key[1 : len(key)-1]
	}
	if strings.Trim(key, " \t") == "" {
		return "", newProblem(wire.ProblemCodeIdempotencyKeyRequired, "this command needs an Idempotency-Key header")
	}
	return key, checkKey(key)
}

func checkKey(key string) error {
	if len(key) > maxKeyLength {
		return newProblem(wire.ProblemCodeIdempotencyKeyInvalid, "an Idempotency-Key has at most 255 characters")
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' || strings.IndexByte("\",;\\", c) >= 0 {
			return newProblem(wire.ProblemCodeIdempotencyKeyInvalid, "an Idempotency-Key is visible ASCII without \" , ; and \\")
		}
	}
	return nil
}

// queryOf gives the query with its parameters sorted, or as it came if it cannot be read.
func queryOf(r *http.Request) string {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return r.URL.RawQuery
	}
	return values.Encode()
}

// fingerprintVersion changes when the way of hashing does, so that a record of an
// older release cannot be mistaken.
const fingerprintVersion = 1

// fingerprint hashes what a request asks for. The body is canonical (RFC 8785): white
// space, escapes and the order of members do not count. Each part is preceded by its
// length, so that no two requests run together into the same bytes.
func fingerprint(r *http.Request, canonical []byte) idempotency.Fingerprint {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(r.Method), []byte(r.URL.EscapedPath()), []byte(queryOf(r)), canonical} {
		_ = binary.Write(h, binary.BigEndian, uint64(len(part))) // a hash never fails
		h.Write(part)
	}
	return idempotency.Fingerprint(h.Sum([]byte{fingerprintVersion}))
}
