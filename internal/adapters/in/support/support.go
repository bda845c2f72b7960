// Package support serves a page on which operators find orders, money and idempotency keys.
package support

import (
	"context"
	_ "embed"
	"html/template"
	"net/http"
	"strings"
	"unicode"
)

//go:embed page.html
var source string

var page = template.Must(template.New("").Parse(source))

type view struct {
	Term, Message string
	Tables        [][][]string
}

// Page finds tables about a term. Their first rows have the headings.
type Page func(ctx context.Context, term string) (tables [][][]string, err error)

// ServeHTTP implements [http.Handler].
func (find Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	v := view{Term: strings.TrimSpace(r.FormValue("q"))}
	if r.Form.Has("q") {
		w.WriteHeader(v.fill(r.Context(), find))
	}
	_ = page.Execute(w, v) // a client that hung up asks again
}

// fill finds the term and returns the status. A principal and a key have 511 characters at most.
func (v *view) fill(ctx context.Context, find Page) int {
	bad := func(c rune) bool { return unicode.IsControl(c) || c == unicode.ReplacementChar }
	if v.Term == "" || len(v.Term) > 511 || strings.ContainsFunc(v.Term, bad) {
		v.Message = "Enter one term of at most 511 characters."
		return http.StatusBadRequest
	}
	var err error
	v.Tables, err = find(ctx, v.Term)
	switch {
	case err != nil:
		v.Tables, v.Message = nil, err.Error()
		return http.StatusServiceUnavailable
	case len(v.Tables) == 0:
		v.Message = "Nothing found. Enter a key after its principal, such as: alice 8e03978e. The record may have expired, or the request still runs."
		return http.StatusNotFound
	}
	v.Message = "Shown are the newest 20 orders, events while they wait for the broker, and deliveries among the newest 100 of an endpoint and status."
	return http.StatusOK
}
