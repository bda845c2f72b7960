package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/orders/internal/adapters/in/http/problem"
	"example.com/orders/internal/adapters/in/http/reference"
	"example.com/orders/internal/adapters/in/http/token"
	"example.com/orders/internal/core"
)

var skuPattern = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// maxID is the largest id. Every JSON parser reads it exactly, and no database sequence
// exceeds it.
const maxID = 1<<53 - 1

func decodeOrderID(r *request) (int64, error) { return decodeID(r, "order") }

func decodePaymentID(r *request) (int64, error) { return decodeID(r, "payment") }

func decodeRefundID(r *request) (int64, error) { return decodeID(r, "refund") }

// decodeID returns a resource id from the path. Text that cannot be an id names no
// resource, so it is 404 and not 422. An id has one form: 02 and +2 are invalid.
func decodeID(r *request, resource string) (int64, error) {
	text := r.param(resource + "_id")
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil || id < 1 || id > maxID || strconv.FormatInt(id, 10) != text {
		return 0, core.NotFound(resource)
	}
	return id, nil
}

func decodeSKU(r *request) (string, error) {
	sku := r.param("sku")
	if !skuPattern.MatchString(sku) {
		return "", core.InvalidField("/sku", "sku must be 1–64 characters of A-Z a-z 0-9 . _ -")
	}
	return sku, nil
}

// checkPath checks the path parameters of a request with an invalid body, so that one
// response names everything.
func checkPath(rt route, r *request) error {
	var err error
	switch {
	case strings.Contains(rt.pattern, "{sku}"):
		_, err = decodeSKU(r)
	case strings.Contains(rt.pattern, "{customer_id}"):
		_, err = decodeCustomerID(r)
	}
	return err
}

func decodeCustomerID(r *request) (string, error) {
	id := r.param("customer_id")
	return id, checkCustomerID(id)
}

func checkCustomerID(id string) error {
	if !token.IsSubject(id) {
		return core.InvalidField("/customer_id", "customer_id must be 1–255 printable ASCII characters")
	}
	return nil
}

// timePattern repeats the contract. A time has at most the digits that the database keeps.
var timePattern = regexp.MustCompile(`^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$`)

// decodeSearch returns the filters with which clients find their earlier requests:
// reference and creation time.
func decodeSearch(r *request) (ref string, created core.Period, err error) {
	ref, invalidRef := decodeReference(r)
	from, invalidFrom := decodeTime(r, "created_from")
	to, invalidTo := decodeTime(r, "created_to")
	if !to.IsZero() && from.After(to) {
		invalidFrom = core.InvalidField("/created_from", "created_from must not be after created_to")
	}
	return ref, core.Period{From: from, To: to}, problem.Join(invalidRef, invalidFrom, invalidTo)
}

// decodeReference returns the reference in a list's query, or "" if it is absent.
func decodeReference(r *request) (string, error) {
	q := r.http.URL.Query()
	text := q.Get("reference")
	if !q.Has("reference") {
		return "", nil
	}
	if wrong := reference.Check(text); wrong != "" {
		return "", core.InvalidField("/reference", "reference "+wrong)
	}
	return text, nil
}

// oneOf returns a filter's value, or "" if it is absent.
func oneOf[T ~string](r *request, name string, allowed ...T) (T, error) {
	q := r.http.URL.Query()
	if value := T(q.Get(name)); !q.Has(name) || slices.Contains(allowed, value) {
		return value, nil
	}
	names := convertAll(allowed, func(value T) string { return string(value) })
	if len(names) == 1 {
		return "", core.InvalidField("/"+name, name+" must be "+names[0])
	}
	return "", core.InvalidField("/"+name, name+" must be one of "+strings.Join(names, ", "))
}

// decodeTime returns a time from the query, or the zero time if it is absent.
func decodeTime(r *request, name string) (time.Time, error) {
	q := r.http.URL.Query()
	if !q.Has(name) {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339Nano, q.Get(name))
	if err != nil || !timePattern.MatchString(q.Get(name)) {
		return time.Time{}, core.InvalidField("/"+name, name+" must be a time in UTC, such as 2026-11-04T09:30:00Z")
	}
	return at, nil
}

const defaultLimit, maxLimit = 20, 100

// decodePage returns limit and cursor from a list's query.
func decodePage(r *request) (core.Page, error) {
	page := core.Page{Limit: defaultLimit}
	q := r.http.URL.Query()
	var invalidLimit, invalidCursor error
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > maxLimit {
			invalidLimit = core.InvalidField("/limit", "limit must be an integer from 1 to 100")
		}
		page.Limit = n
	}
	if q.Has("cursor") {
		after, err := decodeCursor(q.Get("cursor"))
		if err != nil {
			invalidCursor = core.InvalidField("/cursor", "cursor must be the next_cursor of an earlier page")
		}
		page.After = after
	}
	return page, problem.Join(invalidLimit, invalidCursor)
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
