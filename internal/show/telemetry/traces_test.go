package telemetry_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"

	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// collector is an OTLP endpoint that forwards what it receives to a channel.
func collector(t *testing.T) (string, <-chan []byte) {
	t.Helper()
	got := make(chan []byte, 16)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/v1/traces" {
			got <- body
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

// without clears environment variables that the machine may have set.
func without(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"OTEL_SDK_DISABLED", "OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_SERVICE_NAME", "OTEL_RESOURCE_ATTRIBUTES",
	} {
		t.Setenv(name, "")
	}
}

func TestTracingIsOffByDefault(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"no variables":               {},
		"the exporter is none":       {"OTEL_TRACES_EXPORTER": "none"},
		"the SDK is turned off":      {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "True"},
		"only a service name is set": {"OTEL_SERVICE_NAME": "x"},
	} {
		t.Run(name, func(t *testing.T) {
			without(t)
			for k, v := range env {
				t.Setenv(k, v)
			}
			log, _ := newLogger(t, "logfmt", "info")
			tracing, shutdown, err := telemetry.StartTracing(t.Context(), "1", log, telemetry.NewMetrics("1"))
			if err != nil {
				t.Fatal(err)
			}
			if _, span := tracing.Provider.Tracer("t").Start(t.Context(), "s"); span.IsRecording() {
				t.Error("a span is recorded")
			}
			if err := shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSpansReachTheCollectorUnderTheRightName(t *testing.T) {
	for name, tc := range map[string]struct{ set, want string }{
		"lockstep by default":    {"", "lockstep"},
		"OTEL_SERVICE_NAME wins": {"the-roller", "the-roller"},
	} {
		t.Run(name, func(t *testing.T) {
			without(t)
			url, got := collector(t)
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
			t.Setenv("OTEL_SERVICE_NAME", tc.set)
			log, _ := newLogger(t, "logfmt", "info")
			tracing, shutdown, err := telemetry.StartTracing(t.Context(), "v1.2.3", log, telemetry.NewMetrics("1"))
			if err != nil {
				t.Fatal(err)
			}
			ctx, span := tracing.Provider.Tracer("t").Start(t.Context(), "a-span-of-ours")
			carrier := propagation.MapCarrier{}
			otel.GetTextMapPropagator().Inject(ctx, carrier)
			if !strings.Contains(carrier["traceparent"], span.SpanContext().TraceID().String()) {
				t.Errorf("traceparent %q does not name the trace", carrier["traceparent"])
			}
			span.End()
			if err := shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			select {
			case body := <-got:
				for _, text := range []string{"a-span-of-ours", "service.name", tc.want, "v1.2.3"} {
					if !bytes.Contains(body, []byte(text)) {
						t.Errorf("the export does not mention %q", text)
					}
				}
			case <-time.After(5 * time.Second):
				t.Fatal("no span was exported")
			}
		})
	}
}

func TestAnUnreachableCollectorCostsACounter(t *testing.T) {
	without(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "50")
	log, out := newLogger(t, "logfmt", "info")
	metrics := telemetry.NewMetrics("1")
	tracing, shutdown, err := telemetry.StartTracing(t.Context(), "1", log, metrics)
	if err != nil {
		t.Fatalf("an unreachable collector is no reason not to start: %v", err)
	}
	for range 3 {
		_, span := tracing.Provider.Tracer("t").Start(t.Context(), "s")
		span.End()
		time.Sleep(100 * time.Millisecond)
	}
	began := time.Now()
	if err := shutdown(t.Context()); err != nil {
		t.Errorf("shutdown: %v", err)
	}
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("shutdown took %v", took)
	}
	if got := scrape(t, metrics)["lockstep_trace_export_failures_total"]; got == "" || got == "0" {
		t.Errorf("lockstep_trace_export_failures_total is %q, want at least 1", got)
	}
	if got := strings.Count(out.String(), "export of traces fails"); got != 1 {
		t.Errorf("logged %d times, want once:\n%s", got, out)
	}
}

func TestAnUnknownExporterIsAnError(t *testing.T) {
	without(t)
	t.Setenv("OTEL_TRACES_EXPORTER", "pigeon")
	log, _ := newLogger(t, "logfmt", "info")
	_, _, err := telemetry.StartTracing(t.Context(), "1", log, telemetry.NewMetrics("1"))
	if err == nil || !strings.Contains(err.Error(), "pigeon") {
		t.Errorf("got %v, want an error that names the exporter", err)
	}
}
