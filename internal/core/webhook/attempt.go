// Package webhook carries events to endpoints that sellers and administrators choose.
package webhook

import (
	"context"
	"time"
)

// Sender carries attempts to endpoints.
type Sender interface {
	// Send makes one attempt. It returns within 15 s.
	Send(ctx context.Context, a Attempt) Outcome
}

// Attempt is one HTTP request for a delivery.
type Attempt struct {
	DeliveryID int64
	// Number counts the attempts, from 1.
	Number int
	URL    string
	// Secrets sign the request: the current one, then the previous one while receivers
	// change to the current one.
	Secrets []string
	EventID string
	// Body is the CloudEvent, the same bytes in each attempt.
	Body string
}

// Outcome is how an attempt ended.
type Outcome struct {
	// Status is the response status, or 0 if no response arrived.
	Status int
	// Start begins the response body: valid UTF-8, at most 500 characters.
	Start string
	// RetryAfter is how long the receiver asks to wait, or 0.
	RetryAfter time.Duration
	// Failure is empty if the receiver accepted the event.
	Failure Failure
}

// Failure names why an attempt failed. Clients branch on it.
type Failure string

// The failures.
const (
	FailedTimeout    Failure = "timeout"
	FailedAddress    Failure = "refused_address"
	FailedConnection Failure = "connection"
	FailedStatus     Failure = "status"
)
