package step

import (
	"context"
	"errors"
	"strings"
	"time"

	"example.com/orders/internal/core"
	"example.com/orders/internal/core/order"
	"example.com/orders/internal/core/payment"
	"example.com/orders/internal/core/webhook"
	"example.com/orders/internal/test/commands"
	"example.com/orders/kit/guard"
)

// service is the use cases behind the guard, on PostgreSQL or in memory.
type service struct {
	commands.Service
	provider *provider
	guard    guard.Guard
	keys     guard.LookupStore
	webhooks *webhook.Service
	// publish is a turn of the relay, deliver one of the courier, and late reports whether a
	// command that runs now has its response committed. They are nil in memory.
	publish func(ctx context.Context) error
	deliver func(lost time.Duration)
	late    func(id guard.ID) bool
}

func newService(at *provider, orders order.Store, payments payment.Store, webhooks webhook.Store, keys guard.LookupStore) *service {
	return &service{
		Service: commands.NewService(orders, payments, at), provider: at,
		// Without Wait, a duplicate learns at once that its key is in progress. Its retry is
		// a step.
		guard: guard.Guard{Store: keys, Timeout: 25 * time.Second},
		keys:  keys,
		webhooks: &webhook.Service{
			Store: webhooks, EventTypes: order.EventTypes, CheckURL: func(string) error { return nil },
		},
	}
}

// The people. The stranger owns nothing.
var (
	ann      = commands.Customer("ann")
	bob      = commands.Customer("bob")
	stranger = core.Actor{Subject: "eve", Roles: []core.Role{core.Customer, core.Seller}}
	seller   = commands.Seller
	bank     = commands.Bank
	admin    = commands.Admin
)

// names maps the orders that commands are about to their ids, which differ in each store.
type names map[string]int64

// command is a request. One with a key is guarded.
type command struct {
	name string
	by   core.Actor
	key  string
	// order is the id of an order that the command has created, for the reference.
	order int64
	// run calls the use case, and returns the outcome without ids and times.
	run func(ctx context.Context, s *service, of names, c *command) (string, error)
}

// perform sends a command once. A refusal is an outcome; an error decides nothing.
func (c *command) perform(ctx context.Context, s *service, of names) (outcome string, err error) {
	if c.key == "" {
		return asOutcome(c.run(ctx, s, of, c))
	}
	request := guard.Request{
		ID:        c.id(),
		Operation: c.operation(), Content: guard.Content{Method: "POST", Segments: []string{c.name}},
	}
	late := false
	rec, _, err := s.guard.Do(ctx, request, func(ctx context.Context) (guard.Result, error) {
		late = late || s.late != nil && s.late(request.ID)
		text, err := c.run(ctx, s, of, c)
		outcome, failure := asOutcome(text, err)
		if failure != nil {
			return guard.Result{}, failure
		}
		status := 201
		if err != nil {
			status = 409
		}
		response := guard.Response{Status: status, ContentType: "text/plain", Body: []byte(outcome)}
		return guard.Result{Response: response, Refused: err != nil, TTL: time.Hour}, nil
	})
	if err == nil && late { // with an error, its transaction may have been gone before it began
		err = errLate
	}
	return string(rec.Body), err
}

var errLate = errors.New("the command ran although its response was stored")

func (c *command) id() guard.ID {
	return guard.ID{Scope: guard.NewScope("issuer", c.by.Subject), Key: c.key}
}

// operation is the first word of the name; it is the operation id of the contract.
func (c *command) operation() string { name, _, _ := strings.Cut(c.name, " "); return name }

// guarded reports whether the command needs a key.
func (c *command) guarded() bool {
	switch c.operation() {
	case "createOrder", "confirmPayment", "refundPayment", "cancelOrder", "creditBalance", "chargeBalance", "adjustStock", "reserveInventory":
		return true
	}
	return false
}

func (c *command) String() string { return c.by.Subject + ": " + c.name }

func asOutcome(text string, err error) (string, error) {
	if fault, ok := errors.AsType[*core.Fault](err); ok {
		return string(fault.Code), nil
	}
	return text, err
}
