package jobs

import (
	"context"
	"encoding/json"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/observe/tracing"
)

// continueTraces adds a span for each attempt to the trace of the request that inserted
// the job. Scheduled jobs have no trace.
func continueTraces(tracer trace.Tracer) rivertype.Middleware {
	return river.WorkerMiddlewareFunc(func(ctx context.Context, job *rivertype.JobRow, work func(context.Context) error) error {
		parent := traceparentOf(job)
		if tracer == nil || parent == "" {
			return work(ctx)
		}
		ctx, span := tracing.Continue(ctx, tracer, parent, "job "+job.Kind, trace.SpanKindConsumer)
		span.SetAttributes(attribute.Int64("orders.job.id", job.ID), attribute.Int("orders.job.attempt", job.Attempt))
		err := work(ctx)
		tracing.End(span, err)
		return err
	})
}

// traceparentOf returns the inserting request's traceparent, or "".
func traceparentOf(job *rivertype.JobRow) string {
	var metadata struct {
		Traceparent string `json:"traceparent"`
	}
	_ = json.Unmarshal(job.Metadata, &metadata) // River's metadata is an object and may lack it
	return metadata.Traceparent
}
