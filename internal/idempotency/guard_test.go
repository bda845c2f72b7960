package idempotency_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/orders/internal/idempotency"
)

// stubStore answers Execute with a function.
type stubStore struct {
	execute func(context.Context, idempotency.Claim, idempotency.Command) (idempotency.Record, bool, error)
}

func (s stubStore) Execute(ctx context.Context, c idempotency.Claim, run idempotency.Command) (idempotency.Record, bool, error) {
	return s.execute(ctx, c, run)
}

// runAndStore executes the command as a store does for a key that nobody has used.
func runAndStore(ctx context.Context, c idempotency.Claim, run idempotency.Command) (idempotency.Record, bool, error) {
	result, err := run(ctx)
	return idempotency.Record{Claim: c, Response: result.Response}, false, err
}

// inProgress answers as a store does while another request holds the key.
func inProgress(context.Context, idempotency.Claim, idempotency.Command) (idempotency.Record, bool, error) {
	return idempotency.Record{}, false, idempotency.ErrInProgress
}

func guardOn(execute func(context.Context, idempotency.Claim, idempotency.Command) (idempotency.Record, bool, error)) idempotency.Guard {
	return idempotency.Guard{Store: stubStore{execute}, Wait: time.Minute, Timeout: time.Minute}
}

var request = idempotency.Request{
	ID:        idempotency.ID{Scope: "issuer alice", Key: "key-1"},
	Operation: "createOrder",
	Content:   idempotency.Content{Method: "POST", Path: "/orders", Body: []byte(`{"sku":"tea"}`)},
}

func created(context.Context) (idempotency.Result, error) {
	return idempotency.Result{Response: idempotency.Response{Status: 201}}, nil
}

func TestDo_RunsTheFirstRequest(t *testing.T) {
	t.Parallel()
	rec, replayed, err := guardOn(runAndStore).Do(t.Context(), request, created)
	if err != nil || replayed || rec.Status != 201 {
		t.Errorf("%+v, replayed = %v, %v", rec, replayed, err)
	}
	want := idempotency.Claim{ID: request.ID, Operation: "createOrder", Fingerprint: request.Content.Fingerprint()}
	if rec.Claim != want {
		t.Errorf("claimed %+v, want %+v", rec.Claim, want)
	}
}

func TestDo_ReplaysOnlyTheSameRequest(t *testing.T) {
	t.Parallel()
	stored := idempotency.Record{
		Claim:    idempotency.Claim{ID: request.ID, Fingerprint: request.Content.Fingerprint()},
		Response: idempotency.Response{Status: 201, Body: []byte("secret")},
	}
	guard := guardOn(func(context.Context, idempotency.Claim, idempotency.Command) (idempotency.Record, bool, error) {
		return stored, true, nil
	})

	rec, replayed, err := guard.Do(t.Context(), request, created)
	if err != nil || !replayed || string(rec.Body) != "secret" {
		t.Errorf("the same request: %+v, replayed = %v, %v", rec, replayed, err)
	}

	other := request
	other.Content.Body = []byte(`{"sku":"coffee"}`)
	rec, replayed, err = guard.Do(t.Context(), other, created)
	if !errors.Is(err, idempotency.ErrKeyReused) || replayed || rec.Body != nil {
		t.Errorf("another request: %+v, replayed = %v, %v; want ErrKeyReused and no record", rec, replayed, err)
	}
}

// A copy of the request that comes late runs nothing. Another request learns nothing.
func TestDo_RefusesASpentKey(t *testing.T) {
	t.Parallel()
	stored := idempotency.Record{
		Claim:    idempotency.Claim{ID: request.ID, Fingerprint: request.Content.Fingerprint()},
		Response: idempotency.Response{Status: 402, Body: []byte("secret")}, Spent: true,
	}
	guard := guardOn(func(context.Context, idempotency.Claim, idempotency.Command) (idempotency.Record, bool, error) {
		return stored, true, nil
	})
	other := request
	other.Content.Body = []byte(`{"sku":"coffee"}`)
	for want, r := range map[error]idempotency.Request{idempotency.ErrKeySpent: request, idempotency.ErrKeyReused: other} {
		rec, replayed, err := guard.Do(t.Context(), r, created)
		if !errors.Is(err, want) || replayed || rec.Body != nil {
			t.Errorf("%+v, replayed = %v, %v; want %v and no record", rec, replayed, err, want)
		}
	}
}

