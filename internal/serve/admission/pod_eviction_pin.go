package admission

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// PodEvictionPin judges for /admission/pod-eviction-pin. An eviction names a pod, so
// PodEvictionPin binds it to the UID of the pod that PodEviction judges afterwards. If the pod is
// down, or a StatefulSet may adopt it, PodEvictionPin also binds it to the pod's resourceVersion. It refuses only evictions that
// it cannot bind: an unbound eviction would delete any later pod of that name.
//
// The replica that judges may know more than this replica: a hold or a budget that covers the pod, or
// a zone's pod that has the name by now. So PodEvictionPin binds the evictions of all pods of
// StatefulSets, and of all pods that have the name of such a pod.
type PodEvictionPin struct {
	Observer PodObserver
	DryRun   bool // change no eviction
}

// noPodUID is a UID that no pod has. If no pod exists, the eviction is bound to it, so that
// the eviction does not delete a later pod of that name.
const noPodUID = "nobody"

// Judge decides before ctx ends.
func (p *PodEvictionPin) Judge(ctx context.Context, e Eviction) Verdict {
	switch {
	case p.DryRun:
		return Allow(reason.NotManaged)
	case !p.Observer.Synced():
		return unbound(e, reason.CacheNotSynced, nil)
	case !p.Observer.Managed(e.Namespace):
		return Allow(reason.NotManaged)
	}
	pod, err := p.pod(ctx, e)
	switch {
	case err != nil:
		return unbound(e, reason.ParentUnknown, err)
	case pod.OutsideStatefulSets() && !e.namesZonePod():
		return Allow(reason.NotManaged)
	case e.UID != "" && e.UID != pod.UID && pod.UID != noPodUID:
		return replaced(e)
	}
	v := Allow(reason.EvictionBound)
	v.Patch = e.pin(pod)
	return v
}

// Doubt allows a review that contains no valid eviction, because /admission/pod-eviction answers it.
func (p *PodEvictionPin) Doubt(string) Verdict { return Allow(reason.EvictionUnreadable) }

// unbound refuses an eviction for now that cannot be bound.
func unbound(e Eviction, why reason.Code, err error) Verdict {
	entry, _ := reason.Explain(why)
	text := fmt.Sprintf("eviction of %s is refused (%s): %s", e.Pod, why, entry.Sentence)
	if err != nil {
		text += ": " + err.Error()
	}
	return Deny(http.StatusTooManyRequests, why, shortened(text, mostMessage))
}

// replaced refuses an eviction that its client has bound to the UID of an earlier pod. The API server
// would also refuse it.
func replaced(e Eviction) Verdict {
	text := fmt.Sprintf("eviction of %s is refused (%s): deleteOptions.preconditions.uid is not the UID of the pod that has this name", e.Pod, reason.PodNotFound)
	return Deny(http.StatusConflict, reason.PodNotFound, shortened(text, mostMessage))
}

// pod returns the pod from the cache. If the pod is down or unknown, or the eviction is bound to
// another pod, it reads the pod from the API server. The error is that of the failed read.
func (p *PodEvictionPin) pod(ctx context.Context, e Eviction) (observe.Pod, error) {
	pod, known := p.Observer.Pod(e.Namespace, e.Pod)
	known = known && (e.UID == "" || e.UID == pod.UID)
	if known && (e.Version != 0 || !e.mayBeAdopted(pod) && (pod.Up || pod.Terminating)) {
		return pod, nil
	}
	live, exists, err := p.Observer.LivePod(ctx, e.Namespace, e.Pod)
	switch {
	case err != nil && known:
		return pod, nil // if the pod was replaced, its resourceVersion differs and the eviction fails
	case err != nil:
		return observe.Pod{}, err
	case !exists:
		return observe.Pod{UID: noPodUID, Up: true, Held: true}, nil
	}
	return live, nil
}

// mayBeAdopted reports whether a StatefulSet could adopt a pod. The pod would keep its UID, and the eviction could have
// been allowed as that of a pod of another owner, or of an orphan that the StatefulSet does not adopt.
func (e Eviction) mayBeAdopted(pod observe.Pod) bool {
	return pod.Orphaned && !pod.Terminating || pod.OutsideStatefulSets() && e.namesZonePod()
}

// pin returns a JSON patch that adds the missing preconditions for the pod, or nil if none
// is missing.
func (e Eviction) pin(pod observe.Pod) []byte {
	wanted := map[string]string{}
	if e.UID == "" {
		wanted["uid"] = pod.UID
	}
	if e.Version == 0 && (e.mayBeAdopted(pod) || !pod.Up && !pod.Terminating) && (e.UID == "" || e.UID == pod.UID) {
		wanted["resourceVersion"] = pod.Version.String()
	}
	switch {
	case len(wanted) == 0:
		return nil
	case !e.hasOptions:
		return patch(operation{"add", "/deleteOptions", map[string]any{"preconditions": wanted}})
	case !e.hasPreconditions:
		return patch(operation{"add", "/deleteOptions/preconditions", wanted})
	}
	var operations []operation
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		operations = append(operations, operation{"add", "/deleteOptions/preconditions/" + key, wanted[key]})
	}
	return patch(operations...)
}
