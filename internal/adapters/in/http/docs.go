package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/swaggest/swgui/v5/static"
	"github.com/swaggest/swgui/v5emb"

	openapi "example.com/orders/api"
)

// docsPolicy lets the documentation page load nothing but itself and call nobody but
// this service: people paste tokens into it.
const docsPolicy = "default-src 'none'; connect-src 'self'; img-src 'self' data:; " +
	"script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"

// serveDocs serves the contract, and a page that shows it without help from outside.
func (a *api) serveDocs(r chi.Router) error {
	assets, err := docsAssets()
	if err != nil {
		return err
	}
	page := v5emb.New("Orders", "/openapi.yaml", "/docs")
	r.Get("/openapi.yaml", a.document("/openapi.yaml", serveContract()))
	r.Get("/docs", a.document("/docs", page.ServeHTTP))
	r.Get("/docs/{asset}", a.document("/docs/{asset}", func(w http.ResponseWriter, r *http.Request) {
		if !assets[chi.URLParam(r, "asset")] {
			a.notFound(w, r)
			return
		}
		page.ServeHTTP(w, r)
	}))
	return nil
}

// document names the route in the log, and keeps the page to itself.
func (a *api) document(pattern string, serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		entryOf(r.Context()).pattern = pattern
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		serve(w, r)
	}
}

// docsAssets lists the files of the page by the names they are asked for; for any
// other the library's 404 would be plain text.
func docsAssets() (map[string]bool, error) {
	files, err := static.FS.ReadDir(".")
	if err != nil {
		return nil, fmt.Errorf("list the files of the documentation page: %w", err)
	}
	names := map[string]bool{}
	for _, file := range files {
		names[strings.TrimSuffix(file.Name(), ".gz")] = true
	}
	return names, nil
}

// serveContract serves api/openapi.yaml, or 304 to who has it already.
func serveContract() http.HandlerFunc {
	sum := sha256.Sum256(openapi.OpenAPI)
	etag := `"` + hex.EncodeToString(sum[:8]) + `"`
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "application/yaml")
		_, _ = w.Write(openapi.OpenAPI)
	}
}
