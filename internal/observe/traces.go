// Package observe exports traces. The packages below it hold metrics, spans, recovered
// panics and the build version.
package observe

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"example.com/orders/internal/observe/tracing"
	"example.com/orders/internal/observe/version"
)

// Traces sends spans to a collector. Nil sends no span.
type Traces struct{ provider *sdktrace.TracerProvider }

// NewTraces returns traces for the collector at an endpoint, by OTLP over HTTP, or nil
// if there is no endpoint. It does not connect yet.
//
// The SDK reads the OTEL_… variables, such as OTEL_TRACES_SAMPLER,
// OTEL_TRACES_SAMPLER_ARG, OTEL_BSP_MAX_QUEUE_SIZE and OTEL_EXPORTER_OTLP_HEADERS.
//
// Spans wait in a bounded queue and are dropped when it is full, so that a slow or
// missing collector delays no request.
func NewTraces(ctx context.Context, endpoint string, log zerolog.Logger) (*Traces, error) {
	if endpoint == "" {
		if os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" {
			log.Warn().Msg("nothing is traced: OTEL_EXPORTER_OTLP_ENDPOINT is set, and ORDERS_OTLP_ENDPOINT is not")
		}
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

// describeProcess returns the attributes common to all spans. OTEL_SERVICE_NAME and
// OTEL_RESOURCE_ATTRIBUTES take precedence.
func describeProcess(ctx context.Context) (*resource.Resource, error) {
	described, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithService(), // service.instance.id
		resource.WithAttributes(attribute.String("service.name", "orders"), attribute.String("service.version", version.Number)),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("read OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return described, nil
}

// Tracer returns the tracer, nil if tracing is off.
func (t *Traces) Tracer() trace.Tracer {
	if t == nil {
		return nil
	}
	return t.provider.Tracer(tracing.Name)
}

// Close sends the queued spans until ctx ends.
func (t *Traces) Close(ctx context.Context) {
	if t != nil {
		_ = t.provider.Shutdown(ctx) // the exporter has logged it
	}
}

// SetDefaultLog sends OpenTelemetry errors, such as unreadable variables, to log for
// the whole process.
func SetDefaultLog(log zerolog.Logger) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn().Err(err).Msg("tracing failed") }))
}

// loggedExporter logs when the collector starts to fail, and when it recovers.
type loggedExporter struct {
	sdktrace.SpanExporter
	log     zerolog.Logger
	failing atomic.Bool
}

// ExportSpans implements [sdktrace.SpanExporter]. It returns no error, because the SDK
// would log each one.
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
