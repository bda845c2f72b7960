// Package receiver verifies webhooks and recognises repeats, as a shop does.
package receiver

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Event is an event that arrived.
type Event struct {
	ID, Type string
	Repeat   bool // it arrived before, and has no second effect
}

// Handler calls take with each event that is signed with the secret, before the answer. It
// keeps the IDs in memory. A shop stores them with the effect, in one transaction.
func Handler(secret string, take func(Event)) http.Handler {
	key, invalid := standardwebhooks.NewWebhook(secret)
	var known sync.Map
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e Event
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		if invalid != nil || err != nil || key.Verify(body, r.Header) != nil || json.Unmarshal(body, &e) != nil {
			http.Error(w, "this is no event with a valid signature", http.StatusBadRequest)
			return
		}
		_, e.Repeat = known.LoadOrStore(r.Header.Get(standardwebhooks.HeaderWebhookID), true)
		take(e)
		w.WriteHeader(http.StatusNoContent)
	})
}
