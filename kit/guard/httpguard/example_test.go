package httpguard_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
)

// A handler is guarded as it is.
func ExampleGuard_Middleware() {
	once := httpguard.New(httpguard.Config{Store: newStore(), Scope: principal}) // a service has pgxstore.New(pool)
	transfers := 0
	handler := once.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		transfers++ // by pgxstore.Tx(r.Context())
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(w, "transfer ", transfers)
	}))
	for range 2 {
		show(handler, "first-press", `{"cents": 1000}`)
	}
	// Output:
	// 201 transfer 1
	// 201 transfer 1, replayed
}

// A command is decoded before the key is claimed, so an invalid request leaves it free.
func ExampleHandle() {
	type transfer struct {
		Cents int `json:"cents"`
	}
	decode := func(r *http.Request) (cmd transfer, err error) {
		if err := json.NewDecoder(r.Body).Decode(&cmd); err != nil {
			return cmd, err
		}
		if cmd.Cents <= 0 {
			return cmd, errors.New("cents must be positive")
		}
		return cmd, nil
	}
	execute := func(ctx context.Context, cmd transfer) (httpguard.Reply, error) {
		if cmd.Cents > 5000 { // the balance, by pgxstore.Tx(ctx)
			return httpguard.Reply{}, httpguard.Problem{Status: http.StatusPaymentRequired, Code: "insufficient_funds"}
		}
		return httpguard.Reply{Status: http.StatusCreated, Body: map[string]string{"key": guard.KeyOf(ctx)}}, nil
	}
	once := httpguard.New(httpguard.Config{Store: newStore(), Scope: principal}) // a service has pgxstore.New(pool)
	handler := httpguard.Handle(once, "transfer", decode, execute)
	show(handler, "first-press", `{"cents": 0}`)
	show(handler, "first-press", `{"cents": 1000}`)
	show(handler, "first-press", `{ "cents": 1000 }`)
	show(handler, "second-press", `{"cents": 9000}`)
	// Output:
	// 400 {"type":"about:blank","title":"Bad Request","status":400,"code":"request_invalid","detail":"cents must be positive"}
	// 201 {"key":"first-press"}
	// 201 {"key":"first-press"}, replayed
	// 402 {"type":"about:blank","title":"Payment Required","status":402,"code":"insufficient_funds"}
}

// A handler hands an error over, so that a lost race runs it again. Without an answer
// of the handler, the guard writes one.
func ExampleFail() {
	once := httpguard.New(httpguard.Config{Store: newStore(), Scope: principal}) // a service has pgxstore.New(pool)
	runs := 0
	handler := once.Middleware(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		runs++
		if runs == 1 {
			httpguard.Fail(r, errDeadlock) // what the database returned
			return
		}
		w.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(w, "run ", runs)
	}))
	show(handler, "first-press", "")
	// Output:
	// 201 run 2
}

// A quota of new keys, a log line for each request, and errors in the form of the
// service.
func ExampleConfig() {
	used := map[guard.Scope]int{}
	once := httpguard.New(httpguard.Config{
		Store: newStore(), // a service has pgxstore.New(pool)
		Scope: principal,
		Admit: func(r *http.Request) bool {
			used[principal(r)]++
			return used[principal(r)] <= 1
		},
		Error: func(w http.ResponseWriter, _ *http.Request, p httpguard.Problem) {
			http.Error(w, p.Code, p.Status)
		},
		Done: func(_ *http.Request, o httpguard.Outcome) {
			fmt.Println(o.Operation, o.Code, o.Status, o.Took.Round(time.Hour))
		},
	})
	handler := once.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	}))
	show(handler, "first-press", "")
	show(handler, "first-press", "")
	show(handler, "second-press", "")
	// Output:
	// POST /transfers done 204 0s
	// 204
	// POST /transfers replayed 204 0s
	// 204, replayed
	// POST /transfers too_many_keys 429 0s
	// 429 too_many_keys
}

var errDeadlock = lostRace{errors.New("deadlock detected")}

// newStore returns a store in memory, so that the examples need no database.
func newStore() guard.Store { return &memory{records: map[guard.ID]guard.Record{}} }

func principal(r *http.Request) guard.Scope {
	user, _, _ := r.BasicAuth()
	return guard.NewScope(user)
}

// show sends a request of alice and prints the answer.
func show(handler http.Handler, key, body string) {
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "/transfers", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	r.SetBasicAuth("alice", "")
	r.Header.Set("Idempotency-Key", key)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	answer := strings.TrimSpace(fmt.Sprint(w.Code, " ", w.Body))
	if w.Header().Get("Idempotent-Replayed") == "true" {
		answer += ", replayed"
	}
	fmt.Println(answer)
}
