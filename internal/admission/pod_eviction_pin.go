package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/observe"
)

// PodEvictionPin judges for /admission/pod-eviction-pin: an eviction acts by name,
// so it is bound to the UID of the pod that is judged after this and, where that pod
// is down, to the version in which it is. It refuses nothing; what it cannot know is
// left as it is.
type PodEvictionPin struct {
	Observer PodObserver
	DryRun   bool // every request is left as it is
}

// Judge decides before ctx ends.
func (p *PodEvictionPin) Judge(ctx context.Context, e Eviction) Verdict {
	switch {
	case p.DryRun:
		return Allow(NotGuarded)
	case !p.Observer.Synced():
		return Allow(CacheEmpty)
	case !p.Observer.Managed(e.Namespace):
		return Allow(NotGuarded)
	}
	pod, known := p.pod(ctx, e)
	if !known || !pod.Held && !pod.Unplaced {
		return Allow(NotGuarded)
	}
	v := Allow(PodPinned)
	v.Patch = e.pin(pod)
	return v
}

// Doubt lets a review pass that shows no eviction: /admission/pod-eviction answers it.
func (p *PodEvictionPin) Doubt(string) Verdict { return Allow(EvictionUnreadable) }

// pod returns the pod from the cache or, where it is down, as it is right now.
func (p *PodEvictionPin) pod(ctx context.Context, e Eviction) (observe.Pod, bool) {
	pod, known := p.Observer.Pod(e.Namespace, e.Pod)
	if !known || pod.Up || e.Version != 0 {
		return pod, known
	}
	if live, exists, err := p.Observer.LivePod(ctx, e.Namespace, e.Pod); err == nil && exists {
		return live, true
	}
	return pod, true
}

// pin is a JSON patch that binds the eviction to a pod as far as it is not bound to
// one; none where it is.
func (e Eviction) pin(pod observe.Pod) []byte {
	wanted := map[string]string{}
	if e.UID == "" {
		wanted["uid"] = pod.UID
	}
	if e.Version == 0 && !pod.Up && (e.UID == "" || e.UID == pod.UID) {
		wanted["resourceVersion"] = pod.Version.String()
	}
	if len(wanted) == 0 {
		return nil
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	var patch []operation
	switch {
	case !e.hasOptions:
		patch = []operation{{"add", "/deleteOptions", map[string]any{"preconditions": wanted}}}
	case !e.hasPreconditions:
		patch = []operation{{"add", "/deleteOptions/preconditions", wanted}}
	default:
		for _, key := range slices.Sorted(maps.Keys(wanted)) {
			patch = append(patch, operation{"add", "/deleteOptions/preconditions/" + key, wanted[key]})
		}
	}
	encoded, err := json.Marshal(patch)
	if err != nil {
		panic(fmt.Sprintf("encode patch: %v", err)) // strings always encode
	}
	return encoded
}
