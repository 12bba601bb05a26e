package telemetry

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Owner is the group or the StatefulCluster of a span. If a user copies a Lease, two Leases may
// name the same trace. Therefore spans are distinguished by their owner, too.
type Owner struct{ Namespace, Group, StatefulCluster string }

type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

// Ref identifies a span that was handed over.
type Ref struct {
	Owner
	ids
}

// In returns the Ref of the span in a span context.
func (o Owner) In(c trace.SpanContext) Ref { return Ref{o, ids{c.TraceID(), c.SpanID()}} }

const (
	groupAttribute           = attribute.Key("lockstep.group")
	statefulClusterAttribute = attribute.Key("lockstep.statefulcluster")
)

// Attribute returns the attribute with the name of the owner.
func (o Owner) Attribute() attribute.KeyValue {
	if o.StatefulCluster != "" {
		return statefulClusterAttribute.String(o.StatefulCluster)
	}
	return groupAttribute.String(o.Group)
}

func (o Owner) attributes() []attribute.KeyValue {
	return []attribute.KeyValue{semconv.K8SNamespaceName(o.Namespace), o.Attribute()}
}

func ofAttributes(all []attribute.KeyValue) Owner {
	var o Owner
	for _, a := range all {
		switch a.Key {
		case semconv.K8SNamespaceNameKey:
			o.Namespace = a.Value.AsString()
		case groupAttribute:
			o.Group = a.Value.AsString()
		case statefulClusterAttribute:
			o.StatefulCluster = a.Value.AsString()
		}
	}
	return o
}

// shownAs reports whether this owner may have the attributes of a span.
// OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT may have truncated them.
func (o Owner) shownAs(shown Owner) bool {
	return strings.HasPrefix(o.Namespace, shown.Namespace) && strings.HasPrefix(o.Group, shown.Group) && strings.HasPrefix(o.StatefulCluster, shown.StatefulCluster)
}
