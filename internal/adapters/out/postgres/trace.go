package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/tracing"
)

// maxSummary bounds the names in a span.
const maxSummary = 255

// roundTrips makes a span of each round trip of what is traced: of a batch, or of a
// statement that is sent alone. It implements [pgx.QueryTracer] and [pgx.BatchTracer].
//
// The spans have the names of the statements, and never a parameter.
type roundTrips struct{}

// traced is the tracer of a pool whose round trips are traced.
type traced struct {
	roundTrips
	pgx.ConnectTracer
}

// untraced is that of a pool whose round trips are not.
type untraced struct{ pgx.ConnectTracer }

// TraceQueryStart implements [pgx.QueryTracer].
func (untraced) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (untraced) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceQueryStart implements [pgx.QueryTracer].
func (roundTrips) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return startRoundTrip(ctx, func() []string { return []string{data.SQL} })
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (roundTrips) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	tracing.End(trace.SpanFromContext(ctx), data.Err)
}

// TraceBatchStart implements [pgx.BatchTracer].
func (roundTrips) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	return startRoundTrip(ctx, func() []string {
		statements := make([]string, len(data.Batch.QueuedQueries))
		for i, q := range data.Batch.QueuedQueries {
			statements[i] = q.SQL
		}
		return statements
	})
}

// TraceBatchQuery implements [pgx.BatchTracer]. The statements of a batch have no spans.
func (roundTrips) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (roundTrips) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchEndData) {
	tracing.End(trace.SpanFromContext(ctx), data.Err)
}

// startRoundTrip starts the span of a round trip. Its statements are named only if it is
// recorded.
func startRoundTrip(ctx context.Context, statements func() []string) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx
	}
	names := namesOf(statements())
	ctx, span := tracing.Start(ctx, names, trace.SpanKindClient)
	span.SetAttributes(attribute.String("db.system.name", "postgresql"), attribute.String("db.query.summary", names))
	return ctx
}

// namesOf returns the names of statements. One that is repeated is named once.
func namesOf(statements []string) string {
	names := make([]string, len(statements))
	for i, sql := range statements {
		names[i] = nameOf(sql)
	}
	joined := strings.Join(slices.Compact(names), ", ")
	return joined[:min(len(joined), maxSummary)]
}

// groupSpan starts the span of a group, below that of the first member whose trace is
// recorded, with links to the other members. Each member has a link to it: a reader of any
// of these traces finds the round trips.
func groupSpan(members []*member) (context.Context, trace.Span) {
	first := slices.IndexFunc(members, func(m *member) bool { return m.span.IsRecording() })
	if first < 0 {
		return context.Background(), trace.SpanFromContext(context.Background())
	}
	parent := trace.ContextWithSpan(context.Background(), members[first].span)
	ctx, span := tracing.Start(parent, "command group", trace.SpanKindInternal)
	span.SetAttributes(attribute.Int("orders.group.size", len(members)))
	for _, m := range members {
		m.span.AddLink(trace.Link{SpanContext: span.SpanContext()})
		if m != members[first] {
			span.AddLink(trace.Link{SpanContext: m.span.SpanContext()})
		}
	}
	return ctx, span
}

// nameOf returns the name of a generated query, and the first word of any other statement.
func nameOf(sql string) string {
	if named, ok := strings.CutPrefix(sql, "-- name: "); ok {
		name, _, _ := strings.Cut(named, " ")
		return name
	}
	word, _, _ := strings.Cut(strings.TrimSpace(sql), " ")
	return strings.ToLower(word)
}
