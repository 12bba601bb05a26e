package hook

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Zones calls pods of zones, in the planner's words.
type Zones struct{ Caller *Caller }

// Prepare asks pods of a zone to prepare to leave. The error says which of them
// did not, in a way that can be put to a person; heard tells whether any of the
// pods may have got the call.
func (z Zones) Prepare(ctx context.Context, key plan.Key, zone plan.Zone, pods []plan.Pod) (heard bool, err error) {
	return z.prepareWhile(ctx, ctx, key, zone, pods)
}

// prepareWhile is Prepare in which no call begins once wanted has ended.
func (z Zones) prepareWhile(ctx, wanted context.Context, key plan.Key, zone plan.Zone, pods []plan.Pod) (heard bool, err error) {
	results := z.Caller.Prepare(ctx, wanted, contract.CallOf(zone.Call), podsOf(key, zone.Call.Service, pods))
	for _, r := range results {
		heard = heard || r.Outcome == Answered || (r.Outcome == Failed && r.Why != Unreachable)
	}
	if first := results.First(); first != nil {
		err = errors.New(first.String())
	}
	return heard, err
}

// undoesNothing are the answers of pods that know no undoing.
var undoesNothing = []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented}

// Undo tells pods of a zone that they stay, for no longer than ctx allows. Who does
// not know the call has nothing to undo, and who may not be called was not asked.
func (z Zones) Undo(ctx context.Context, key plan.Key, zone plan.Zone, pods []plan.Pod) error {
	results := z.Caller.Undo(ctx, contract.CallOf(zone.Call), podsOf(key, zone.Call.Service, pods))
	for _, r := range results {
		if !stays(r) {
			return errors.New(r.String())
		}
	}
	return nil
}

// stays tells whether a pod has taken it that it stays.
func stays(r Result) bool {
	uncalled := r.Outcome == Refused && r.Why != BadCall
	return r.Outcome == Answered || uncalled || slices.Contains(undoesNothing, r.Status)
}

func podsOf(key plan.Key, service string, pods []plan.Pod) []Pod {
	called := make([]Pod, len(pods))
	for i, pod := range pods {
		called[i] = Pod{Group: key, Namespace: key.Namespace, Name: pod.Name, Service: service, IP: pod.IP, HostNetwork: pod.OnHost}
	}
	return called
}
