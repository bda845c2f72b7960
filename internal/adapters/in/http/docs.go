package httpapi

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5/static"
	"github.com/swaggest/swgui/v5emb"

	openapi "example.com/orders/api"
)

// docsScript makes a fresh Idempotency-Key for each request that the page sends.
//
//go:embed docs.js
var docsScript []byte

const docsScriptName = "orders.js"

// docs is the documentation page. All its files are embedded, so that it works offline.
type docs struct {
	page   []byte
	policy string
	files  http.Handler
	assets map[string]bool
}

func newDocs() (docs, error) {
	files, err := static.FS.ReadDir(".")
	if err != nil {
		return docs{}, fmt.Errorf("list the files of the documentation page: %w", err)
	}
	assets := map[string]bool{}
	for _, file := range files {
		assets[strings.TrimSuffix(file.Name(), ".gz")] = true
	}
	ui := v5emb.NewWithConfig(swgui.Config{
		AppendHead: `<script src="/docs/` + docsScriptName + `"></script>`,
		SettingsUI: map[string]string{"plugins": "[SwaggerUIBundle.plugins.DownloadUrl, ...ordersPlugins]"},
	})("Orders", "/openapi.yaml", "/docs")
	page := bodyRecorder{header: http.Header{}}
	ui.ServeHTTP(&page, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/docs"}})
	return docs{page: page.Bytes(), policy: docsPolicy(page.Bytes()), files: ui, assets: assets}, nil
}

// bodyRecorder keeps the body of a response. The page never changes, so that it is made once.
type bodyRecorder struct {
	bytes.Buffer
	header http.Header
}

// Header implements [http.ResponseWriter].
func (r *bodyRecorder) Header() http.Header { return r.header }

// WriteHeader implements [http.ResponseWriter].
func (r *bodyRecorder) WriteHeader(int) {}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// docsPolicy returns the Content-Security-Policy of the documentation page. People paste
// tokens into the page, so it may load nothing but itself, call nothing but this service,
// and run no script but its own, which the policy names by their hashes.
func docsPolicy(page []byte) string {
	scripts := []string{"script-src 'self'"}
	for _, script := range inlineScript.FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(script[1])
		scripts = append(scripts, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"connect-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " + strings.Join(scripts, " ")
}

// getDocs serves the documentation page.
func (a *api) getDocs(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", revalidated)
	h.Set("Content-Security-Policy", a.docs.policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(a.docs.page) // a client that hung up retries
}

// How long browsers and proxies may keep what is the same for everybody: what belongs
// together, until they have asked whether it changed; the files of the page, for an hour.
const (
	revalidated = "no-cache"
	anHour      = "public, max-age=3600"
)

// getDocsAsset serves a file of the page. It checks the name, because the library would
// answer an unknown one with 404 in plain text.
func (a *api) getDocsAsset(w http.ResponseWriter, r *http.Request) {
	asset := chi.URLParam(r, "asset")
	if asset == docsScriptName {
		w.Header().Set("Cache-Control", revalidated)
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write(docsScript)
		return
	}
	if !a.docs.assets[asset] {
		a.notFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", anHour)
	// The library answers conditions and ranges with statuses that the contract does not have.
	plain := r.Clone(r.Context())
	plain.Header = http.Header{"Accept-Encoding": r.Header.Values("Accept-Encoding")}
	a.docs.files.ServeHTTP(w, plain)
}

// contractETag is the version of api/openapi.yaml.
var contractETag = func() string {
	sum := sha256.Sum256(openapi.OpenAPI)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}()

// getOpenAPI serves api/openapi.yaml, or 304 to a client that has it already.
func (a *api) getOpenAPI(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", revalidated)
	w.Header().Set("ETag", contractETag)
	if r.Header.Get("If-None-Match") == contractETag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openapi.OpenAPI) // a client that hung up retries
}
