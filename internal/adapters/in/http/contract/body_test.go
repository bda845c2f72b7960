package contract

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/orders/internal/adapters/in/http/wire"
)

// A body that grows in its buffer takes several times its size.
func TestReadUpTo_NeedsOneBuffer(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10
	for name, c := range map[string]struct {
		size, declared int64
		want           int
	}{
		"declared":           {1000, 1000, 1000},
		"largest":            {limit, limit, limit},
		"largest, in chunks": {limit, -1, limit},
		"short, in chunks":   {1000, -1, limit},
	} {
		r := httptest.NewRequest("POST", "/webhooks/stripe", strings.NewReader(strings.Repeat("x", int(c.size))))
		r.ContentLength = c.declared
		body, err := ReadUpTo(limit, httptest.NewRecorder(), r)
		if want := c.want + bytes.MinRead; err != nil || len(body) != int(c.size) || cap(body) > want {
			t.Errorf("%s: %d bytes in a buffer of %d, %v; want at most %d", name, len(body), cap(body), err, want)
		}
	}
}

func TestReadBody_AcceptsOnlyCompleteJSONOfLimitedSize(t *testing.T) {
	full := strings.Repeat("x", 64<<10)
	for name, c := range map[string]struct {
		body   io.Reader
		header http.Header
		want   wire.ProblemCode
	}{
		"json":             {strings.NewReader("{}"), http.Header{"Content-Type": {"application/json"}}, ""},
		"charset":          {strings.NewReader("{}"), http.Header{"Content-Type": {"Application/JSON; charset=UTF-8"}}, ""},
		"absent":           {http.NoBody, nil, ""},
		"largest":          {strings.NewReader(full), http.Header{"Content-Type": {"application/json"}}, ""},
		"one byte more":    {strings.NewReader(full + "x"), http.Header{"Content-Type": {"application/json"}}, "body_too_large"},
		"no media type":    {strings.NewReader("{}"), nil, "unsupported_media_type"},
		"other media type": {strings.NewReader("{}"), http.Header{"Content-Type": {"text/plain"}}, "unsupported_media_type"},
		"other charset":    {strings.NewReader("{}"), http.Header{"Content-Type": {"application/json; charset=koi8-r"}}, "unsupported_media_type"},
		"empty media type": {strings.NewReader("{}"), http.Header{"Content-Type": {";"}}, "unsupported_media_type"},
		"two media types":  {strings.NewReader("{}"), http.Header{"Content-Type": {"application/json", "text/plain"}}, "unsupported_media_type"},
		"compressed":       {strings.NewReader("{}"), http.Header{"Content-Type": {"application/json"}, "Content-Encoding": {"gzip"}}, "unsupported_media_type"},
		"cut short": {io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF)),
			http.Header{"Content-Type": {"application/json"}}, "malformed_request"},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequest("POST", "/orders", c.body)
			r.Header = c.header
			_, err := ReadBody(httptest.NewRecorder(), r)
			if got := codeOf(err); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
