package act_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/act"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// deleteClaim is an action that lockstep does not have: it deletes the volume claim of a deleted pod.
type deleteClaim struct {
	zone, claim string
	read        plan.LiveRead
	records     bool
	order       plan.Order
}

func (deleteClaim) Reason() reason.Code { return reason.DownscaleCompleted }

func (a deleteClaim) String() string { return "delete claim " + a.claim }

func (a deleteClaim) Effect() plan.Effect {
	return plan.Effect{Zone: a.zone, Order: a.order, Visible: true, Read: a.read, Records: a.records}
}

func (a deleteClaim) Event() plan.Event {
	return plan.Event{Zone: a.zone, Action: "DeleteClaim", Note: "deleted claim " + a.claim}
}

func TestTheLockUsesTheRequirementsOfAFurtherAction(t *testing.T) {
	s := testGroup()
	s.Hold = group.Hold{Hold: plan.Hold{Exists: true, Own: true, Holder: "rollout/zone-a", Renewed: s.Now, Duration: hold.Duration}}
	s.Hold.Members = group.Remembered(s)
	for sentence, tc := range map[string]struct {
		action deleteClaim
		want   hold.Need
	}{
		"caches are sufficient":        {deleteClaim{}, hold.Carry},
		"it requires a live read":      {deleteClaim{read: plan.Always}, hold.ReadLive},
		"this process wrote last":      {deleteClaim{read: plan.IfInherited}, hold.Carry},
		"the Lease is written for it":  {deleteClaim{records: true}, hold.Write},
		"a read comes before a record": {deleteClaim{read: plan.Always, records: true}, hold.ReadLive},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := hold.Decide(&s, []plan.Action{tc.action}).Need; got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestTheExecutorCarriesOutAFurtherActionInItsOrder(t *testing.T) {
	s := testGroup()
	t.Cleanup(act.Sends("delete claim", func(e *act.Executor, ctx context.Context, key plan.Key, a deleteClaim) error {
		return e.Client.CoreV1().PersistentVolumeClaims(key.Namespace).Delete(ctx, a.claim, metav1.DeleteOptions{})
	}))
	steps := func(order plan.Order) []plan.Action {
		return []plan.Action{deleteClaim{zone: "zone-a", claim: "data", order: order}, deletePod("zone-a-0"), wait}
	}
	const lease, pod, claim = newLease, "DELETE pods/zone-a-0", "DELETE persistentvolumeclaims/data"
	for name, tc := range map[string]struct {
		order plan.Order
		want  []string
	}{
		"nowhere":          {plan.Nowhere, []string{lease, pod}},
		"before the Lease": {plan.BeforeLease, []string{claim, lease, pod}},
		"under the hold":   {plan.UnderHold, []string{lease, pod, claim}},
		"without the hold": {plan.WithoutHold, []string{lease, pod, claim}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t)
			if _, err := r.Run(t.Context(), &s, steps(tc.order), write(s, "rollout/zone-a", "zone-a-0")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.said()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestAnActionWithoutAMethodFails(t *testing.T) {
	s := testGroup()
	r := newRoom(t)
	done, err := r.Run(t.Context(), &s, []plan.Action{deleteClaim{order: plan.UnderHold}}, hold.Decision{})
	if err == nil || !strings.Contains(err.Error(), "no method of the executor carries out act_test.deleteClaim") {
		t.Errorf("got %v", err)
	}
	if len(done) != 1 || done[0].Err == nil {
		t.Errorf("receipts %v", done)
	}
}
