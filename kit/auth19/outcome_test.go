package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// unusual is a server that looks at the key only, and answers in an unusual way.
type unusual struct {
	mu        sync.Mutex
	kept      map[string]string
	overtaken sync.Cond
}

func (u *unusual) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	key := r.Header.Get("Idempotency-Key")
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.Header.Get("X-Hold") != "" {
		u.overtaken.Wait()
	}
	first, found := u.kept[key]
	switch {
	case r.Header.Get("Authorization") == "":
		reply(w, r, http.StatusUnauthorized, `{"error":"who is it?"}`)
	case r.Method == http.MethodGet:
		reply(w, r, http.StatusOK, fmt.Sprintf(`{"data":%d}`, len(u.kept)))
	case r.Header.Get("X-Hold") != "":
		reply(w, r, http.StatusInternalServerError, `{"error":"duplicate key"}`)
	case found:
		reply(w, r, http.StatusOK, `{"cached":true,"data":`+first+`}`)
	default:
		u.kept[key] = fmt.Sprintf(`{"id":%d,"request":%s}`, len(u.kept), body)
		reply(w, r, http.StatusCreated, u.kept[key])
		u.overtaken.Broadcast()
	}
}

// open returns the path of a description.
func (u *unusual) open(t *testing.T) string {
	t.Helper()
	u.kept, u.overtaken.L = map[string]string{}, &u.mu
	server := httptest.NewServer(u)
	t.Cleanup(server.Close)
	return write(t, strings.NewReplacer("http://127.0.0.1:1", server.URL, "100", "100, note: '${canary}'").Replace(small)+
		"principals: {a: {Authorization: Bearer token-of-a}, b: {Authorization: Bearer token-of-b}}\n"+
		"other: {body: {amount: 200}}\nhold: {before: {headers: {X-Hold: please}}}\n")
}

func TestRun_SaysWhatTheExchangesShow(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"D": "mismatch: replayed in another form",
		"O": "differs         immediate: status 200",
		"E": "concurrent other: ran, as the answer is another one",
		"B": "concurrent: the first request was refused 500; wanted: refused 409. Effects before: 1, after: 2.",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, out := command19(t, "run", (&unusual{}).open(t), name)

			if !strings.Contains(out, want) {
				t.Errorf("no %q: %s", want, out)
			}
		})
	}
}
