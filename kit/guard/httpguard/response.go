package httpguard

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"example.com/orders/kit/guard"
)

// response is what a handler has written. It is held back until the commit.
type response struct {
	header  http.Header
	sent    http.Header // the header when the handler wrote the status
	status  int         // 0 until then
	body    bytes.Buffer
	failure error // by Fail
}

type heldKey struct{}

// Fail ends a handler like an error of a command that [Handle] executes: all that it
// wrote to the database is rolled back, and the key is free. If err says that the
// transaction lost a race, as a deadlock does, the handler runs again. A [Problem] is
// answered as such.
//
// After other errors, a response that the handler wrote is sent, if it is no success.
// If there is none, the answer is the problem that err stands for.
//
// A handler that answers an error of the database with 500 needs no Fail. It misses the
// second run only. Outside of a guarded route, Fail does nothing.
func Fail(r *http.Request, err error) {
	if held, ok := r.Context().Value(heldKey{}).(*response); ok {
		held.failure = err
	}
}

// Header returns the headers that the handler sets.
func (h *response) Header() http.Header { return h.header }

// WriteHeader holds the status and the headers back. The first final status counts.
func (h *response) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("httpguard: the handler wrote the status %d", status)) // as net/http does, but before the commit
	}
	if h.status == 0 && status >= http.StatusOK {
		h.status, h.sent = status, h.header.Clone()
	}
}

// Write holds a part of the body back.
func (h *response) Write(part []byte) (int, error) {
	h.WriteHeader(http.StatusOK)
	return h.body.Write(part)
}

// answers reports whether the handler has answered that it did nothing.
func (h *response) answers() bool { return h.status >= http.StatusMultipleChoices }

// send sends a response that is not kept, with all headers.
func (h *response) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), h.sent)
	w.WriteHeader(h.status)
	_, _ = w.Write(h.body.Bytes()) // a client that is gone retries
}

// stored returns the part that is kept.
func (h *response) stored() guard.Response {
	return guard.Response{
		Status: h.status, ContentType: h.sent.Get("Content-Type"), Location: h.sent.Get("Location"), Body: h.body.Bytes(),
	}
}

// keptHeaders are in a record or follow from it.
var keptHeaders = []string{"Content-Type", "Location", "Content-Length"}

// drop says once for each header of a response that it is dropped.
func (g *Guard) drop(h *response, r *http.Request) {
	for name := range h.sent {
		if _, known := g.dropped.Load(name); known || slices.Contains(keptHeaders, name) {
			continue
		}
		if _, known := g.dropped.LoadOrStore(name, true); !known {
			g.cfg.Log.WarnContext(r.Context(), "a guarded response lost a header, which a retry would lack", "header", name, "route", r.Pattern)
		}
	}
}