func TestDo_FailsForAFingerprintOfAnUnknownVersion(t *testing.T) {
	t.Parallel()
	guard := guardOn(func(_ context.Context, c idempotency.Claim, _ idempotency.Command) (idempotency.Record, bool, error) {
		c.Fingerprint = "\xffwritten by a newer release"
		return idempotency.Record{Claim: c}, true, nil
	})
	_, replayed, err := guard.Do(t.Context(), request, created)
	if err == nil || errors.Is(err, idempotency.ErrKeyReused) || replayed {
		t.Errorf("replayed = %v, %v; want an error that does not accuse the client", replayed, err)
	}
}

func TestDo_WaitsForTheFirstRequest(t *testing.T) {
	t.Parallel()
	tries := 0
	guard := guardOn(func(ctx context.Context, c idempotency.Claim, run idempotency.Command) (idempotency.Record, bool, error) {
		tries++
		if tries < 3 {
			return inProgress(ctx, c, run)
		}
		return runAndStore(ctx, c, run)
	})
	rec, _, err := guard.Do(t.Context(), request, created)
	if err != nil || rec.Status != 201 || tries != 3 {
		t.Errorf("%+v after %d tries, %v; want the response at the third", rec, tries, err)
	}
}

func TestDo_GivesUpWaiting(t *testing.T) {
	t.Parallel()
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	giveUp := func(ctx context.Context, name string, wait time.Duration) {
		guard := guardOn(inProgress)
		guard.Wait = wait
		if _, _, err := guard.Do(ctx, request, created); !errors.Is(err, idempotency.ErrInProgress) {
			t.Errorf("%s: %v, want ErrInProgress", name, err)
		}
	}
	giveUp(t.Context(), "when the wait is over", 20*time.Millisecond)
	giveUp(t.Context(), "at once without a wait", 0)
	giveUp(gone, "when the client is gone", time.Hour)
}

func TestDo_FinishesTheCommandOfAClientThatHungUp(t *testing.T) {
	t.Parallel()
	ctx, hangUp := context.WithCancel(t.Context())
	rec, _, err := guardOn(runAndStore).Do(ctx, request, func(ctx context.Context) (idempotency.Result, error) {
		hangUp()
		if _, bounded := ctx.Deadline(); !bounded || ctx.Err() != nil {
			t.Errorf("deadline: %v, error: %v; want a live context with a deadline of its own", bounded, ctx.Err())
		}
		return created(ctx)
	})
	if err != nil || rec.Status != 201 {
		t.Errorf("%+v, %v", rec, err)
	}
}

func TestNewScope_DiffersForDifferentParts(t *testing.T) {
	t.Parallel()
	seen := map[idempotency.Scope][]string{}
	for _, parts := range [][]string{
		{}, {"a"}, {"a", "b"}, {"a", "b", "c"}, {"a b", "c"}, {"a", "b c"}, {"a b c"},
		{"a%20b"}, {"a%", "20b"}, {"", "a"}, {"a", ""},
	} {
		scope := idempotency.NewScope(parts...)
		if other, taken := seen[scope]; taken {
			t.Errorf("%q and %q are both the scope %q", parts, other, scope)
		}
		seen[scope] = parts
	}
	if got := idempotency.NewScope("https://issuer.example", "sber-42"); got != "https://issuer.example sber-42" {
		t.Errorf("the scope of an issuer and a subject is %q", got)
	}
}
