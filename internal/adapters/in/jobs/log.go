package jobs

import (
	"context"
	"log/slog"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
	"github.com/rs/zerolog"

	"example.com/orders/internal/tracing"
)

// errorLog logs jobs that failed. River does so too, but below the level that we log.
type errorLog struct{ log zerolog.Logger }

// HandleError logs the error and leaves the job's next attempt to River. The arguments of a
// job are IDs.
func (l errorLog) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	event := l.log.Error().Err(err).Str("job", job.Kind).RawJSON("args", job.EncodedArgs).Int("attempt", job.Attempt)
	if id := tracing.ID(tracing.WithParent(ctx, traceparentOf(job))); id != "" {
		event.Str("trace_id", id)
	}
	event.Msg("job failed")
	return nil
}

// HandlePanic is never called: recoverPanic has turned each panic into an error.
func (errorLog) HandlePanic(context.Context, *rivertype.JobRow, any, string) *river.ErrorHandlerResult {
	return nil
}

// errorNames names the errors in River's lines as ours do.
type errorNames struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h errorNames) Handle(ctx context.Context, line slog.Record) error {
	renamed := slog.NewRecord(line.Time, line.Level, line.Message, line.PC)
	line.Attrs(func(a slog.Attr) bool {
		if a.Key == "err" {
			a.Key = zerolog.ErrorFieldName
		}
		renamed.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, renamed)
}

// WithAttrs implements [slog.Handler].
func (h errorNames) WithAttrs(attrs []slog.Attr) slog.Handler {
	return errorNames{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h errorNames) WithGroup(name string) slog.Handler { return errorNames{h.Handler.WithGroup(name)} }
