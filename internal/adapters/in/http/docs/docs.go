// Package docs serves the contract and its documentation page.
package docs

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5/static"
	"github.com/swaggest/swgui/v5emb"

	openapi "example.com/orders/api"
)

// own has our script and style: fresh keys, roles, phones and dark mode.
//
//go:embed orders.js orders.css
var own embed.FS

var contentTypes = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}

// Docs serves /openapi.yaml, and the documentation page below /docs. All files are
// embedded, so that the page works offline.
type Docs struct {
	page   []byte
	policy string
	files  http.Handler
	assets map[string]bool
	// notFound answers requests for other files.
	notFound http.HandlerFunc
}

// New returns the documentation handler. notFound answers requests for files that the
// page does not have.
func New(notFound http.HandlerFunc) (*Docs, error) {
	files, err := static.FS.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the files of the documentation page: %w", err)
	}
	assets := map[string]bool{}
	for _, file := range files {
		assets[strings.TrimSuffix(file.Name(), ".gz")] = true
	}
	ui := v5emb.NewWithConfig(swgui.Config{
		AppendHead: `<link rel="stylesheet" href="/docs/orders.css"><script src="/docs/orders.js"></script>`,
		SettingsUI: map[string]string{"plugins": "[SwaggerUIBundle.plugins.DownloadUrl, ...pagePlugins]"},
	})("Orders", "/openapi.yaml", "/docs")
	page := bodyRecorder{header: http.Header{}}
	ui.ServeHTTP(&page, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/docs"}})
	return &Docs{
		page: page.Bytes(), policy: policyOf(page.Bytes()), files: ui, assets: assets, notFound: notFound,
	}, nil
}

// bodyRecorder keeps a response body. The page never changes, so it is rendered once.
type bodyRecorder struct {
	bytes.Buffer
	header http.Header
}

// Header implements [http.ResponseWriter].
func (r *bodyRecorder) Header() http.Header { return r.header }

// WriteHeader implements [http.ResponseWriter].
func (r *bodyRecorder) WriteHeader(int) {}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// policyOf returns the page's Content-Security-Policy. People paste tokens into the
// page, so it may load only itself, call only this service and run only the scripts in
// it, which the policy names by their hashes.
func policyOf(page []byte) string {
	scripts := []string{"script-src 'self'"}
	for _, script := range inlineScript.FindAllSubmatch(page, -1) {
		sum := sha256.Sum256(script[1])
		scripts = append(scripts, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"connect-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; " + strings.Join(scripts, " ")
}

// ServeHTTP implements [http.Handler].
func (d *Docs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asset, isAsset := strings.CutPrefix(r.URL.Path, "/docs/")
	switch {
	case isAsset:
		d.serveAsset(w, r, asset)
	case r.URL.Path == "/docs":
		d.servePage(w)
	default:
		serveContract(w, r)
	}
}

func (d *Docs) servePage(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", revalidated)
	h.Set("Content-Security-Policy", d.policy)
	h.Set("Content-Type", "text/html; charset=utf-8")
	send(w, d.page)
}

// send writes content with the Content-Length, which HEAD sends alone.
func send(w http.ResponseWriter, content []byte) {
	w.Header().Set("Content-Length", strconv.Itoa(len(content)))
	_, _ = w.Write(content) // a client that hung up retries
}

// How long browsers and proxies may cache public content: the page and the contract
// until they have revalidated them, because they belong together; all other files for
// an hour.
const (
	revalidated = "no-cache"
	anHour      = "public, max-age=3600"
)

// serveAsset serves one of the page's files. It checks the name, because the library
// would answer an unknown one with 404 in plain text.
func (d *Docs) serveAsset(w http.ResponseWriter, r *http.Request, asset string) {
	if content, err := own.ReadFile(asset); err == nil {
		w.Header().Set("Cache-Control", revalidated)
		w.Header().Set("Content-Type", contentTypes[path.Ext(asset)])
		send(w, content)
		return
	}
	if !d.assets[asset] {
		d.notFound(w, r)
		return
	}
	w.Header().Set("Cache-Control", anHour)
	// The library answers conditions and ranges with statuses that the contract does not have.
	// Asked for HEAD, it would leave headers out.
	plain := r.Clone(r.Context())
	plain.Method = http.MethodGet
	plain.Header = http.Header{"Accept-Encoding": r.Header.Values("Accept-Encoding")}
	d.files.ServeHTTP(w, plain)
}

// contractETag is the version of api/openapi.yaml.
var contractETag = func() string {
	sum := sha256.Sum256(openapi.OpenAPI)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}()

// serveContract serves api/openapi.yaml, or 304 to a client that has it already.
func serveContract(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", revalidated)
	w.Header().Set("ETag", contractETag)
	if isNamed(contractETag, r.Header.Get("If-None-Match")) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	send(w, openapi.OpenAPI)
}

// isNamed reports whether If-None-Match names a tag. It compares weakly (RFC 9110, section
// 13.1.2), because a proxy that compresses weakens tags.
func isNamed(tag, list string) bool {
	for named := range strings.SplitSeq(list, ",") {
		if strings.TrimPrefix(strings.TrimSpace(named), "W/") == tag {
			return true
		}
	}
	return false
}
