package telemetry

import (
	"context"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Traceparent returns the W3C form of the span in ctx, or "" if there is none.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// SpanOf parses a result of Traceparent. For any other text, it returns an invalid span context.
func SpanOf(traceparent string) trace.SpanContext {
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 || parts[0] != "00" || len(parts[3]) != 2 {
		return trace.SpanContext{}
	}
	traceID, noTrace := trace.TraceIDFromHex(parts[1])
	spanID, noSpan := trace.SpanIDFromHex(parts[2])
	flags, noFlags := strconv.ParseUint(parts[3], 16, 8)
	if noTrace != nil || noSpan != nil || noFlags != nil {
		return trace.SpanContext{}
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: traceID, SpanID: spanID, TraceFlags: trace.TraceFlags(flags) & trace.FlagsSampled})
}

// Link links the span in ctx to another one, if that is valid. The attributes describe their
// relation.
func Link(ctx context.Context, traceparent string, about ...attribute.KeyValue) {
	span := trace.SpanFromContext(ctx)
	if !span.IsRecording() {
		return
	}
	if other := SpanOf(traceparent); other.IsValid() {
		span.AddLink(trace.Link{SpanContext: other, Attributes: about})
	}
}
