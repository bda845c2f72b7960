package webhook

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"example.com/orders/internal/core"
)

// maxPerOwner bounds the endpoints that an owner has: each event is stored for each one.
const maxPerOwner = 10

// Service runs the webhook use cases.
type Service struct {
	Store Store
	// EventTypes are all types that the service publishes.
	EventTypes []core.EventType
	// CheckURL returns why no request may go to a URL, or nil.
	CheckURL func(url string) error
}

// check refuses a URL and patterns with which an endpoint would never receive an event. Nil
// ones stay as they are.
func (s *Service) check(url *string, patterns []string) error {
	var fields []core.FieldFault
	if url != nil {
		if err := s.CheckURL(*url); err != nil {
			fields = append(fields, core.FieldFault{Pointer: "/url", Detail: err.Error()})
		}
	}
	for i, pattern := range patterns {
		matches := func(t core.EventType) bool { return slices.Contains(PatternsOf(t), pattern) }
		if !slices.ContainsFunc(s.EventTypes, matches) {
			fields = append(fields, core.FieldFault{
				Pointer: "/event_types/" + strconv.Itoa(i), Detail: "matches no event type",
			})
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return core.InvalidFields(fields)
}

// takeURL refuses a URL that the owner has already, and too many endpoints.
func (tx Tx) takeURL(ctx context.Context, e *Endpoint) error {
	existing, err := tx.Endpoints.LockOwner(ctx, e.Owner)
	if err != nil {
		return err
	}
	for _, other := range existing {
		if other.URL == e.URL && other.ID != e.ID {
			return core.Refuse(core.CodeWebhookEndpointExists, fmt.Sprintf("webhook endpoint %d has this URL", other.ID))
		}
	}
	if e.ID == 0 && len(existing) >= maxPerOwner {
		return core.InvalidField("", fmt.Sprintf("you have %d webhook endpoints; delete one first", len(existing)))
	}
	return nil
}
