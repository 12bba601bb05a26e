package spans

import (
	"crypto/sha256"
	"fmt"

	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// ofZone returns the id of the span for a zone's rollout to a revision.
func ofZone(root trace.SpanContext, z plan.RolledZone) trace.SpanID {
	return derived(root, "zone", z.UID, z.To, fmt.Sprint(z.Since.UnixMilli())) // a zone may return to a former revision
}

// ofPod returns the id of the span of a pod.
func ofPod(root trace.SpanContext, p plan.RolledPod) trace.SpanID {
	if inPlace(p) {
		return derived(root, "pod", p.UID, fmt.Sprint(p.Deleted.UnixMilli())) // a pod may be updated several times
	}
	return derived(root, "pod", p.UID)
}

// derived returns the id of the span for these texts, in a trace.
func derived(root trace.SpanContext, of ...string) trace.SpanID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q", root.TraceID(), of))
	var id trace.SpanID
	copy(id[:], sum[:])
	if !id.IsValid() || id == root.SpanID() {
		id[0]++
	}
	return id
}
