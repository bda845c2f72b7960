//go:build browser

package browser

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"
)

// Page is an empty page with a unique origin.
type Page struct{ Origin string }

// NewPage serves a page on a new port, so that the origin is unique. The page may load
// npm packages from /node_modules/.
func NewPage(t testing.TB) *Page {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<!doctype html><title>test</title>")
	})
	mux.Handle("GET /node_modules/", http.FileServer(http.Dir(".")))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &Page{server.URL}
}

// Run opens the page in a new browser and returns the result of the script. The script is
// the body of an asynchronous function with the variable args.
func Run[T any](t testing.TB, p *Page, script string, args any) T {
	t.Helper()
	encoded, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	tab := OpenTab(t)
	tab.Do(t, chromedp.Navigate(p.Origin))
	return Eval[T](t, tab, fmt.Sprintf("const args = %s;\n%s", encoded, script))
}
