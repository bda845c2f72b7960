package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strconv"
	"time"

	"example.com/orders/internal/core"
)

const defaultLimit, maxLimit = 20, 100

// decodePage returns limit and cursor from a list's query.
func decodePage(r *request) (core.Page, error) {
	page := core.Page{Limit: defaultLimit}
	q := r.http.URL.Query()
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > maxLimit {
			return page, core.InvalidField("/limit", "limit must be an integer from 1 to 100")
		}
		page.Limit = n
	}
	if q.Has("cursor") {
		after, err := decodeCursor(q.Get("cursor"))
		if err != nil {
			return page, core.InvalidField("/cursor", "cursor must be the next_cursor of an earlier page")
		}
		page.After = after
	}
	return page, nil
}

// encodeCursor returns a position, microseconds and id, in URL-safe base64. Clients
// treat it as opaque. It is nil after the last page.
func encodeCursor(at *core.Position) *string {
	if at == nil {
		return nil
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(at.CreatedAt.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(at.ID))
	cursor := base64.RawURLEncoding.EncodeToString(b)
	return &cursor
}

// decodeCursor accepts only the spelling that encodeCursor writes: the library would
// ignore line breaks and the last bits.
func decodeCursor(cursor string) (core.Position, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	if err != nil || len(b) != 16 || len(cursor) != base64.RawURLEncoding.EncodedLen(16) {
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
