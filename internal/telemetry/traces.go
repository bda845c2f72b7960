package telemetry

import (
	"context"
	"fmt"
	"net/url"
	"sync/atomic"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/tracing"
	"example.com/orders/internal/version"
)

// Traces sends the spans of the process to a collector. Nil sends nothing.
type Traces struct{ provider *sdktrace.TracerProvider }

// NewTraces returns traces that are sent to the collector at an endpoint, by OTLP over HTTP.
// It does not connect yet. Without an endpoint, it returns nil.
//
// The SDK reads the variables OTEL_… of the process: OTEL_TRACES_SAMPLER, such as
// parentbased_always_on or traceidratio, OTEL_TRACES_SAMPLER_ARG, OTEL_BSP_MAX_QUEUE_SIZE,
// OTEL_EXPORTER_OTLP_HEADERS and so on.
//
// Spans wait in a queue of bounded length, so that a collector that is slow or gone delays
// nothing: what does not fit is dropped.
func NewTraces(ctx context.Context, endpoint string, log zerolog.Logger) (*Traces, error) {
	if endpoint == "" {
		return nil, nil
	}
	address, err := url.JoinPath(endpoint, "v1", "traces")
	if err != nil {
		return nil, fmt.Errorf("address of the collector: %w", err)
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(address))
	if err != nil {
		return nil, fmt.Errorf("configure the export of traces: %w", err)
	}
	described, err := describeProcess(ctx)
	if err != nil {
		return nil, err
	}
	return &Traces{sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(&loggedExporter{SpanExporter: exporter, log: log}),
		sdktrace.WithResource(described),
	)}, nil
}

// describeProcess returns what all spans of this process have in common. OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES take precedence.
func describeProcess(ctx context.Context) (*resource.Resource, error) {
	described, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "orders"), attribute.String("service.version", version.Number)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return described, nil
}

// Tracer returns the tracer of the service, nil if nothing is traced.
func (t *Traces) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(tracing.Name)
}

// Close sends the spans that wait, until ctx ends.
func (t *Traces) Close(ctx context.Context) {
	if t != nil {
		_ = t.provider.Shutdown(ctx) // the exporter has logged it
	}
}

// SetDefaultLog makes log the destination of what OpenTelemetry reports by itself, for the
// whole process: variables that it cannot read.
func SetDefaultLog(log zerolog.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn().Err(err).Msg("tracing failed") }))
}

// loggedExporter writes one line when the collector begins to fail, and one when it answers
// again.
type loggedExporter struct {
	sdktrace.SpanExporter
	log     zerolog.Logger
	failing atomic.Bool
}

// ExportSpans implements [sdktrace.SpanExporter]. The SDK would log each error that it
// returned.
func (e *loggedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.logChange(e.SpanExporter.ExportSpans(ctx, spans))
	return nil
}

func (e *loggedExporter) logChange(err error) {
	switch failed := err != nil; {
	case failed && e.failing.CompareAndSwap(false, true):
		e.log.Warn().Err(err).Msg("trace export failed")
	case !failed && e.failing.CompareAndSwap(true, false):
		e.log.Info().Msg("trace export works again")
	}
}
