package telemetry

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Owner is the group whose span it is. Two Leases may name the same trace, as somebody has
// copied it, and nothing is taken for the other one's.
type Owner struct{ Namespace, Group string }

type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// Ref finds a span that was handed over.
type Ref struct {
	Owner
	ids
}

// In returns what finds the span of a context.
func (o Owner) In(c trace.SpanContext) Ref { return Ref{o, ids{c.TraceID(), c.SpanID()}} }

const groupAttribute = attribute.Key("lockstep.group")

func (o Owner) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{semconv.K8SNamespaceName(o.Namespace), groupAttribute.String(o.Group)}
}

func ofAttributes(all []attribute.KeyValue) Owner {
	var o Owner
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

// shownAs reports whether this may be what the attributes of a span show, which
// OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT cuts.
func (o Owner) shownAs(shown Owner) bool {
	return strings.HasPrefix(o.Namespace, shown.Namespace) && strings.HasPrefix(o.Group, shown.Group)
}
