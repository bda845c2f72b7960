// Package cursor writes and reads positions in lists.
package cursor

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"

	"example.com/orders/internal/core"
)

// Encode returns a position, microseconds and id, in URL-safe base64. Clients
// treat it as opaque. It is nil after the last page.
func Encode(at *core.Position) *string {
	if at == nil {
		return nil
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(at.CreatedAt.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(at.ID))
	text := base64.RawURLEncoding.EncodeToString(b)
	return &text
}

// Decode accepts only the spelling that Encode writes: the library would
// ignore line breaks and the last bits.
func Decode(text string) (core.Position, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) != 16 || len(text) != base64.RawURLEncoding.EncodedLen(16) {
		return core.Position{}, errors.New("not a cursor")
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()
	if at.Year() < 1 || at.Year() > 9999 {
		return core.Position{}, errors.New("time of the cursor out of range")
	}
	return core.Position{
		CreatedAt: at,
		ID:        int64(binary.BigEndian.Uint64(b[8:])),
	}, nil
}
