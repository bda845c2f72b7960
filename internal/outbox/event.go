package outbox

import (
	"encoding/json"
	"fmt"
	"time"
)

// ContentType is the media type for [Event.CloudEvent].
const ContentType = "application/cloudevents+json"

// Event is an outbox event.
type Event struct {
	// ID is a UUID. It identifies the event to every consumer: no other database repeats
	// it, not even one restored to a moment before the event.
	ID string
	// Source names the database incarnation that wrote the event. A republished event
	// keeps it.
	Source string
	Type   string
	// Aggregate names the changed aggregate, "order/17".
	Aggregate string
	// Version is Data's schema version.
	Version int
	// At is the creation time.
	At time.Time
	// Data is a JSON object.
	Data []byte
	// Traceparent is the trace context when the event was written (W3C), or "".
	Traceparent string
}

// CloudEvent returns the event as consumers of every transport receive it: a CloudEvents
// 1.0 envelope in structured mode; see api/asyncapi.yaml.
func (e Event) CloudEvent() ([]byte, error) {
	body, err := json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: e.ID, Source: e.Source, Type: e.Type, Subject: e.Aggregate, Time: e.At,
		DataContentType: "application/json", SchemaVersion: e.Version, Data: e.Data,
	})
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	return body, nil
}

type cloudEvent struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	SchemaVersion   int             `json:"schemaversion"` // an extension
	Data            json.RawMessage `json:"data"`
}
