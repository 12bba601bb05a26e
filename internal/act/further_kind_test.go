package act_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// pool is a workload of a kind that lockstep does not have: pods without order, under one lock.
type pool struct {
	view   plan.View
	record plan.Record
	pods   []plan.Pod
	to     string // the revision that pods should have
}

// leaving is the part of a pool in the record: the pod that prepares for its removal.
type leaving struct{ pod string }

func (l leaving) InProgress() plan.Holder {
	if l.pod == "" {
		return ""
	}
	return plan.DownscaleOperation.For("pool")
}

// removePod is an action of pools: a pod begins its removal.
type removePod struct{ pod string }

func (removePod) Reason() reason.Code { return reason.DownscaleDetected }

func (a removePod) String() string { return "leave " + a.pod }

func (a removePod) Effect() plan.Effect {
	return plan.Effect{Pod: a.pod, Order: plan.WithLease, Read: plan.Always, Records: true}
}

func (removePod) Event() plan.Event { return plan.Event{} }

func (a removePod) Record(plan.Part) plan.Part { return leaving(a) }

func newPool(live bool, pods ...plan.Pod) *pool {
	key := plan.Key{Namespace: "team", Kind: "pool", Name: "store"}
	return &pool{view: plan.View{Key: key, Now: time.Now(), Live: live, Operation: plan.RolloutOperation}, pods: pods, to: "2"}
}

// plan replaces each outdated pod that is up, one at a time.
func (p *pool) plan() []plan.Action {
	for _, pod := range p.pods {
		if pod.Revision != p.to && len(p.record.Intents) == 0 {
			return []plan.Action{plan.DeletePod{Zone: "pool", Pod: pod.Name, UID: pod.UID, Version: pod.Version, Up: true, Because: reason.OutdatedRevision}}
		}
	}
	return nil
}

// The methods of plan.Workload.
func (p *pool) View() plan.View                                     { return p.view }
func (p *pool) Record() plan.Record                                 { return p.record }
func (p *pool) NextPart(noted plan.Part, _ []plan.Intent) plan.Part { return noted }
func (*pool) IntentStatus(plan.Intent) plan.IntentStatus            { return plan.Open }
func (p *pool) Units() []plan.Unit                                  { return []plan.Unit{{Name: "pool", UID: "pool"}} }
func (p *pool) Rollout(string) plan.UnitRollout {
	return plan.UnitRollout{From: "1", To: p.to, Observed: true}
}
func (p *pool) RolledOut() bool    { return len(p.plan()) == 0 }
func (p *pool) Gone() bool         { return len(p.pods) == 0 }
func (*pool) Due() []time.Time     { return nil }
func (*pool) Remarks() []plan.Wait { return nil }
func (p *pool) Shown() plan.Shown  { return plan.Shown{Strays: p.pods} }

func (p *pool) Pod(name string) (plan.Pod, bool) {
	shown := p.Shown()
	return shown.Pod(name)
}

func up(name string) plan.Pod {
	return plan.Pod{Name: name, UID: "uid-" + name, Version: 7, Phase: plan.Ready, Revision: "1"}
}

// The lock reads live before it takes the hold of a workload of any kind, records the intent, and the executor deletes
// the pod under it.
func TestAFurtherKindIsRolledUnderItsOwnLock(t *testing.T) {
	cached := newPool(false, up("store-x7k2"))
	if d := hold.Decide(cached, cached.plan()); d.Need != hold.ReadLive {
		t.Errorf("on caches the lock needs %v, want a live read", d.Need)
	}
	live := newPool(true, up("store-x7k2"))
	d := hold.Decide(live, live.plan())
	if d.Need != hold.Write || d.Record.Holder != "rollout/pool" || len(d.Record.Intents) != 1 || d.Record.Rollouts.Current.Zones[0].To != "2" {
		t.Fatalf("got %+v", d)
	}
	r := newRoom(t)
	if _, err := r.Run(t.Context(), live, live.plan(), d); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{newLease, "DELETE pods/store-x7k2"}, r.said()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if missing, _ := r.Fresh.Behind(live); !strings.Contains(missing, "store-x7k2") {
		t.Errorf("a view from before the delete does not wait for %q", missing)
	}
	live.record = d.Record
	if steps := live.plan(); len(steps) != 0 {
		t.Errorf("next to an intent: %s", plan.Notation(steps))
	}
}

// The part of a kind in the record decides which operation has the hold.
func TestAFurtherKindRecordsItsOperations(t *testing.T) {
	p := newPool(true, up("store-x7k2"))
	steps := []plan.Action{removePod{"store-x7k2"}}
	d := hold.Decide(p, steps)
	if d.Need != hold.Write || d.Record.Holder != "downscale/pool" || d.Record.Part != (leaving{"store-x7k2"}) {
		t.Fatalf("got %+v", d)
	}
	p.record, p.pods = d.Record, nil
	if d := hold.Decide(p, nil); d.Need == hold.Remove {
		t.Error("the Lease is removed while a pod is being removed")
	}
	p.record.Part, p.record.Holder = leaving{}, ""
	if d := hold.Decide(p, nil); d.Need != hold.Remove {
		t.Errorf("once all pods are removed the lock needs %v, want that the Lease is removed", d.Need)
	}
}
