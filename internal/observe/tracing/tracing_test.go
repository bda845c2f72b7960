package tracing_test

import (
	"context"
	"errors"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/observe/tracing"
)

const (
	traceID     = "4bf92f3577b34da6a3ce929d0e0e4736"
	traceparent = "00-" + traceID + "-00f067aa0ba902b7-01"
)

func newTracer(sampler sdktrace.Sampler) (trace.Tracer, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder), sdktrace.WithSampler(sampler))
	return provider.Tracer(tracing.Name), recorder
}

func TestContinue_ContinuesWhatATraceparentNames(t *testing.T) {
	t.Parallel()
	for given, parent := range map[string]string{
		traceparent: "00f067aa0ba902b7",
		"":          "0000000000000000", "00-4bf9-00f0-01": "0000000000000000", traceparent + "-more": "0000000000000000",
	} {
		tracer, recorder := newTracer(sdktrace.AlwaysSample())
		ctx, span := tracing.Continue(t.Context(), tracer, given, "work", trace.SpanKindConsumer)
		tracing.End(span, nil)
		got := recorder.Ended()[0]
		if got.Parent().SpanID().String() != parent || (tracing.ID(ctx) == traceID) != (parent != "0000000000000000") {
			t.Errorf("%q: the span has the parent %s and the trace %s", given, got.Parent().SpanID(), tracing.ID(ctx))
		}
	}
}

func TestParent_LeadsBackToTheSpan(t *testing.T) {
	t.Parallel()
	tracer, _ := newTracer(sdktrace.AlwaysSample())
	ctx, span := tracing.Continue(t.Context(), tracer, "", "first", trace.SpanKindServer)
	there := trace.SpanContextFromContext(tracing.WithParent(t.Context(), tracing.Parent(ctx)))
	if there.SpanID() != span.SpanContext().SpanID() || there.TraceID() != span.SpanContext().TraceID() || !there.IsSampled() {
		t.Errorf("%s leads to %v, want %v", tracing.Parent(ctx), there, span.SpanContext())
	}
}

func TestStart_StartsChildrenOfRecordedSpansOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sampler sdktrace.Sampler
		spans   int
	}{"recorded": {sdktrace.AlwaysSample(), 2}, "not sampled": {sdktrace.NeverSample(), 0}} {
		tracer, recorder := newTracer(c.sampler)
		ctx, parent := tracing.Continue(t.Context(), tracer, "", "parent", trace.SpanKindServer)
		inner, child := tracing.Start(ctx, "child", trace.SpanKindClient)
		tracing.End(child, errors.New("hunter2"))
		tracing.End(parent, nil)
		ended := recorder.Ended()
		if len(ended) != c.spans || tracing.ID(inner) != tracing.ID(ctx) || tracing.ID(ctx) == "" {
			t.Fatalf("%s: %d spans, want %d", name, len(ended), c.spans)
		}
		if c.spans == 0 {
			continue
		}
		if got := ended[0]; got.Parent().SpanID() != parent.SpanContext().SpanID() || got.Status() != (sdktrace.Status{Code: codes.Error}) {
			t.Errorf("%s: the child has the parent %s and the status %v", name, got.Parent().SpanID(), got.Status())
		}
	}
}

// What is not traced pays nothing.
func TestStart_AllocatesNothingWithoutATrace(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	allocations := testing.AllocsPerRun(100, func() {
		in, span := tracing.Continue(ctx, nil, "", "request", trace.SpanKindServer)
		in, child := tracing.Start(in, "child", trace.SpanKindClient)
		if tracing.Parent(in) != "" || tracing.ID(tracing.WithParent(in, "")) != "" {
			t.Error("the context belongs to a trace")
		}
		tracing.End(child, nil)
		tracing.End(span, nil)
	})
	if allocations != 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
}
