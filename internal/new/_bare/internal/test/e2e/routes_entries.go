package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
)

var entryRoutes = map[string]Route{
	"createEntry": {
		Prepare:  createEntry,
		Refusals: map[string]func(testing.TB, *Service) Refusal{"nothing": createNothing},
		Access:   Access{Customer: everybody, Seller: nobody, Admin: nobody, System: nobody},
	},
	"getEntry": {
		Prepare: getEntry,
		Access:  Access{Customer: ownerOnly, Seller: nobody, Admin: onRecord, System: nobody},
	},
	"getIdempotencyKey": {Prepare: getIdempotencyKey, Access: Access{ownKeys, ownKeys, ownKeys, ownKeys, false, 0}},
}

func entryBody(amount string) string {
	return fmt.Sprintf(`{"description": "a/b", "amount": {"currency": "RUB", "amount": %q}}`, amount)
}

// createEntry prepares the command that records an amount.
func createEntry(t testing.TB, s *Service) Command {
	t.Helper()
	customer := s.UniqueName("customer")
	return Command{
		Subject: customer, Role: "customer", Customer: customer, Status: http.StatusCreated,
		Call:      Call{Path: "/entries", Body: entryBody("100.00")},
		OtherBody: entryBody("100.01"),
		Peer:      s.Token(t, s.UniqueName("customer"), "customer"), PeerStatus: http.StatusCreated,
		Locks:   Query{SQL: "LOCK TABLE entry IN EXCLUSIVE MODE"},
		Effects: Query{"SELECT count(*) FROM entry WHERE created_by = $1", []any{customer}},
	}
}

func createNothing(t testing.TB, s *Service) Refusal {
	t.Helper()
	c := createEntry(t, s)
	c.Call.Body = entryBody("0.00")
	return Refusal{Command: c, RefusedStatus: http.StatusUnprocessableEntity, Code: "validation_failed"}
}

// CreateEntryCall is the call with which a customer records an amount, with a new key.
func (e *Env) CreateEntryCall(t testing.TB, customer string) Call {
	t.Helper()
	return Call{
		Method: http.MethodPost, Path: "/entries", Token: e.Token(t, customer, "customer"), Key: e.NewKey(), Body: entryBody("100.00"),
	}
}

func getEntry(t testing.TB, s *Service) Command {
	t.Helper()
	customer := s.UniqueName("customer")
	created := s.MustSend(t, s.CreateEntryCall(t, customer))
	return Command{Customer: customer, Call: Call{Path: created.Header.Get("Location")}, Status: http.StatusOK}
}

// getIdempotencyKey looks up a key with which the customer recorded an amount.
func getIdempotencyKey(t testing.TB, s *Service) Command {
	t.Helper()
	customer, key := s.UniqueName("customer"), s.NewKey()
	s.MustSend(t, s.CreateEntryCall(t, customer).WithKey(key))
	return Command{Customer: customer, Seller: customer, Call: LookupCall("", key), Status: http.StatusOK}
}

// LookupCall is the call that reads what became of a key.
func LookupCall(token, key string) Call { return Get(token, "/idempotency-keys/"+url.PathEscape(key)) }

// Page is a page of any list.
type Page[T any] struct {
	Data       []T
	NextCursor *string `json:"next_cursor"`
}

// AuditEntry is what the tests read of an entry of the audit log.
type AuditEntry struct {
	ID                      int
	Actor, Action, Resource string
	Metadata                map[string]string
}

// StartTwoReplicas starts two replicas on one database.
func StartTwoReplicas(t testing.TB) (a, b *Service) {
	t.Helper()
	a = Start(t)
	return a, a.StartReplica(t)
}
