package httpapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	openapi "example.com/orders/api"
	"example.com/orders/internal/adapters/in/http/docs"
	contracttest "example.com/orders/internal/test/contract"
)

// newPublicAPI returns the routes that need no token.
func newPublicAPI(t *testing.T) http.Handler {
	t.Helper()
	a := &api{Config: Config{Version: "1.2.3", Log: zerolog.Nop(), Observe: unobserved{}}}
	var err error
	if a.docs, err = docs.New(a.notFound); err != nil {
		t.Fatal(err)
	}
	return a.router(nil, a.publicRoutes())
}

// get requests a path and checks the response against the contract.
func get(t *testing.T, handler http.Handler, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Header = header
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	contracttest.New(t).Check(t, r, nil, w.Result(), w.Body.Bytes())
	return w
}

func TestOpenAPI_ServesTheContract(t *testing.T) {
	handler := newPublicAPI(t)
	first := get(t, handler, "/openapi.yaml", nil)
	if first.Code != http.StatusOK || !bytes.Equal(first.Body.Bytes(), openapi.OpenAPI) {
		t.Fatalf("got %d and %d bytes", first.Code, first.Body.Len())
	}
	etag := first.Header().Get("ETag")
	for _, known := range []string{etag, "W/" + etag, `"other", ` + etag} {
		second := get(t, handler, "/openapi.yaml", http.Header{"If-None-Match": {known}})
		if second.Code != http.StatusNotModified || second.Body.Len() > 0 {
			t.Errorf("%s: got %d and %d bytes, want 304 and none", known, second.Code, second.Body.Len())
		}
	}
	if other := get(t, handler, "/openapi.yaml", http.Header{"If-None-Match": {`"other"`}}); other.Code != http.StatusOK {
		t.Errorf("another version: got %d, want 200", other.Code)
	}
}

// The page works without a network: it loads all its files from this service.
func TestDocs_LoadOnlyFilesOfThisService(t *testing.T) {
	handler := newPublicAPI(t)
	page := get(t, handler, "/docs", nil)
	if page.Code != http.StatusOK {
		t.Fatalf("got %d", page.Code)
	}
	links := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(links) < 3 {
		t.Fatalf("the page loads %v", links)
	}
	for _, link := range links {
		if asset := get(t, handler, link[1], nil); asset.Code != http.StatusOK || asset.Body.Len() == 0 {
			t.Errorf("%s: got %d and %d bytes", link[1], asset.Code, asset.Body.Len())
		}
	}
	if asset := get(t, handler, "/docs/nothing.js", nil); asset.Code != http.StatusNotFound {
		t.Errorf("/docs/nothing.js: got %d, want 404", asset.Code)
	}
}

// People paste tokens into the page, so the browser runs no script that is not its own.
func TestDocs_RunOnlyTheirOwnScripts(t *testing.T) {
	page := get(t, newPublicAPI(t), "/docs", nil)
	policy := page.Header().Get("Content-Security-Policy")
	_, allowed, _ := strings.Cut(policy, "script-src ")
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page.Body.String(), -1)
	if len(scripts) == 0 {
		t.Fatal("the page has no script of its own")
	}
	for _, script := range scripts {
		sum := sha256.Sum256([]byte(script[1]))
		if hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(allowed, hash) {
			t.Errorf("the policy does not name a script of the page: %s", allowed)
		}
	}
	if strings.Contains(allowed, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("the policy is %s", policy)
	}
	if handlers := regexp.MustCompile(`\son[a-z]+=`).FindString(page.Body.String()); handlers != "" {
		t.Errorf("the page has a script that no hash can allow: %s", handlers)
	}
}

// The library would answer 412 without a body, and 206 with a part of it. It does so for
// compressed files only.
func TestDocs_LeaveConditionsAlone(t *testing.T) {
	for name, value := range map[string]string{"If-Match": `"1"`, "Range": "bytes=0-1", "If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"} {
		asset := get(t, newPublicAPI(t), "/docs/swagger-ui.css", http.Header{name: {value}, "Accept-Encoding": {"gzip"}})
		if asset.Code != http.StatusOK || asset.Body.Len() < 1000 {
			t.Errorf("%s: status %d and %d bytes", name, asset.Code, asset.Body.Len())
		}
	}
}

// Only orders-dev hands tokens to the page: its script is not part of the service.
func TestDocs_ScriptKnowsNoToken(t *testing.T) {
	script := get(t, newPublicAPI(t), "/docs/orders.js", nil)
	if script.Code != http.StatusOK || !strings.Contains(script.Body.String(), "Idempotency-Key") {
		t.Fatalf("got %d: %s", script.Code, script.Body)
	}
	for _, word := range []string{"token", "authorize", "fetch", "Storage", "cookie"} {
		if strings.Contains(script.Body.String(), word) {
			t.Errorf("the script of the page contains %q", word)
		}
	}
}

// The page runs scripts, so the policy lets a browser load nothing but the files of this
// service, and take no file for something else.
func TestDocs_SayWhatABrowserMayLoad(t *testing.T) {
	handler := newPublicAPI(t)
	for _, path := range []string{"/docs", "/docs/nothing.js", "/openapi.yaml"} {
		header := get(t, handler, path, nil).Header()
		if policy := header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'self'") && !strings.Contains(policy, "default-src 'none'") {
			t.Errorf("%s: the policy is %q", path, policy)
		}
		if got := header.Get("X-Content-Type-Options"); got != "nosniff" {
			t.Errorf("%s: X-Content-Type-Options is %q", path, got)
		}
	}
}

func TestLiveness_ReportsTheVersion(t *testing.T) {
	const want = `{"status":"live","version":"1.2.3"}`
	if got := get(t, newPublicAPI(t), "/health/live", nil).Body.String(); got != want {
		t.Errorf("body = %s\nwant   %s", got, want)
	}
}
