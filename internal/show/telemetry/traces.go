package telemetry

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const (
	serviceName = "lockstep"

	// flushLimit is how long the process may wait for a collector at its end.
	flushLimit = 5 * time.Second
)

// Tracing exports spans.
type Tracing struct {
	Provider trace.TracerProvider // for spans of this process
	Recorded *RecordedSpans       // for spans from records; nil: spans are not exported
}

// Begin returns the W3C traceparent of a span that will be handed over to RecordedSpans after its
// end. If spans are not exported, it returns "". It decides whether the span is sampled.
func (t Tracing) Begin(ctx context.Context, name string) string {
	if t.Recorded == nil {
		return ""
	}
	ctx, _ = t.Provider.Tracer(serviceName).Start(ctx, name, trace.WithNewRoot()) // never ends here, so this span is not exported
	return Traceparent(ctx)
}

// noTracing returns a Tracing that exports nothing.
func noTracing() (Tracing, func(context.Context) error) {
	return Tracing{Provider: noop.NewTracerProvider()}, func(context.Context) error { return nil }
}

// StartTracing returns a Tracing, and a function that exports pending spans, waits at most five
// seconds for that, and ends tracing.
//
// Spans are exported if OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT or
// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set and OTEL_SDK_DISABLED is not true. Otherwise the
// provider does nothing and costs nothing. All standard OTEL_* variables have their effect,
// except OTEL_PROPAGATORS. If no exporter accepts the value of a variable, StartTracing returns
// an error. The service name is lockstep unless OTEL_SERVICE_NAME is set.
//
// StartTracing does not connect before the first export, so it does not fail if a collector is
// unreachable. Failed exports are counted. The first failure of a series, and the first success
// after it, are logged. StartTracing sets the W3C propagator and the provider for the entire
// process.
func StartTracing(ctx context.Context, version string, log logrus.FieldLogger, m *Metrics) (Tracing, func(context.Context) error, error) {
	otel.SetTextMapPropagator(propagation.TraceContext{})
	none, nothing := noTracing()
	if !tracingWanted() {
		return none, nothing, nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return none, nil, fmt.Errorf("set up the exporter for traces (OTEL_TRACES_EXPORTER=%q: want otlp, console or none; OTEL_EXPORTER_OTLP_PROTOCOL=%q: want http/protobuf or grpc): %w",
			os.Getenv("OTEL_TRACES_EXPORTER"), os.Getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), err)
	}
	if autoexport.IsNoneSpanExporter(exporter) {
		return none, nothing, nil
	}
	about, err := describeService(ctx, version)
	if err != nil {
		return none, nil, err
	}
	tracing, flush := NewTracing(exporter, about, m.process.traceFailures.Inc, log)
	otel.SetTracerProvider(tracing.Provider)
	return tracing, flush, nil
}

// NewTracing returns a Tracing that sends spans to an exporter, in batches. It calls failed for
// each failed export.
func NewTracing(exporter sdktrace.SpanExporter, about *resource.Resource, failed func(), log logrus.FieldLogger) (Tracing, func(context.Context) error) {
	counted := &countedExporter{SpanExporter: exporter, failed: failed, log: log}
	batches := sdktrace.NewBatchSpanProcessor(counted)
	counted.recorded = newRecordedSpans(batches, about)
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(batches), sdktrace.WithResource(about))
	return Tracing{Provider: provider, Recorded: counted.recorded}, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, flushLimit)
		defer cancel()
		if err := errors.Join(provider.Shutdown(ctx), counted.recorded.provider.Shutdown(ctx)); err != nil {
			return fmt.Errorf("flush traces: %w", err)
		}
		return nil
	}
}

// tracingWanted reports whether spans are exported. autoexport would export by default.
func tracingWanted() bool {
	if strings.EqualFold(os.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	for _, name := range []string{"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// describeService returns the resource that spans come from. The environment is read last, so
// that it takes precedence.
func describeService(ctx context.Context, version string) (*resource.Resource, error) {
	about, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithHost(),
		resource.WithAttributes(attribute.String("service.name", serviceName), attribute.String("service.version", version)),
		resource.WithFromEnv(),
	)
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("describe the service for traces: %w", err)
	}
	return about, nil
}

// countedExporter counts and logs failures of an exporter.
type countedExporter struct {
	sdktrace.SpanExporter
	failed   func()
	recorded *RecordedSpans // is notified of exported spans
	log      logrus.FieldLogger
	away     atomic.Bool
}

// ExportSpans never returns an error, because the SDK could not handle it better.
func (e *countedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err != nil:
		e.failed()
		if !e.away.Swap(true) {
			e.log.WithError(err).WithField("spans", len(spans)).Warn("export of traces fails")
		}
	case e.away.Swap(false):
		e.log.Info("export of traces works again")
	}
	if err == nil {
		e.recorded.took(spans)
	}
	return nil
}
