package pgtx

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/observe/tracing"
)

// maxSummary limits the length for db.query.summary.
const maxSummary = 255

// tracer starts a span per round trip in a recorded trace: a batch or a single
// statement. It implements [pgx.QueryTracer] and [pgx.BatchTracer].
//
// Spans are named after their statements and never contain parameters.
type tracer struct{ pgx.ConnectTracer }

// TraceQueryStart implements [pgx.QueryTracer].
func (tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return startRoundTrip(ctx, func() []string { return []string{data.SQL} })
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	tracing.End(trace.SpanFromContext(ctx), data.Err)
}

// TraceBatchStart implements [pgx.BatchTracer].
func (tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	return startRoundTrip(ctx, func() []string {
		statements := make([]string, len(data.Batch.QueuedQueries))
		for i, q := range data.Batch.QueuedQueries {
			statements[i] = q.SQL
		}
		return statements
	})
}

// TraceBatchQuery implements [pgx.BatchTracer]. Statements within a batch have no
// spans.
func (tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (tracer) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	tracing.End(trace.SpanFromContext(ctx), data.Err)
}

// startRoundTrip starts a round trip span if its parent is recorded.
func startRoundTrip(ctx context.Context, statements func() []string) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	names := namesOf(statements())
	ctx, span := tracing.Start(ctx, names, trace.SpanKindClient)
	span.SetAttributes(attribute.String("db.system.name", "postgresql"), attribute.String("db.query.summary", names))
	return ctx
}

// namesOf returns the statements' names without consecutive duplicates.
func namesOf(statements []string) string {
	names := make([]string, len(statements))
	for i, sql := range statements {
		names[i] = nameOf(sql)
	}
	joined := strings.Join(slices.Compact(names), ", ")
	return joined[:min(len(joined), maxSummary)]
}

// nameOf returns a generated query's name, or else the statement's first word.
func nameOf(sql string) string {
	if named, ok := strings.CutPrefix(sql, "-- name: "); ok {
		name, _, _ := strings.Cut(named, " ")
		return name
	}
	word, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
	return strings.ToLower(word)
}
