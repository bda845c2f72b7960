// Package receiver receives webhooks as a shop does: it verifies each signature, and
// drops repeats by their ID.
package receiver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// maxBody bounds an event in bytes.
const maxBody = 1 << 20

// Event is an event that arrived.
type Event struct {
	ID, Type string
	// Repeat reports that the event arrived before: it has no second effect.
	Repeat bool
}

// Serve calls take with each event that is signed with the secret, before the answer,
// until ctx ends. It knows the IDs until then. A shop stores them with the effect of the
// event, in one transaction.
func Serve(ctx context.Context, ln net.Listener, secret string, take func(Event)) error {
	key, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	var known sync.Map
	server := &http.Server{ReadTimeout: 5 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e Event
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		if err != nil || key.Verify(body, r.Header) != nil || json.Unmarshal(body, &e) != nil {
			http.Error(w, "this is no event with a valid signature", http.StatusBadRequest)
			return
		}
		_, e.Repeat = known.LoadOrStore(r.Header.Get(standardwebhooks.HeaderWebhookID), true)
		take(e)
		w.WriteHeader(http.StatusNoContent)
	})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
