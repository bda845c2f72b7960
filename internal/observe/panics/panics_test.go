package panics_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/orders/internal/observe/panics"
)

// refusal is an error as a driver returns it.
type refusal struct{ message string }

func (r *refusal) Error() string  { return r.message }
func (*refusal) SQLState() string { return "22P02" }

// recovered returns what a deferred function makes of the panic of fn.
func recovered(fn func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panics.Recovered(v)
		}
	}()
	fn()
	return nil
}

func TestRecovered_DescribesThePanicWithoutData(t *testing.T) {
	t.Parallel()
	const secret = "alice@example.com"
	var empty []int
	for name, test := range map[string]struct {
		panics func()
		want   string
	}{
		"a mistake":     {func() { _ = empty[len(secret)] }, "panic: runtime error: index out of range"},
		"a text":        {func() { panic("no such status") }, "panic: no such status"},
		"an error":      {func() { panic(errors.New("broken")) }, "panic: *errors.errorString: broken"},
		"a data error":  {func() { panic(fmt.Errorf("read: %w", &refusal{secret})) }, "panic: *fmt.wrapError: SQLSTATE 22P02"},
		"a whole value": {func() { panic(struct{ Email string }{secret}) }, "panic: a value of type struct { Email string }"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := recovered(test.panics)
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Fatalf("err = %v, want %s", err, test.want)
			}
			stack := panics.StackOf(fmt.Errorf("wrapped: %w", err))
			if !strings.Contains(stack, "panics_test.go") {
				t.Errorf("the stack does not lead here:\n%s", stack)
			}
			if strings.Contains(err.Error()+stack, secret) {
				t.Errorf("personal data in %v\n%s", err, stack)
			}
		})
	}
}

func TestRecovered_BoundsTheText(t *testing.T) {
	t.Parallel()
	err := recovered(func() { panic(strings.Repeat("é", 1000)) })
	if n := len(err.Error()); n > 220 || !utf8.ValidString(err.Error()) {
		t.Errorf("%d bytes: %s", n, err)
	}
}
