package main

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"unicode"
)

// hostile is a server that attacks whoever tests it. Each route has one attack.
type hostile struct {
	*httptest.Server

	mu      sync.Mutex
	charges int
}

// newHostile serves attacks by path, in addition to honest charges.
func newHostile(t *testing.T, attacks map[string]http.HandlerFunc) *hostile {
	t.Helper()
	h := &hostile{}
	routes := http.NewServeMux()
	routes.HandleFunc("/charges", h.charge)
	for path, attack := range attacks {
		routes.HandleFunc(path, attack)
	}
	h.Server = httptest.NewServer(routes)
	t.Cleanup(h.Close)
	return h
}

func (h *hostile) charge(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if r.Method == http.MethodPost {
		h.charges++
		w.WriteHeader(http.StatusCreated)
	}
	_ = json.NewEncoder(w).Encode(map[string]int{"data": h.charges})
}

func (h *hostile) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.charges
}

// describe writes a description with more members into a new folder.
func (h *hostile) describe(t *testing.T, more string) string {
	t.Helper()
	return write(t, "server: "+h.URL+"\n"+more)
}

func answer(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

// forms runs a file, and returns the status and what is printed and written, by form.
func forms(t *testing.T, args ...string) (int, map[string]string) {
	t.Helper()
	dir := t.TempDir()
	args = append([]string{"run"}, args...)
	for _, form := range []string{"json", "junit", "markdown"} {
		args = append(args, "--"+form, filepath.Join(dir, form))
	}
	status, out := command19(t, args...)
	written := map[string]string{"text": out}
	for _, form := range []string{"json", "junit", "markdown"} {
		if status != unusable {
			written[form] = mustRead(t, filepath.Join(dir, form))
		}
	}
	return status, written
}

const charge = "do: {path: /charges, body: {amount: 100}}\n"

// A redirect would take the credentials to a different host.
func TestRequests_FollowNoRedirect(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for place, more := range map[string]string{
			"effects": charge + "effects: {get: /redirect, pointer: /data}",
			"before":  charge + "effects: {get: /charges, pointer: /data}\nbefore: {path: /redirect}",
			"do":      "do: {path: /redirect, body: {amount: 100}}\neffects: {get: /charges, pointer: /data}",
		} {
			var followed sync.Map
			thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { followed.Store(r.Method, r.Header) }))
			t.Cleanup(thief.Close)
			h := newHostile(t, map[string]http.HandlerFunc{"/redirect": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, thief.URL+"/stolen", status)
			}})

			got, out := command19(t, "run", h.describe(t, more+"\nprincipals: {a: {X-Api-Key: key-of-alice}}"))

			followed.Range(func(method, header any) bool {
				t.Errorf("%s %d was followed: %s %v", place, status, method, header)
				return true
			})
			if want := fmt.Sprintf("refused %d, to %s/stolen, which is not followed", status, thief.URL); got != unusable || !strings.Contains(out, want) {
				t.Errorf("%s: status %d, want %q: %s", place, got, want, out)
			}
		}
	}
}

const (
	token    = `header-of-the-token.claims-about-alice."quoted".signature-of-alice`
	cookie   = "c7d1e9a0b3f24865"
	password = "hunter-two-and-more"
)

// secretTexts are the credentials of a, in many copies, so that wherever a text is cut, it is
// within one.
var secretTexts = strings.Repeat(token+cookie+password+"postgres://orders:"+password+"@db/orders", 100)

const principal = "\nprincipals: {a: {Authorization: 'Bearer " + token + "', Cookie: session=" + cookie + "}, b: {Authorization: Basic Ym9iOmh1bnRlci10d28tYW5kLW1vcmU=}}"

// A report may be published. It masks credentials before it cuts a text, in errors as well.
func TestForms_MaskBeforeTheyCut(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{
		"evidence": "do: {path: /echo, body: {amount: 100}}\nother: {body: {amount: 200}}\neffects: {get: /charges, pointer: /data}",
		"effects":  charge + "effects: {get: /list, pointer: /none}",
		"number":   charge + "effects: {get: /list, pointer: /text}",
		"first":    "do: {path: /fail, body: {amount: 100}}\neffects: {get: /charges, pointer: /data}",
		"before":   charge + "effects: {get: /charges, pointer: /data}\nbefore: {path: /fail}",
		"capture":  charge + "effects: {get: /charges, pointer: /data}\nbefore: {path: /list, capture: {cart: /id}}",
		"expire":   charge + "effects: {get: /charges, pointer: /data}\nexpire: {exec: 'echo \"$secrets\" >&2; exit 1'}\nbefore: {path: /list, capture: {secrets: /text}}",
		"Location": "profile: auth-19\ndo: {path: /location, body: {amount: 100}}\neffects: {get: /charges, pointer: /data}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h *hostile
			h = newHostile(t, map[string]http.HandlerFunc{
				"/echo": func(w http.ResponseWriter, r *http.Request) {
					h.charge(httptest.NewRecorder(), r)
					answer(secretTexts)(w, r)
				},
				"/fail": func(w http.ResponseWriter, r *http.Request) {
					w.WriteHeader(http.StatusTeapot)
					answer(secretTexts)(w, r)
				},
				"/list": func(w http.ResponseWriter, _ *http.Request) {
					_ = json.NewEncoder(w).Encode(map[string]string{"text": secretTexts})
				},
				"/location": func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Location", fmt.Sprint(h.count(), secretTexts[:4000]))
					h.charge(w, r)
				},
			})

			_, written := forms(t, h.describe(t, more+principal), "A", "D", "T")

			for form, text := range written {
				for _, part := range []string{token[:8], "quoted", token[len(token)-8:], cookie[:8], password[:8], "Ym9iOmh1"} {
					if strings.Contains(text, part) {
						t.Errorf("%s shows %q: %.3000s", form, part, text)
					}
				}
			}
			if !strings.Contains(written["text"], "<token of a>") {
				t.Errorf("nothing is masked: %s", written["text"])
			}
		})
	}
}

