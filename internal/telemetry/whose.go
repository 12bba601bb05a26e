package telemetry

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Of is the group whose span it is. Two Leases may name the same trace, as somebody has
// copied it, and nothing is taken for the other one's.
type Of struct{ Namespace, Group string }

type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// Ref finds a span that was handed over.
type Ref struct {
	Of
	ids
}

// In returns what finds the span of a context.
func (o Of) In(c trace.SpanContext) Ref { return Ref{o, ids{c.TraceID(), c.SpanID()}} }

const groupAttribute = attribute.Key("lockstep.group")

func (o Of) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{semconv.K8SNamespaceName(o.Namespace), groupAttribute.String(o.Group)}
}

func ofAttributes(all []attribute.KeyValue) Of {
	var o Of
	for _, a := range all {
		switch a.Key {
		case semconv.K8SNamespaceNameKey:
			o.Namespace = a.Value.AsString()
		case groupAttribute:
			o.Group = a.Value.AsString()
		}
	}
	return o
}

// shownAs tells whether this may be what the attributes of a span show, which
// OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT cuts.
func (o Of) shownAs(shown Of) bool {
	return strings.HasPrefix(o.Namespace, shown.Namespace) && strings.HasPrefix(o.Group, shown.Group)
}
