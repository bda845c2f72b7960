package jobs

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/observe/tracing"
)

// errorLog logs failed jobs. River's own lines are below our level.
type errorLog struct{ log zerolog.Logger }

// HandleError logs the error and leaves the retry to River. Job arguments are IDs.
func (l errorLog) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	event := l.log.Error().Err(err).Str("job", job.Kind).RawJSON("args", job.EncodedArgs).Int("attempt", job.Attempt)
	if id := tracing.ID(tracing.WithParent(ctx, traceparentOf(job))); id != "" {
		event.Str("trace_id", id)
	}
	event.Msg("job failed")
	return nil
}

// HandlePanic is never called, because recoverPanic converts panics into errors.
func (errorLog) HandlePanic(context.Context, *rivertype.JobRow, any, string) *river.ErrorHandlerResult {
	return nil
}

// outage is how long River must report no error before the next one is news. While the
// database is away, each queue reports one every second.
const outage = 30 * time.Second

// riverLog forwards River's log lines. It renames the error field, and drops errors
// caused by shutdown and all but the first one of an outage.
type riverLog struct {
	slog.Handler
	stopping <-chan struct{}
	failed   *atomic.Int64 // the time of River's last error, in nanoseconds
}

// Handle implements [slog.Handler].
func (h riverLog) Handle(ctx context.Context, line slog.Record) error {
	renamed := slog.NewRecord(line.Time, line.Level, line.Message, line.PC)
	dropped := false
	line.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" || a.Key == zerolog.ErrorFieldName {
			a.Key = zerolog.ErrorFieldName
			now := line.Time.UnixNano()
			dropped = now-h.failed.Swap(now) < int64(outage) ||
				strings.HasSuffix(a.Value.String(), context.Canceled.Error()) && h.isStopping()
		}
		renamed.AddAttrs(a)
		return true
	})
	if dropped {
		return nil
	}
	return h.Handler.Handle(ctx, renamed)
}

func (h riverLog) isStopping() bool {
	select {
	case <-h.stopping:
		return true
	default:
		return false
	}
}

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
	_ = json.Unmarshal(job.Metadata, &metadata) // the metadata is an object and may lack it
	return metadata.Traceparent
}
