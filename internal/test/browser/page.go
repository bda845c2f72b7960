//go:build browser

package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	testwait "example.com/orders/internal/test/wait"
)

// Page is a page with an origin of its own.
type Page struct {
	Origin string

	script  string
	results chan []byte
}

// html runs a script and sends its result to the server of the page. An error of the
// script is a result, too.
var html = template.Must(template.New("page").Parse(`<!doctype html>
<title>test</title>
<script>
(async () => { {{.}} })()
	.then(value => ({value}), error => ({error: String(error)}))
	.then(result => fetch('/result', {method: 'POST', body: JSON.stringify(result)}));
</script>
`))

// NewPage serves a page on a port of its own, which makes it another origin than all
// others. The page may load the packages of npm from /node_modules/.
func NewPage(t testing.TB) *Page {
	t.Helper()
	p := &Page{results: make(chan []byte, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_ = html.Execute(w, template.JS(p.script)) // the script is the test's own
	})
	mux.HandleFunc("POST /result", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a broken result is no JSON
		p.results <- body
	})
	mux.Handle("GET /node_modules/", http.FileServer(http.Dir(".")))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	p.Origin = server.URL
	return p
}

// Run opens the page in the browser and returns what its script returns. The script is
// the body of an asynchronous function with the variable args.
func Run[T any](t testing.TB, p *Page, script string, args any) T {
	t.Helper()
	encoded, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	p.script = fmt.Sprintf("const args = %s;\n%s", encoded, script)
	open(t, p.Origin)
	var result struct {
		Value T
		Error string
	}
	select {
	case body := <-p.results:
		if err := json.Unmarshal(body, &result); err != nil || result.Error != "" {
			t.Fatalf("the script returns %s: %s, %v", body, result.Error, err)
		}
	case <-time.After(2 * testwait.Patience): // a browser may take long to start
		t.Fatal("the script does not end")
	}
	return result.Value
}

// open opens a URL in a browser without a window, with a profile of its own. The browser
// is killed when the test ends.
func open(t testing.TB, url string) {
	t.Helper()
	profile, err := os.MkdirTemp("", "orders-browser-") //nolint:usetesting // the browser may still write while it dies
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), chromium(t),
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--remote-debugging-port=0", "--user-data-dir="+profile, url)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // the browser is several processes
		_ = cmd.Wait()
		_ = os.RemoveAll(profile)
	})
}

// chromium returns the path of the browser.
func chromium(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		} else if !errors.Is(err, exec.ErrNotFound) {
			t.Fatal(err)
		}
	}
	t.Fatal("Chromium is not installed: `make test-browser` installs it, or says how")
	return ""
}
