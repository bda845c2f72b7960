package core_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/orders/internal/core"
)

// fakeInbox knows one message, and has forgotten those of one time.
type fakeInbox struct {
	forgottenUntil time.Time
	recorded       []core.Message
	renewed        []core.Message
}

func (f *fakeInbox) Recall(_ context.Context, _, id string) (bool, time.Time, error) {
	return id == "known", f.forgottenUntil, nil
}

func (f *fakeInbox) Record(_ context.Context, m core.Message) error {
	f.recorded = append(f.recorded, m)
	return nil
}

func (f *fakeInbox) Renew(_ context.Context, m core.Message) error {
	f.renewed = append(f.renewed, m)
	return nil
}

func TestFirstTime_RefusesWhatMayHaveBeenForgotten(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	forgotten := now.AddDate(0, 0, -30)
	for name, c := range map[string]struct {
		id     string
		sentAt time.Time
		first  bool
		err    error
	}{
		"new":                                    {"1", now, true, nil},
		"sent just after the forgotten":          {"1", forgotten.Add(time.Microsecond), true, nil},
		"sent with the forgotten":                {"1", forgotten, false, core.ErrForgotten},
		"sent with the forgotten, not rounded":   {"1", forgotten.Add(999), false, core.ErrForgotten},
		"sent before the forgotten":              {"1", forgotten.Add(-time.Hour), false, core.ErrForgotten},
		"sent at no time":                        {"1", time.Time{}, false, core.ErrForgotten},
		"of a clock that is a day ahead":         {"1", now.Add(24 * time.Hour), true, nil},
		"of a clock that is more than that":      {"1", now.Add(24*time.Hour + time.Second), false, core.ErrForgotten},
		"known":                                  {"known", now, false, nil},
		"known and sent before the forgotten":    {"known", forgotten.Add(-time.Hour), false, nil},
		"known, of a clock that is a year ahead": {"known", now.AddDate(1, 0, 0), false, nil},
	} {
		inbox := &fakeInbox{forgottenUntil: forgotten}
		first, err := core.FirstTime(t.Context(), inbox, now, core.Message{Source: "w", ID: c.id, SentAt: c.sentAt})
		if first != c.first || !errors.Is(err, c.err) || (err == nil) != (c.err == nil) {
			t.Errorf("%s: first = %t, err = %v; want %t, %v", name, first, err, c.first, c.err)
		}
		if known := c.id == "known"; len(inbox.renewed) > 0 != known || len(inbox.recorded) > 0 != c.first {
			t.Errorf("%s: renewed %v, recorded %v", name, inbox.renewed, inbox.recorded)
		}
		for _, m := range inbox.renewed {
			if m.SentAt.After(now.Add(24 * time.Hour)) {
				t.Errorf("%s: renewed until %s", name, m.SentAt)
			}
		}
	}
}
