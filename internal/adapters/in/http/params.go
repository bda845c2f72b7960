package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"regexp"
	"strconv"
	"time"

	"example.com/orders/internal/core"
)

const defaultLimit, maxLimit = 20, 100

var (
	skuPattern     = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	subjectPattern = regexp.MustCompile(`^[\x21-\x7e]{1,255}$`)
)

// orderID reads the id of an order from the path. What is no id names nothing: 404.
func (r *request) orderID() (int64, error) {
	id, err := strconv.ParseInt(r.param("order_id"), 10, 64)
	if err != nil || id < 1 {
		return 0, core.NotFound("order")
	}
	return id, nil
}

// sku reads a SKU from the path.
func (r *request) sku() (string, error) {
	sku := r.param("sku")
	if !skuPattern.MatchString(sku) {
		return "", core.InvalidField("/sku", "a SKU is 1 to 64 characters of A-Z a-z 0-9 . _ -")
	}
	return sku, nil
}

// customerID reads the id of a customer from the path.
func (r *request) customerID() (string, error) { return customerIDIn(r.param("customer_id")) }

func customerIDIn(id string) (string, error) {
	if !subjectPattern.MatchString(id) {
		return "", core.InvalidField("/customer_id", "an id of a customer is 1 to 255 visible characters of ASCII")
	}
	return id, nil
}

// page reads limit and cursor from the query.
func (r *request) page() (core.Page, error) {
	page := core.Page{Limit: defaultLimit}
	q := r.http.URL.Query()
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > maxLimit {
			return page, core.InvalidField("/limit", "must be a whole number from 1 to 100")
		}
		page.Limit = n
	}
	if q.Has("cursor") {
		after, err := cursorIn(q.Get("cursor"))
		if err != nil {
			return page, core.InvalidField("/cursor", "is not a cursor of this list")
		}
		page.After = after
	}
	return page, nil
}

// A cursor is a position, microseconds and id, in URL-safe base64. Clients do not look
// inside.
func cursorOut(at *core.Position) *string {
	if at == nil {
		return nil
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(at.CreatedAt.UnixMicro()))
	b = binary.BigEndian.AppendUint64(b, uint64(at.ID))
	cursor := base64.RawURLEncoding.EncodeToString(b)
	return &cursor
}

func cursorIn(cursor string) (core.Position, error) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) != 16 {
		return core.Position{}, errors.New("not a cursor")
	}
	at := time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()
	if at.Year() < 1 || at.Year() > 9999 {
		return core.Position{}, errors.New("not a time that a row can have")
	}
	return core.Position{
		CreatedAt: at,
		ID:        int64(binary.BigEndian.Uint64(b[8:])),
	}, nil
}

// below moves the pointers of a fault under a member of the body.
func below(pointer string, err error) error {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		for i := range fault.Fields {
			fault.Fields[i].Pointer = pointer + fault.Fields[i].Pointer
		}
	}
	return err
}

// all translates a list; no element is an empty list, never null.
func all[A, B any](list []A, one func(A) B) []B {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = one(v)
	}
	return out
}

// value gives the zero value for an absent member.
func value[T any](p *T) T {
	var v T
	if p != nil {
		v = *p
	}
	return v
}

// orNull gives null for no text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
