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

// docsPolicy is the Content-Security-Policy of the documentation page. People paste
// tokens into the page, so it may load nothing but itself and call nothing but this
// service.
const docsPolicy = "default-src 'none'; connect-src 'self'; img-src 'self' data:; " +
	"script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'"

// docs is the documentation page. All its files are embedded, so that it works offline.
type docs struct {
	page   http.Handler
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
	return docs{page: v5emb.New("Orders", "/openapi.yaml", "/docs"), assets: assets}, nil
}

// getDocs serves the documentation page.
func (a *api) getDocs(w http.ResponseWriter, r *http.Request) {
	protectDocs(w)
	a.docs.page.ServeHTTP(w, r)
}

// getDocsAsset serves a file of the page. It checks the name, because the library would
// answer an unknown one with 404 in plain text.
func (a *api) getDocsAsset(w http.ResponseWriter, r *http.Request) {
	protectDocs(w)
	if !a.docs.assets[chi.URLParam(r, "asset")] {
		a.notFound(w, r)
		return
	}
	a.docs.page.ServeHTTP(w, r)
}

// contractETag is the version of api/openapi.yaml.
var contractETag = func() string {
	sum := sha256.Sum256(openapi.OpenAPI)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}()

// getOpenAPI serves api/openapi.yaml, or 304 to a client that has it already.
func (a *api) getOpenAPI(w http.ResponseWriter, r *http.Request) {
	protectDocs(w)
	w.Header().Set("ETag", contractETag)
	if r.Header.Get("If-None-Match") == contractETag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.Header().Set("Content-Type", "application/yaml")
	_, _ = w.Write(openapi.OpenAPI) // a client that hung up retries
}

// protectDocs sets the security headers of the documentation.
func protectDocs(w http.ResponseWriter) {
	w.Header().Set("Content-Security-Policy", docsPolicy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
}
