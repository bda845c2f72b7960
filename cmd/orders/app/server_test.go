package app

import (
	"net/http"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// Without these limits, a client that sends a byte now and then, or reads nothing, keeps a
// connection for ever. net/http has no such limits by default.
func TestServer_EndsSlowRequests(t *testing.T) {
	t.Parallel()
	s := server(http.NotFoundHandler(), zerolog.Nop())
	for _, limit := range []struct {
		name      string
		got, most time.Duration
	}{
		{"the header", s.ReadHeaderTimeout, 10 * time.Second},
		{"the whole request", s.ReadTimeout, 30 * time.Second},
		{"the response", s.WriteTimeout, time.Minute},
		{"the next request", s.IdleTimeout, 5 * time.Minute},
		{"the next byte of HTTP/2", s.HTTP2.WriteByteTimeout, 30 * time.Second},
	} {
		if limit.got <= 0 || limit.got > limit.most {
			t.Errorf("%s may take %v; want a limit of at most %v", limit.name, limit.got, limit.most)
		}
	}
}

func TestServer_BoundsWhatAConnectionHolds(t *testing.T) {
	t.Parallel()
	s := server(http.NotFoundHandler(), zerolog.Nop())
	if s.MaxHeaderBytes <= 0 || s.MaxHeaderBytes > 32<<10 {
		t.Errorf("a header may have %d bytes", s.MaxHeaderBytes)
	}
	if s.HTTP2.MaxConcurrentStreams != 100 {
		t.Errorf("a connection may have %d streams, want 100", s.HTTP2.MaxConcurrentStreams)
	}
}
