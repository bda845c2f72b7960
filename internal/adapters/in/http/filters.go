package httpapi

import (
	"regexp"
	"time"
	"unicode/utf8"

	"example.com/orders/internal/adapters/in/http/cardnumber"
	"example.com/orders/internal/core"
)

var (
	// referencePattern and timePattern repeat the contract. A time has at most the
	// digits that the database keeps.
	referencePattern = regexp.MustCompile(`^[^\x00-\x1f\x7f]{1,64}$`)
	timePattern      = regexp.MustCompile(`^[1-9][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$`)
)

// decodeSearch returns the filters with which clients find their earlier requests:
// reference and creation time.
func decodeSearch(r *request) (reference string, created core.Period, err error) {
	q := r.http.URL.Query()
	reference = q.Get("reference")
	if q.Has("reference") && (!utf8.ValidString(reference) || !referencePattern.MatchString(reference)) {
		return "", created, core.InvalidField("/reference", "reference must be 1–64 characters on a single line")
	}
	if cardnumber.InMember("reference", reference) {
		return "", created, core.InvalidField("/reference", cardnumber.Refused)
	}
	if created.From, err = decodeTime(r, "created_from"); err != nil {
		return "", created, err
	}
	if created.To, err = decodeTime(r, "created_to"); err != nil {
		return "", created, err
	}
	if !created.To.IsZero() && created.From.After(created.To) {
		return "", created, core.InvalidField("/created_from", "created_from must not be after created_to")
	}
	return reference, created, nil
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
