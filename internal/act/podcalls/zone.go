package podcalls

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Zones calls pods of zones with the types of the planner.
type Zones struct{ Caller *Caller }

// Prepare calls pods of a zone to prepare to leave. The error names the first pod that did not, in words for
// users. delivered reports whether any of the pods may have received the call.
func (z Zones) Prepare(ctx context.Context, key plan.Key, zone group.Zone, pods []plan.Pod) (delivered bool, err error) {
	return z.prepareWhile(ctx, ctx, key, zone, pods)
}

// prepareWhile is Prepare, but no call begins once wanted has ended.
func (z Zones) prepareWhile(ctx, wanted context.Context, key plan.Key, zone group.Zone, pods []plan.Pod) (delivered bool, err error) {
	results := z.Caller.Prepare(ctx, wanted, contract.CallOf(zone.Call), podsOf(key, zone.Call.Service, pods))
	for _, r := range results {
		delivered = delivered || r.Outcome == Answered || (r.Outcome == Failed && r.Why != Unreachable)
	}
	if first := results.First(); first != nil {
		err = errors.New(first.String())
	}
	return delivered, err
}

// undoesNothing are the status codes of pods that do not support an undo or have nothing to undo.
var undoesNothing = []int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusConflict, http.StatusNotImplemented}

// Undo calls pods of a zone to undo their preparation, with the call by which they were asked, until ctx
// ends. A pod that does not know the call has nothing to undo, and a pod that may not be called was not
// asked. A pod that fails is called again with the present call of the zone, which may have been corrected
// since. That second call requires a 2xx.
func (z Zones) Undo(ctx context.Context, key plan.Key, zone group.Zone, called group.Call, pods []plan.Pod) error {
	left, err := z.undo(ctx, key, called, pods, stays)
	if present := zone.Call; err != nil && present != called && present.Invalid == "" && present.Service != "" {
		_, err = z.undo(ctx, key, present, left, answered)
	}
	return err
}

// undo returns the pods that did not accept a call, and the error of the first of them.
func (z Zones) undo(ctx context.Context, key plan.Key, call group.Call, pods []plan.Pod, took func(Result) bool) (left []plan.Pod, err error) {
	for i, r := range z.Caller.Undo(ctx, contract.CallOf(call), podsOf(key, call.Service, pods)) {
		if took(r) {
			continue
		}
		left = append(left, pods[i])
		if err == nil {
			err = errors.New(r.String())
		}
	}
	return left, err
}

// stays reports whether a pod accepted that it stays.
func stays(r Result) bool {
	uncalled := r.Outcome == Refused && r.Why != BadCall
	return answered(r) || uncalled || slices.Contains(undoesNothing, r.Status)
}

func answered(r Result) bool { return r.Outcome == Answered }

func podsOf(key plan.Key, service string, pods []plan.Pod) []Pod {
	called := make([]Pod, len(pods))
	for i, pod := range pods {
		called[i] = Pod{Group: key, Namespace: key.Namespace, Name: pod.Name, Service: service, IP: pod.IP, HostNetwork: pod.OnHost}
	}
	return called
}
