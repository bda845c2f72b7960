package guard

import (
	"errors"
	"fmt"
	"strings"
)

// MaxKeyLength is the largest number of characters in a key.
const MaxKeyLength = 255

// Errors from [ParseKey].
var (
	// ErrKeyRequired: the header is absent or blank.
	ErrKeyRequired = errors.New("an idempotency key is required")
	// ErrKeyInvalid: the header cannot be read as one key. The error that wraps it says
	// why, and may be shown to the client.
	ErrKeyInvalid = errors.New("the idempotency key is invalid")
)

// ParseKey returns the key in a request's Idempotency-Key header values: up to 255
// visible ASCII characters other than " , ; and \. The key may be sent bare or as a
// structured field string (RFC 9651, as the IETF draft writes it): "abc" and abc are
// the same key. Case counts.
//
// It refuses anything that two parsers could read as two different keys: a repeated
// header, a list, parameters, escapes.
//
// Errors: [ErrKeyRequired], [ErrKeyInvalid].
func ParseKey(header []string) (string, error) {
	if len(header) > 1 {
		return "", fmt.Errorf("%w: multiple Idempotency-Key headers", ErrKeyInvalid)
	}
	key := strings.Trim(strings.Join(header, ""), " \t")
	if quoted := len(key) >= 2 && key[0] == '"' && key[len(key)-1] == '"'; quoted {
		key = key[1 : len(key)-1]
	}
	if strings.Trim(key, " \t") == "" {
		return "", ErrKeyRequired
	}
	if err := checkKey(key); err != nil {
		return "", err
	}
	return key, nil
}

// checkKey returns [ErrKeyInvalid] unless a bare key is one that requests may send.
func checkKey(key string) error {
	if len(key) > MaxKeyLength {
		return fmt.Errorf("%w: it must have at most %d characters", ErrKeyInvalid, MaxKeyLength)
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' || strings.IndexByte("\",;\\", c) >= 0 {
			return fmt.Errorf(`%w: it must consist of visible ASCII characters other than " , ; and \`, ErrKeyInvalid)
		}
	}
	return nil
}
