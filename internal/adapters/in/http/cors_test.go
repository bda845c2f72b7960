package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/http/wire"
)

// A page that cannot read a failure does not know that it should retry. This includes
// the answer to a panic.
func TestCORS_FailuresAreReadable(t *testing.T) {
	t.Parallel()
	const origin = "https://shop.example.com"
	for want, ready := range map[wire.ProblemCode]func(context.Context) error{
		wire.ProblemCodeUnavailable: func(context.Context) error { return errors.New("the database is down") },
		wire.ProblemCodeInternal:    func(context.Context) error { panic("a bug") },
	} {
		handler, err := New(Config{CORSOrigins: []string{origin}, Ready: ready, Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health/ready", http.NoBody)
		r.Header.Set("Origin", origin)
		w := httptest.NewRecorder()

		handler.ServeHTTP(w, r)

		if got := w.Header().Get("Access-Control-Allow-Origin"); problemCode(t, w) != want || got != origin {
			t.Errorf("%s is for the origin %q, want %s for %s", problemCode(t, w), got, want, origin)
		}
	}
}
