package httpguard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
)

// decodeText accepts a body that is not empty. "absent" names a resource that is not
// there.
func decodeText(r *http.Request) (string, error) {
	body, err := io.ReadAll(r.Body)
	switch text := string(body); text {
	case "":
		return "", errors.New("the body is empty")
	case "absent":
		return "", httpguard.Problem{Status: http.StatusUnprocessableEntity, Code: "absent"}
	default:
		return text, err
	}
}

func TestHandle_KeepsTheReplyWithTheEffect(t *testing.T) {
	t.Parallel()
	a := newTypedApp(func(ctx context.Context, cmd string) (httpguard.Reply, error) {
		effect(ctx, cmd+" "+guard.KeyOf(ctx))
		return httpguard.Reply{Status: http.StatusCreated, Location: "/transfers/1", Body: map[string]int{"id": 1}}, nil
	})
	for i := range 2 {
		w := a.send(t, "key-1", "pay")
		want(t, w, http.StatusCreated, `{"id":1}`, i == 1)
		if got := fmt.Sprint(w.Header().Get("Content-Type"), w.Header().Get("Location")); got != "application/json/transfers/1" {
			t.Errorf("headers %v", w.Header())
		}
	}
	a.wantEffects(t, 1, 1)
	if a.effects[0] != "pay key-1" || a.records[guard.ID{Scope: "alice", Key: "key-1"}].Operation != "transfer" {
		t.Errorf("effects %q, records %v", a.effects, a.records)
	}
}

// An invalid request leaves the key to the next one, even with a status that is kept
// when a command returns it.
func TestHandle_DecodesBeforeTheKeyIsClaimed(t *testing.T) {
	t.Parallel()
	a := newTypedApp(func(context.Context, string) (httpguard.Reply, error) {
		return httpguard.Reply{Status: http.StatusNoContent}, nil
	})
	want(t, a.send(t, "key-1", ""), http.StatusBadRequest, `"code":"request_invalid","detail":"the body is empty"`, false)
	want(t, a.send(t, "key-1", "absent"), http.StatusUnprocessableEntity, `"code":"absent"`, false)
	want(t, a.send(t, "key-1", "pay"), http.StatusNoContent, "", false)
	a.wantEffects(t, 0, 1)
}

func TestHandle_AnswersWhatACommandReturns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply  httpguard.Reply
		err    error
		status int
		text   string
		kept   bool
	}{
		"a refusal as a reply":   {httpguard.Reply{Status: 409, Body: "no"}, nil, 409, `"no"`, true},
		"a refusal as an error":  {httpguard.Reply{Status: 201}, fmt.Errorf("pay: %w", httpguard.Problem{Status: 402, Code: "poor"}), 402, "poor", true},
		"what does not exist":    {httpguard.Reply{}, httpguard.Problem{Status: 404, Code: "no_account"}, 404, "no_account", false},
		"a 404 as a reply":       {httpguard.Reply{Status: 404, Body: "no"}, nil, 404, `"no"`, false},
		"a failure":              {httpguard.Reply{Status: 201}, errors.New("disk full"), 500, `"status":500,"code":"internal"}`, false},
		"the key of another":     {httpguard.Reply{}, guard.ErrKeyReused, 409, "idempotency_key_reused", false},
		"silence":                {httpguard.Reply{Body: "no"}, nil, 500, "internal", false},
		"a body that is no JSON": {httpguard.Reply{Status: 201, Body: func() {}}, nil, 500, "internal", false},
	} {
		a := newTypedApp(func(ctx context.Context, _ string) (httpguard.Reply, error) {
			effect(ctx, "paid")
			return c.reply, c.err
		})
		t.Log(name)
		want(t, a.send(t, "key-1", "pay"), c.status, c.text, false)
		want(t, a.send(t, "key-1", "pay"), c.status, c.text, c.kept)
		runs := 2
		if c.kept {
			runs = 1
		}
		a.wantEffects(t, 0, runs)
	}
}

func TestHandle_RunsACommandAgainAfterALostRace(t *testing.T) {
	t.Parallel()
	runs := 0
	a := newTypedApp(func(ctx context.Context, _ string) (httpguard.Reply, error) {
		effect(ctx, "paid")
		runs++
		if runs < 3 {
			return httpguard.Reply{}, fmt.Errorf("pay: %w", lostRace{errors.New("deadlock detected")})
		}
		return httpguard.Reply{Status: 201}, nil
	})
	want(t, a.send(t, "key-1", "pay"), 201, "", false)
	a.wantEffects(t, 1, 3)
}
