package httpguard_test

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
)

func asLostRace(err error, lost *lostRace) bool { return errors.As(err, lost) }

func TestFail_RollsBackWhateverTheHandlerAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		answer int // of the handler; 0 for none
		status int
		text   string
	}{
		"no answer":                      {errors.New("disk full"), 0, 500, `"code":"internal"`},
		"a success":                      {errors.New("disk full"), 201, 500, `"code":"internal"`},
		"an answer of its own":           {errors.New("disk full"), 507, 507, "answer"},
		"a refusal that is not kept":     {errors.New("disk full"), 409, 409, "answer"},
		"a problem":                      {httpguard.Problem{Status: 404, Code: "no_account"}, 0, 404, `"code":"no_account"`},
		"a problem after a success":      {httpguard.Problem{Status: 503, Code: "closed"}, 201, 503, `"code":"closed"`},
		"the key of another effect":      {guard.ErrKeyReused, 0, 409, `"code":"idempotency_key_reused"`},
		"a wrapped error without a text": {errors.Join(errors.New("secret")), 0, 500, `"status":500,"code":"internal"}`},
	} {
		a := newApp(func(w http.ResponseWriter, r *http.Request) {
			effect(r.Context(), "paid")
			httpguard.Fail(r, c.err)
			if c.answer != 0 {
				w.WriteHeader(c.answer)
				_, _ = io.WriteString(w, "answer")
			}
		})
		t.Log(name)
		for range 2 {
			want(t, a.send(t, "key-1", `{}`), c.status, c.text, false)
		}
		a.wantEffects(t, 0, 2)
	}
}

// A problem that decides the operation is kept, as it is for a command.
func TestFail_KeepsAProblemThatIsARefusal(t *testing.T) {
	t.Parallel()
	a := newApp(func(_ http.ResponseWriter, r *http.Request) {
		effect(r.Context(), "paid")
		httpguard.Fail(r, httpguard.Problem{Status: 402, Code: "exhausted"})
	})
	want(t, a.send(t, "key-1", `{}`), 402, `"code":"exhausted"`, false)
	want(t, a.send(t, "key-1", `{}`), 402, `"code":"exhausted"`, true)
	a.wantEffects(t, 0, 1)
}

func TestFail_DoesNothingOutsideOfAGuardedRoute(t *testing.T) {
	t.Parallel()
	httpguard.Fail(request(t, "key-1", `{}`), errors.New("disk full"))
}