// A control character of a server would drive the terminal of whoever reads the report.
func TestForms_EscapeControlCharacters(t *testing.T) {
	t.Parallel()
	const attack = "\x1b]0;pwned\x07 \x1b[2J \u009b2J \x00 \x7f \r \u202e \u2028 \xff"
	for name, more := range map[string]string{
		"evidence": "do: {path: /echo, body: {amount: 100}}\nother: {body: {amount: 200}}\neffects: {get: /charges, pointer: /data}",
		"error":    charge + "effects: {get: /echo, pointer: /data}",
	} {
		var h *hostile
		h = newHostile(t, map[string]http.HandlerFunc{"/echo": func(w http.ResponseWriter, r *http.Request) {
			h.charge(httptest.NewRecorder(), r)
			w.Header().Set("X-Attack", "\u009b2J\u202e")
			answer(attack+"\nA  L1  a forged line")(w, r)
		}})

		_, written := forms(t, h.describe(t, more), "D")

		for form, text := range written {
			for i, r := range text {
				if r != '\n' && r != '\t' && !unicode.IsPrint(r) || r == unicode.ReplacementChar {
					t.Errorf("%s, %s has %q: %.100q", name, form, r, text[max(0, i-50):])
				}
			}
		}
		if !strings.Contains(written["text"], `\x1b[2J`) || strings.Contains(written["text"], "\nA  L1  a forged") {
			t.Errorf("%s: %s", name, written["text"])
		}
	}
}

// A response has a bound, packed and unpacked.
func TestRequests_ReadBoundedResponses(t *testing.T) {
	t.Parallel()
	attacks := map[string]http.HandlerFunc{
		"/packed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			packed := gzip.NewWriter(w)
			_, _ = io.CopyN(packed, endless{}, 64<<20)
			_ = packed.Close()
		},
		"/endless": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.Copy(w, endless{}) },
	}
	for path := range attacks {
		for place, more := range map[string]string{
			"effects": charge + "effects: {get: " + path + ", pointer: /data}",
			"do":      "do: {path: " + path + ", body: {amount: 100}}\neffects: {get: /charges, pointer: /data}",
		} {
			h := newHostile(t, attacks)
			status, out := command19(t, "run", h.describe(t, more), "A")
			if want := "the response has more than 16 MiB"; status != unusable || !strings.Contains(out, want) {
				t.Errorf("%s, %s: status %d, want %q: %.300s", path, place, status, want, out)
			}
		}
	}
}

// endless is a text that has no end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A server names the time until the next request, but not at will.
func TestRequests_WaitAtALimit(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"-1", "0", "99999999999", "99999999999999999999", "soon"} {
		var received atomic.Int32
		h := newHostile(t, map[string]http.HandlerFunc{"/limited": func(w http.ResponseWriter, _ *http.Request) {
			received.Add(1)
			w.Header().Set("Retry-After", wait)
			w.WriteHeader(http.StatusTooManyRequests)
		}})
		status, out := command19(t, "run", h.describe(t, "patience: 100ms\ndo: {path: /limited, body: {}}\neffects: {get: /charges, pointer: /data}"), "A")
		if n := received.Load(); n != 1 || status != unusable || !strings.Contains(out, "refused 429") {
			t.Errorf("%s: status %d after %d requests: %s", wait, status, n, out)
		}
	}
}

// A captured value adds no header to a request.
func TestRequests_KeepLineBreaksOutOfTheirHead(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"path: '/charges/${cart}'", "path: /charges/1, headers: {X-Cart: '${cart}'}"} {
		var smuggled atomic.Bool
		h := newHostile(t, map[string]http.HandlerFunc{
			"/carts":    answer(`{"id": "1 HTTP/1.1\r\nX-Smuggled: 1\r\nX-Cart: 1"}`),
			"/charges/": func(_ http.ResponseWriter, r *http.Request) { smuggled.Store(r.Header.Get("X-Smuggled") != "") },
		})
		status, out := command19(t, "run", h.describe(t, "do: {"+place+", body: {}}\neffects: {get: /charges, pointer: /data}\nbefore: {path: /carts, capture: {cart: /id}}"), "A")
		if want := "a line break in the path or in a header"; status != unusable || smuggled.Load() || !strings.Contains(out, want) {
			t.Errorf("status %d, smuggled = %v, want %q: %s", status, smuggled.Load(), want, out)
		}
	}
}

// A server that leaves a request unanswered must not keep the tester.
func TestRequests_EndWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"as usual": "", "held": "hold: {before: {headers: {X-Delay: '1'}}}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var h *hostile
			var received atomic.Int32
			h = newHostile(t, map[string]http.HandlerFunc{"/silent": func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && received.Add(1) > 1 {
					_, _ = io.Copy(io.Discard, r.Body)
					<-r.Context().Done()
					return
				}
				h.charge(w, r)
			}})
			text := "timeout: 2s\npatience: 100ms\ndo: {path: /silent, body: {amount: 100}}\neffects: {get: /charges, pointer: /data}\n" + more
			if _, out := command19(t, "run", h.describe(t, text), "B", "O"); !strings.Contains(out, "2 probes") {
				t.Error(out)
			}
		})
	}
}
