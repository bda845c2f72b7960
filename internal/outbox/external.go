package outbox

import (
	"context"

	"github.com/google/uuid"
)

// External is the [Publisher] of an outbox that another program publishes, such as
// Debezium from the WAL. It acknowledges each event, so that the relay marks it as
// published and clean-up deletes it in time.
type External struct{}

// Publish implements [Publisher].
func (External) Publish(_ context.Context, events []Event) (acked []uuid.UUID, err error) {
	for _, e := range events {
		acked = append(acked, e.ID)
	}
	return acked, nil
}
