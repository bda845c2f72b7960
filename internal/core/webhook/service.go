package webhook

import (
	"slices"
	"strconv"

	"example.com/orders/internal/core"
)

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
		if !s.publishes(pattern) {
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

// publishes reports whether a pattern matches at least one event type.
func (s *Service) publishes(pattern string) bool {
	return slices.ContainsFunc(s.EventTypes, func(t core.EventType) bool { return slices.Contains(PatternsOf(t), pattern) })
}
