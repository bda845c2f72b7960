// Package strictjson reads JSON that every parser reads in the same way: encoding/json
// accepts duplicate members and invalid UTF-8, and writes no canonical form.
package strictjson

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// IsValid reports whether text is one JSON value without duplicate members and invalid
// UTF-8.
func IsValid(text []byte) bool { return jsontext.Value(text).IsValid() }

// Canonicalize returns a valid value in canonical form (RFC 8785). It may overwrite value.
func Canonicalize(value []byte) ([]byte, error) {
	canonical := jsontext.Value(value)
	err := canonical.Canonicalize()
	return canonical, err
}

// Decode decodes a value that [IsValid]. Member names are exact.
func Decode[T any](value []byte) (T, error) {
	var v T
	err := json.Unmarshal(value, &v)
	return v, err
}
