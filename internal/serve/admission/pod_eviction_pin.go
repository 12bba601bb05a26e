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

// PodEvictionPin judges for /admission/pod-eviction-pin: an eviction acts by name,
// so it is bound to the UID of the pod that is judged after this and, where that pod
// is down, to the version in which it is. It refuses only what it cannot bind: what
// reaches the judge unbound would act on whatever has the name by then. It binds the eviction of
// each pod that a StatefulSet made, also if its caches show no hold that covers the pod: the
// replica that judges may know of a hold or a budget that this one does not know yet.
type PodEvictionPin struct {
	Observer PodObserver
	DryRun   bool // every request is left as it is
}

// nobody is a UID that no pod has. An eviction that came while there was no such pod
// is bound to it, so that it does not meet the next one of that name.
const nobody = "nobody"

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
	case !pod.Held && !pod.Unplaced && !pod.Unclaimed:
		return Allow(reason.NotManaged)
	case e.UID != "" && e.UID != pod.UID && pod.UID != nobody:
		return replaced(e)
	}
	v := Allow(reason.EvictionBound)
	v.Patch = e.pin(pod)
	return v
}

// Doubt lets a review pass that shows no eviction: /admission/pod-eviction answers it.
func (p *PodEvictionPin) Doubt(string) Verdict { return Allow(reason.EvictionUnreadable) }

// unbound refuses for now what cannot be bound.
func unbound(e Eviction, why reason.Code, err error) Verdict {
	entry, _ := reason.Explain(why)
	text := fmt.Sprintf("eviction of %s is refused (%s): %s", e.Pod, why, entry.Sentence)
	if err != nil {
		text += ": " + err.Error()
	}
	return Deny(http.StatusTooManyRequests, why, shortened(text, mostMessage))
}

// replaced refuses an eviction that its client has bound to the UID of a former pod. The API server
// would answer the same.
func replaced(e Eviction) Verdict {
	text := fmt.Sprintf("eviction of %s is refused (%s): deleteOptions.preconditions.uid is not the UID of the pod that has this name", e.Pod, reason.PodNotFound)
	return Deny(http.StatusConflict, reason.PodNotFound, shortened(text, mostMessage))
}

// pod returns the pod from the cache. If the pod is down or unknown, or the eviction is bound to
// another one, the pod is read from the API server. An error says that it could not be read.
func (p *PodEvictionPin) pod(ctx context.Context, e Eviction) (observe.Pod, error) {
	pod, known := p.Observer.Pod(e.Namespace, e.Pod)
	known = known && (e.UID == "" || e.UID == pod.UID)
	if known && (pod.Up || pod.Leaving || e.Version != 0) {
		return pod, nil
	}
	live, exists, err := p.Observer.LivePod(ctx, e.Namespace, e.Pod)
	switch {
	case err != nil && known:
		return pod, nil // if it is another one by now, the version says so
	case err != nil:
		return observe.Pod{}, err
	case !exists:
		return observe.Pod{UID: nobody, Up: true, Held: true}, nil
	}
	return live, nil
}

// pin is a JSON patch that binds the eviction to a pod as far as it is not bound to
// one; none where it is.
func (e Eviction) pin(pod observe.Pod) []byte {
	wanted := map[string]string{}
	if e.UID == "" {
		wanted["uid"] = pod.UID
	}
	if e.Version == 0 && !pod.Up && !pod.Leaving && (e.UID == "" || e.UID == pod.UID) {
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
