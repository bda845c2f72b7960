package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"example.com/orders/internal/adapters/in/http/wire"
)

// The client learns that something is wrong, and the log what and where.
func TestPanic_IsLoggedAndHiddenFromTheClient(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	handler, err := New(Config{
		CORSOrigins: []string{"https://shop.example.com"},
		Ready:       func(context.Context) error { panic("no connection is left") },
		Log:         zerolog.New(&log), Observe: unobserved{},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/health/ready", http.NoBody)
	r.Header.Set("X-Request-Id", "request-1")
	r.Header.Set("Origin", "https://shop.example.com")
	w := httptest.NewRecorder()

	handler.ServeHTTP(w, r)

	if code := problemCode(t, w); w.Code != http.StatusInternalServerError || code != wire.ProblemCodeInternal {
		t.Errorf("%d %s, want 500 internal", w.Code, code)
	}
	if strings.Contains(w.Body.String(), "connection") {
		t.Errorf("the client reads the panic: %s", w.Body)
	}
	if got := w.Header().Get("Access-Control-Allow-Origin"); got != "https://shop.example.com" {
		t.Errorf("the answer is for the origin %q: the page cannot read that it should retry", got)
	}
	var line struct {
		Level     string
		RequestID string `json:"request_id"`
		Route     string
		Error     string
		Stack     string
	}
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatalf("%v in the log, want one line: %s", err, &log)
	}
	if line.Level != "error" || line.RequestID != "request-1" || line.Route != "/health/ready" ||
		line.Error != "panic: no connection is left" || !strings.Contains(line.Stack, "recover_test.go") {
		t.Errorf("the line is %+v", line)
	}
}
