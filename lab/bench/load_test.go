package bench

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

func TestLoad_EndsAtUnexpectedResponse(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(server.Close)
	l := load{
		addr: server.Listener.Addr().String(), connections: 1,
		next:  func(*rand.Rand) (request, error) { return request{path: "/"}, nil },
		check: command{status: http.StatusOK}.check,
	}

	_, err := l.run(t.Context(), timing{0, time.Hour}, func() error { return nil })

	if err == nil || !strings.Contains(err.Error(), "unexpected response") {
		t.Errorf("got error %v, want an unexpected response", err)
	}
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	sorted := make([]time.Duration, 101)
	for i := range sorted {
		sorted[i] = time.Duration(i)
	}
	for q, want := range map[float64]time.Duration{0: 0, 0.5: 50, 0.99: 99, 1: 100} {
		if got := quantile(sorted, q); got != want {
			t.Errorf("quantile %v = %d, want %d", q, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("median without values = %v, want 0", got)
	}
}

func TestCommandCheck_AcceptsOnlyTheExpectedResponse(t *testing.T) {
	t.Parallel()
	expected := command{status: http.StatusCreated, replayed: true}
	for verdict, answer := range map[string]struct {
		status   int
		replayed string
	}{
		"": {http.StatusCreated, "true"}, "Idempotent-Replayed": {http.StatusCreated, ""}, "status": {http.StatusOK, "true"},
	} {
		var res fasthttp.Response
		res.SetStatusCode(answer.status)
		res.Header.Set("Idempotent-Replayed", answer.replayed)
		if err := expected.check(&res); (err == nil) != (verdict == "") || !strings.Contains(fmt.Sprint(err), verdict) {
			t.Errorf("%+v: err = %v, want one about %q", answer, err, verdict)
		}
	}
}
