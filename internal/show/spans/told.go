package spans

import (
	"slices"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// told returns the spans that have ended and are not marked as exported.
func told(key plan.Key, remembered plan.Rollouts) []telemetry.Span {
	spans := ofGroup(key, remembered.Current)
	for _, group := range remembered.Finished {
		spans = append(spans, ofGroup(key, group)...)
	}
	for _, one := range remembered.Replacements {
		if root := telemetry.SpanOf(one.Trace); !one.Open && plan.Sampled(one.Trace) && root.IsValid() {
			spans = append(spans, replacementSpan(key, root, one.RolledPod))
		}
	}
	return spans
}

// replacementSpan returns the only span of the trace of a replacement.
func replacementSpan(key plan.Key, root trace.SpanContext, pod plan.RolledPod) telemetry.Span {
	span := podSpan(of(key), root, trace.SpanID{}, nil, pod)
	span.Name = "replace " + name(pod.Name)
	return span
}

func ofGroup(key plan.Key, group plan.RolledGroup) []telemetry.Span {
	root := telemetry.SpanOf(group.Trace)
	if !group.Traced() || !root.IsValid() {
		return nil
	}
	var spans []telemetry.Span
	for _, zone := range group.Zones {
		spans = append(spans, zoneSpans(key, root, zone)...)
	}
	if group.Over() && !group.Exported {
		spans = append(spans, telemetry.Span{
			Of: of(key), Context: root, Name: rootName(key), Start: group.Since, End: group.Until,
			Attributes: revisions(group),
		})
	}
	return spans
}

// revisions returns the former and the new revision of each zone of a rollout.
func revisions(group plan.RolledGroup) []attribute.KeyValue {
	var from, to []string
	for _, zone := range group.Zones {
		from, to = append(from, name(zone.From)), append(to, name(zone.To))
	}
	return []attribute.KeyValue{attribute.StringSlice("lockstep.revision.from", from), attribute.StringSlice("lockstep.revision.to", to)}
}

func of(key plan.Key) telemetry.Owner {
	if key.Kind == plan.KindStatefulCluster {
		return telemetry.Owner{Namespace: key.Namespace, StatefulCluster: key.Name}
	}
	return telemetry.Owner{Namespace: key.Namespace, Group: key.Name}
}

func rootName(key plan.Key) string {
	if key.Kind == plan.KindStatefulCluster {
		return "update " + key.Name
	}
	return "rollout " + key.Name
}

func zoneSpans(key plan.Key, root trace.SpanContext, zone plan.RolledZone) []telemetry.Span {
	about, own, title := zoneAttributes(key, zone)
	id := ofZone(root, zone)
	var spans []telemetry.Span
	for _, pod := range zone.Pods {
		if !pod.Open {
			spans = append(spans, podSpan(of(key), root.WithSpanID(ofPod(root, pod)), id, about, pod))
		}
	}
	if zone.Over() && !zone.Exported {
		spans = append(spans, telemetry.Span{
			Of: of(key), Context: root.WithSpanID(id), Parent: root.SpanID(), Name: title, Start: zone.Since, End: zone.Until,
			Attributes: append(slices.Clip(about), append(own, attribute.Int("lockstep.budget", zone.Budget))...),
		})
	}
	return spans
}

// zoneAttributes returns the attributes that the span of a zone and those of its pods share, those of the span alone, and
// its name. A StatefulCluster has no zones: its span is named after the revision that its pods get.
func zoneAttributes(key plan.Key, zone plan.RolledZone) (shared, own []attribute.KeyValue, title string) {
	revisions := []attribute.KeyValue{attribute.String("lockstep.revision.from", name(zone.From)), attribute.String("lockstep.revision.to", name(zone.To))}
	holder := func(o plan.Operation) attribute.KeyValue {
		return attribute.String("lockstep.holder", o.For(zone.Name).Plain())
	}
	if key.Kind == plan.KindStatefulCluster {
		return append(revisions, holder(plan.StatefulClusterOperation)), nil, "revision " + name(zone.To)
	}
	shared = append([]attribute.KeyValue{semconv.K8SStatefulSetName(name(zone.Name)), holder(plan.RolloutOperation)}, revisions...)
	return shared, []attribute.KeyValue{semconv.K8SStatefulSetUID(name(zone.UID))}, "zone " + name(zone.Name)
}

// name returns a name as a span shows it. Users who may write a Lease can put any text there.
func name(text string) string {
	const longest = 253
	return plan.Plain(text, longest)
}

// podSpan returns the span of a pod. It ends when a process saw the successor become Ready or, if none did, at the
// time in its condition, in whole seconds; lockstep.ready.seen distinguishes them.
func podSpan(whose telemetry.Owner, own trace.SpanContext, parent trace.SpanID, about []attribute.KeyValue, pod plan.RolledPod) telemetry.Span {
	span := telemetry.Span{
		Of: whose, Context: own, Parent: parent, Name: "pod " + name(pod.Name), Start: pod.Deleted, End: pod.Ready,
		Attributes: append(slices.Clip(about),
			semconv.K8SPodName(name(pod.Name)), semconv.K8SPodUID(name(pod.UID)), attribute.String("lockstep.reason", name(string(pod.Cause)))),
		Events: podEvents(pod),
	}
	if pod.Successor != "" {
		span.Attributes = append(span.Attributes, attribute.String("lockstep.successor", name(pod.Successor)))
	}
	if pod.Ready.IsZero() {
		span.End, span.Failed = pod.Recreated, "its successor was replaced before it was Ready"
		return span
	}
	span.Events = append(span.Events, telemetry.Event{Name: "Ready", At: pod.Ready})
	span.Attributes = append(span.Attributes, attribute.Bool("lockstep.ready.seen", pod.Seen))
	return span
}

// podEvents returns the events of a pod before its end. The events gone and recreated have the same time, because a pod is
// created once its predecessor of the same name does not exist any more. A pod of another name may be created before.
func podEvents(pod plan.RolledPod) []telemetry.Event {
	switch {
	case inPlace(pod):
		return []telemetry.Event{{Name: "updated", At: pod.Deleted}}
	case pod.Successor != "":
		return []telemetry.Event{{Name: "deleted", At: pod.Deleted}, {Name: "recreated", At: pod.Recreated}}
	}
	return []telemetry.Event{{Name: "deleted", At: pod.Deleted}, {Name: "gone", At: pod.Recreated}, {Name: "recreated", At: pod.Recreated}}
}

// inPlace reports whether a pod was updated and not replaced.
func inPlace(pod plan.RolledPod) bool { return pod.Cause == reason.UpdatedInPlace }
