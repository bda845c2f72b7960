package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// cases are the cases that the tests of all clients read.
type cases struct {
	Answers, Successes map[string]described
	Cases              []behaviour
	Services           [][]string
	RetryAfter         struct {
		Now   time.Time
		Waits map[string]*int // in milliseconds
	} `json:"retry_after"`
}

// described is an answer.
type described struct {
	Status           int
	Body             json.RawMessage
	Text, Type, Echo string
	HoursAsleep      int `json:"hours_asleep"`
}

// behaviour is how a client behaves when a call gets some answers.
type behaviour struct {
	Call, Outcome, Key string
	Answers, Sends     []string
}

func readCases(t *testing.T) cases {
	t.Helper()
	content, err := os.ReadFile("../cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var read cases
	if err := json.Unmarshal(content, &read); err != nil {
		t.Fatal(err)
	}
	return read
}

// answer returns the answer. While it is lost, the wall clock may go on alone.
func (d described) answer(sleep func(time.Duration)) answer {
	switch {
	case d.Status == 0:
		return func(r *http.Request) (*http.Response, error) {
			sleep(time.Duration(d.HoursAsleep) * time.Hour)
			return loses(r)
		}
	case d.Body == nil && d.Text == "":
		return pageOf(d.Status)
	}
	headers := []string{"Content-Type", d.contentType()}
	if d.Echo != "" {
		headers = append(headers, "Idempotency-Key", map[string]string{"none": "", "other": newKey()}[d.Echo])
	}
	return responds(d.Status, string(d.Body)+d.Text, headers...)
}

func (d described) contentType() string {
	if d.Status >= http.StatusBadRequest {
		return cmp.Or(d.Type, "application/problem+json")
	}
	return "application/json"
}

// calls are the operations of the cases. Commands have the same name each time.
var calls = map[string]func(context.Context, *Client) error{
	"createOrder": func(ctx context.Context, c *Client) error {
		_, err := order(ctx, c, "cart-1")
		return err
	},
	"updateOrderStatus": func(ctx context.Context, c *Client) error {
		_, err := c.UpdateOrderStatus(ctx, 1041, OrderShipped)
		return err
	},
	"putProduct": func(ctx context.Context, c *Client) error {
		_, err := c.PutProduct(ctx, "tea", ProductUpdate{}, `"1"`)
		return err
	},
	"updateCustomerProfile": func(ctx context.Context, c *Client) error {
		_, err := c.UpdateCustomerProfile(ctx, "sber-42", ProfileUpdate{})
		return err
	},
	"deleteCustomerProfile": func(ctx context.Context, c *Client) error {
		return c.DeleteCustomerProfile(ctx, "sber-42")
	},
	"listProducts": func(ctx context.Context, c *Client) error {
		for _, err := range c.ListProducts(ctx) {
			return err
		}
		return nil
	},
	"getOrderById": func(ctx context.Context, c *Client) error {
		_, err := c.GetOrder(ctx, 1041)
		return err
	},
}

// outcomeOfCall returns what the error of a call says.
func outcomeOfCall(err error) string {
	_, unknown := errors.AsType[*UnknownOutcomeError](err)
	_, refused := errors.AsType[*Problem](err)
	switch {
	case err == nil:
		return "success"
	case unknown:
		return "unknown"
	case refused:
		return "refused"
	}
	return "failed"
}

func TestClient_BehavesAsAllClientsDo(t *testing.T) {
	table := readCases(t)
	for _, want := range table.Cases {
		t.Run(fmt.Sprint(want.Call, " ", strings.Join(want.Answers, " + ")), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newClient(t)
				sleep := suspend(c)
				for _, name := range want.Answers {
					s.answers = append(s.answers, table.Answers[name].answer(sleep))
				}
				s.answers = append(s.answers, table.Successes[want.Call].answer(sleep))

				err := calls[want.Call](t.Context(), c)
				got := behaviour{Call: want.Call, Answers: want.Answers, Outcome: outcomeOfCall(err), Sends: s.methods()}
				if want.Key != "" {
					got.Key = s.nextKey(t, c)
				}

				if diff := diffOf(want, got); diff != "" {
					t.Errorf("err = %v (-want +got):\n%s", err, diff)
				}
			})
		})
	}
}

func TestRetryAfter_IsReadAsAllClientsDo(t *testing.T) {
	table := readCases(t).RetryAfter
	for value, wait := range table.Waits {
		t.Run(value, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var want []time.Duration
				if wait != nil {
					want = []time.Duration{time.Duration(*wait) * time.Millisecond}
				}
				c, s := newClient(t, pageOf(http.StatusServiceUnavailable, "Retry-After", value), created)
				suspend(c)(time.Until(table.Now))

				_, err := order(t.Context(), c, "cart-1")

				if diff := diffOf(want, s.waits()); diff != "" || (err == nil) != (wait != nil) {
					t.Errorf("err = %v, waits (-want +got):\n%s", err, diff)
				}
			})
		})
	}
}

func TestService_IsOneAtAllSpellingsOfItsAddress(t *testing.T) {
	owners := map[string]int{} // groups by key
	var shared MemoryStore
	for group, urls := range readCases(t).Services {
		for _, url := range urls {
			s := &service{answers: []answer{created}}
			c, err := New(Config{URL: url, Token: StaticToken(""), Keys: &shared, Transport: s})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := order(t.Context(), c, "cart-1"); err != nil {
				t.Fatal(err)
			}
			key := s.sent[0].key
			if owner, known := owners[key]; known != (url != urls[0]) || known && owner != group {
				t.Errorf("%s has the key %q, as group %d", url, key, owner)
			}
			owners[key] = group
		}
	}
}

// suspend returns a function that suspends the machine of a client: its wall clock goes on,
// and its timers do not.
func suspend(c *Client) func(time.Duration) {
	var asleep time.Duration
	c.now = func() time.Time { return time.Now().Add(asleep) }
	return func(d time.Duration) { asleep += d }
}

func (s *service) methods() []string {
	var methods []string
	for _, r := range s.sent {
		methods = append(methods, r.method)
	}
	return methods
}

// nextKey says whether the next call of the same name sends the same key as the first one.
func (s *service) nextKey(t *testing.T, c *Client) string {
	t.Helper()
	if _, err := order(t.Context(), c, "cart-1"); err != nil {
		t.Error(err)
	}
	if s.sent[0].key == s.sent[len(s.sent)-1].key {
		return "same"
	}
	return "new"
}
