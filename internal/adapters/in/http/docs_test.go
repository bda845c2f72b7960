package httpapi

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/rs/zerolog"

	openapi "example.com/orders/api"
	contracttest "example.com/orders/internal/test/contract"
)

// docs serves what needs no token, and holds every answer against the contract.
type docs struct {
	testing.TB
	handler  http.Handler
	contract *contracttest.Validator
}

func newDocs(t *testing.T) docs {
	t.Helper()
	h, err := (&api{log: requestLog{zerolog.Nop()}}).router(nil)
	if err != nil {
		t.Fatal(err)
	}
	return docs{t, h, contracttest.New(t)}
}

func (d docs) get(path string, header http.Header) *httptest.ResponseRecorder {
	d.Helper()
	r := httptest.NewRequest("GET", path, nil)
	r.Header = header
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	d.contract.Check(d, r, nil, w.Result(), w.Body.Bytes())
	return w
}

func TestContractIsServed(t *testing.T) {
	d := newDocs(t)
	w := d.get("/openapi.yaml", nil)
	if w.Code != http.StatusOK || !bytes.Equal(w.Body.Bytes(), openapi.OpenAPI) {
		t.Fatalf("got %d and %d bytes", w.Code, w.Body.Len())
	}
	again := d.get("/openapi.yaml", http.Header{"If-None-Match": {w.Header().Get("ETag")}})
	if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
		t.Errorf("got %d and %d bytes", again.Code, again.Body.Len())
	}
}

// The page must work without a network: all it loads, it loads from here.
func TestDocsLoadEverythingFromHere(t *testing.T) {
	d := newDocs(t)
	w := d.get("/docs", nil)
	if w.Code != http.StatusOK {
		t.Fatalf("got %d", w.Code)
	}
	links := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(w.Body.String(), -1)
	if len(links) < 3 {
		t.Fatalf("the page loads %v", links)
	}
	for _, link := range links {
		if asset := d.get(link[1], nil); asset.Code != http.StatusOK || asset.Body.Len() == 0 {
			t.Errorf("%s: got %d and %d bytes", link[1], asset.Code, asset.Body.Len())
		}
	}
	if asset := d.get("/docs/nothing.js", nil); asset.Code != http.StatusNotFound {
		t.Errorf("got %d", asset.Code)
	}
}
