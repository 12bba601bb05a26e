package admission_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// notAllowed begins every refusal of a downscale by the predecessor.
const notAllowed = "downscale of statefulsets/zone-a in team from 3 to 2 replicas is not allowed because "

// preparedBy serves prepare-downscale for a group with the given pods.
func preparedBy(observer admission.Observer, pods admission.Pods) http.Handler {
	return admission.New(admission.Options{Log: silent(), PrepareDownscale: &admission.PrepareDownscale{
		Observer: observer, Holds: kept(staleHolds{}), Pods: pods, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
	}})
}

// unreadGroup is a group that the API server cannot read.
type unreadGroup struct{ onlyGroup }

func (unreadGroup) Live(context.Context, plan.Key) (group.Snapshot, error) {
	return group.Snapshot{}, errors.New("the API server is busy")
}

// unreadSet is a StatefulSet that the API server cannot read.
type unreadSet struct{ onlyGroup }

func (unreadSet) Set(string, string) (observe.Set, bool) { return observe.Set{}, false }

func (unreadSet) LiveSet(context.Context, string, string) (observe.Set, error) {
	return observe.Set{}, errors.New("the API server is busy")
}

func TestDownscaleRefusalsBeginWithThePredecessorsText(t *testing.T) {
	requests := func(changes ...func(*group.Snapshot)) http.Handler {
		group := preparedAtRest()
		for _, change := range changes {
			change(&group)
		}
		return preparing(group)
	}
	without := func(missing string) http.Handler {
		return requests(func(s *group.Snapshot) { s.Zones[0].Call = group.Call{Invalid: "it is invalid", Missing: missing} })
	}
	strict := noDownscale(admission.NoDownscale{Strict: true, Parents: parents{err: errors.New("the API server is busy")}})
	downscale := update(t, set(3), set(2))
	for sentence, tc := range map[string]struct {
		webhook http.Handler
		review  []byte
		want    string // the predecessor's reason or, where it has none, lockstep's
	}{
		"a label bars it": {noDownscale(admission.NoDownscale{}), update(t, set(3, labelled), set(2, labelled)),
			"it has the label 'grafana.com/no-downscale=true'. It is refused (DownscaleNotAllowed): the object carries the label"},
		"a label forbids it, according to prepare-downscale": {requests(func(s *group.Snapshot) { s.Zones[0].Barred = true }), downscale,
			"it has the label 'grafana.com/no-downscale=true'. It is refused (DownscaleNotAllowed): "},
		"the port is missing": {without("grafana.com/prepare-downscale-http-port annotation"), downscale,
			"the grafana.com/prepare-downscale-http-port annotation is not set or empty. It is refused (InvalidPrepareCall (it is invalid)): "},
		"the path is missing": {without("grafana.com/prepare-downscale-http-path annotation"), downscale,
			"the grafana.com/prepare-downscale-http-path annotation is not set or empty. It is refused (InvalidPrepareCall"},
		"the Service is missing": {without("serviceName"), downscale,
			"the serviceName is not set or empty. It is refused (InvalidPrepareCall"},
		"the call is invalid otherwise": {without(""), downscale,
			"the annotations that configure the prepare call to pods are missing or invalid. It is refused (InvalidPrepareCall (it is invalid))"},
		"another zone was scaled down too recently": {requests(func(s *group.Snapshot) { shrankJustNow(&s.Zones[1]) }), downscale,
			"statefulset zone-b was downscaled at " + fixture.Now().String() + " and is labelled to wait 1h0m0s between zone downscales. It is refused for now (DownscaleTooSoon zone-b): "},
		"its time is unreadable": {requests(func(s *group.Snapshot) { s.Zones[1].Downscaled.Invalid = "x" }), downscale,
			"parsing downscale annotations failed. It is refused (InvalidDownscaleTime"},
		"another zone has a pod that is not ready": {requests(func(s *group.Snapshot) { s.Zones[1].Pods[1].Phase = plan.Failing }), downscale,
			"statefulset zone-b has 0 non-updated replicas and 1 non-ready replicas. It is refused for now (OtherZoneUnavailable"},
		"another zone is being rolled out": {requests(func(s *group.Snapshot) {
			s.Zones[1].UpdateRevision = "2"
			fixture.Held(plan.RolloutOperation.For("zone-b"), fixture.IntentOf("zone-b-0"))(s)
		}), downscale,
			"statefulset zone-b has 3 non-updated replicas and 1 non-ready replicas. It is refused for now (GroupHeld"},
		"another zone is being downscaled": {requests(func(s *group.Snapshot) {
			fixture.Held(plan.DownscaleOperation.For("zone-b"))(s)
			s.Hold.Downscale = group.Downscale{Zone: "zone-b", UID: s.Zones[1].UID, Version: s.Zones[1].Version, From: 3, To: 2, Stage: group.Admitted, Since: s.Now}
		}), downscale,
			"statefulset zone-b is already in process of updating replicas. It is refused for now (GroupHeld zone-b"},
		"a pod did not prepare": {preparedBy(onlyGroup{preparedAtRest()}, unreachable{}), downscale,
			"one or more pods failed to prepare for shutdown. It is refused for now (PreparationFailed (pod zone-a-2 cannot be reached)): "},
		"the group could not be read": {preparedBy(unreadGroup{onlyGroup{atRest()}}, agreeingPods{}), downscale,
			"finding other statefulsets failed. lockstep cannot tell whether this downscale is safe: "},
		"another holder has the group": {requests(fixture.Held("manual/maintenance")), downscale,
			"another operation holds the group. It is refused for now (GroupHeld (held from outside lockstep))"},
		"the label of its group changes as well": {preparing(atRest()), update(t, set(3), set(2, in("store"))),
			"the change removes pods and moves the StatefulSet to another group at the same time, so neither group can judge it. It is refused (GroupChanged zone-a)"},
		"its first ordinal changes as well": {preparing(atRest()), update(t, set(3), set(2, from(1))),
			"the change moves spec.ordinals.start, so it deletes other pods than those with the highest ordinals, which were not judged or prepared. It is refused (OrdinalsChanged zone-a (from 0 to 1))"},
		"the StatefulSet has changed since": {preparing(atRest()), update(t, set(3), set(2, func(s *appsv1.StatefulSet) { s.ResourceVersion = "6" })),
			"the object has changed since the request read it. It is refused (ObjectChanged zone-a)"},
		"the StatefulSet could not be read": {preparedBy(unreadSet{onlyGroup{atRest()}}, agreeingPods{}), downscale,
			"lockstep cannot tell whether this downscale is safe: the API server is busy"},
		"the label could not be read": {strict, update(t, scale(3), scale(2)),
			"lockstep cannot tell whether this downscale is allowed: the API server is busy"},
	} {
		t.Run(sentence, func(t *testing.T) {
			path := preparePath
			if strings.Contains(tc.want, "is allowed:") || sentence == "a label bars it" {
				path = noDownscalePath
			}
			observed := answerTo(t, post(t, tc.webhook, path, tc.review)).Response.Result
			if observed == nil || !strings.HasPrefix(observed.Message, notAllowed+tc.want) {
				t.Errorf("got  %+v\nwant %s", observed, notAllowed+tc.want)
			}
		})
	}
}
