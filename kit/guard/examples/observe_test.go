package main

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	oteltrace "go.opentelemetry.io/otel/trace"

	"example.com/orders/kit/guard"
	"example.com/orders/kit/guard/httpguard"
)

// A counter by operation and outcome. Name the operations of routes without a pattern
// with httpguard.Handle: else they contain the path.
func Example_prometheus() {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "guarded_requests_total", Help: "Guarded requests by outcome.",
	}, []string{"operation", "code"})
	once := httpguard.New(httpguard.Config{
		Store: runs{}, Scope: alice,
		Done: func(_ *http.Request, o httpguard.Outcome) {
			requests.WithLabelValues(o.Operation, o.Code).Inc()
		},
	})
	transferOnce(context.Background(), once)
	fmt.Println(testutil.ToFloat64(requests.WithLabelValues("transfer", "done")))
	// Output: 1
}

// The span of the request learns how it ended.
func Example_openTelemetry() {
	once := httpguard.New(httpguard.Config{
		Store: runs{}, Scope: alice,
		Done: func(r *http.Request, o httpguard.Outcome) {
			span := oteltrace.SpanFromContext(r.Context())
			span.SetAttributes(attribute.String("guard.operation", o.Operation), attribute.String("guard.code", o.Code))
			if o.Err != nil {
				span.SetStatus(codes.Error, o.Code)
			}
		},
	})
	exporter := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(exporter))
	ctx, span := provider.Tracer("example").Start(context.Background(), "POST /transfers")
	transferOnce(ctx, once)
	span.End()
	for _, s := range exporter.GetSpans() {
		for _, a := range s.Attributes {
			fmt.Println(a.Key, a.Value.AsString())
		}
	}
	// Output:
	// guard.operation transfer
	// guard.code done
}

// runs is a store that runs every command, for the examples.
type runs struct{}

func (runs) Execute(ctx context.Context, c guard.Claim, run guard.Command) (guard.Record, bool, error) {
	result, err := run(ctx)
	return result.Record(c, time.Now()), false, err
}

func alice(*http.Request) guard.Scope { return "alice" }

// transferOnce sends a request to a guarded route.
func transferOnce(ctx context.Context, once *httpguard.Guard) {
	decode := func(*http.Request) (struct{}, error) { return struct{}{}, nil }
	execute := func(context.Context, struct{}) (httpguard.Reply, error) {
		return httpguard.Reply{Status: http.StatusNoContent}, nil
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/transfers", http.NoBody)
	r.Header.Set(httpguard.KeyHeader, "first-press")
	httpguard.Handle(once, "transfer", decode, execute).ServeHTTP(httptest.NewRecorder(), r)
}
