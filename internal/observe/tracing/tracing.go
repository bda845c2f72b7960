// Package tracing starts spans, and propagates traces across rows, jobs and messages.
// It uses the OpenTelemetry API and no exporter. It is a no-op if tracing is off.
//
// Spans have no error text, because it is not checked for secrets. The log has it, with
// the trace ID.
package tracing

import (
	"context"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Name is the service's tracer name.
const Name = "example.com/orders"

// Header propagates traces in messages and requests (W3C Trace Context). The companion
// tracestate is ignored, because callers can write anything there.
const Header = "traceparent"

// Start starts a child of ctx's span, with the same tracer. If ctx has no recording
// span, it returns ctx and a no-op span.
func Start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, parent
	}
	return parent.TracerProvider().Tracer(Name).Start(ctx, name, trace.WithSpanKind(kind))
}

// Continue starts a child of the span named by a traceparent, or a new trace if that
// names no trace. If tracer is nil, it returns ctx and a no-op span.
func Continue(
	ctx context.Context, tracer trace.Tracer, traceparent, name string, kind trace.SpanKind,
) (context.Context, trace.Span) {
	if tracer == nil {
		return ctx, trace.SpanFromContext(ctx)
	}
	return tracer.Start(WithParent(ctx, traceparent), name, trace.WithSpanKind(kind))
}

// End ends a span, and marks it failed if err is not nil.
func End(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "")
	}
	span.End()
}

// Parent returns the traceparent for ctx's span, or "" if ctx has no span.
func Parent(ctx context.Context) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return ""
	}
	header := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, header)
	return header[Header]
}

// WithParent returns ctx with the span named by a traceparent as parent. It ignores an
// invalid one.
func WithParent(ctx context.Context, traceparent string) context.Context {
	if traceparent == "" {
		return ctx
	}
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{Header: traceparent})
}

// ID returns the trace ID in ctx, or "".
func ID(ctx context.Context) string {
	span := trace.SpanContextFromContext(ctx)
	if !span.HasTraceID() {
		return ""
	}
	return span.TraceID().String()
}
