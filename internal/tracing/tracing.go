// Package tracing starts spans, and carries traces through what is no call: a row, a job, a
// message. It knows the API of OpenTelemetry and no exporter. Where nothing is traced, it
// does nothing.
//
// A span has no text of an error, because nobody has checked that for secrets: the log has
// it, beside the ID of the trace.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Name is the name of the tracer of this service.
const Name = "example.com/orders"

// Header is the name of the header in which messages and requests carry a trace: that of
// W3C Trace Context. Its companion tracestate is ignored: anybody can write anything there.
const Header = "traceparent"

// Start starts a span below that of ctx, with the tracer of that. If ctx has no span that is
// recorded, it returns ctx and a span that does nothing.
func Start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, parent
	}
	return parent.TracerProvider().Tracer(Name).Start(ctx, name, trace.WithSpanKind(kind))
}

// Continue starts a span below the parent that a traceparent names, or a trace of its own if
// it names none. Without a tracer, it returns ctx and a span that does nothing.
func Continue(
	ctx context.Context, tracer trace.Tracer, traceparent, name string, kind trace.SpanKind,
) (context.Context, trace.Span) {
	if tracer == nil {
		return ctx, trace.SpanFromContext(ctx)
	}
	return tracer.Start(WithParent(ctx, traceparent), name, trace.WithSpanKind(kind))
}

// End ends a span. It marks the span of what has failed.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// Parent returns the traceparent of the span of ctx, or "" if it has none.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	return header[Header]
}

// WithParent returns ctx with the parent that a traceparent names. It ignores what is no
// traceparent.
func WithParent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{Header: traceparent})
}

// ID returns the ID of the trace that ctx belongs to, or "" if it belongs to none.
func ID(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.HasTraceID() {
		return ""
	}
	return span.TraceID().String()
}
