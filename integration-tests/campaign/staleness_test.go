package main

import (
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

func TestGraceOf(t *testing.T) {
	t.Parallel()
	took := func(seconds float64, wasUp bool) judge.Disruption {
		return judge.Disruption{WasServing: wasUp, Grace: time.Duration(seconds * float64(time.Second))}
	}
	for name, test := range map[string]struct {
		disruptions []judge.Disruption
		violations  []judge.Violation
		want        grace
	}{
		"no disruption":       {nil, nil, grace{Longest: 1}},
		"as always":           {[]judge.Disruption{took(1, true), took(0.5, true)}, nil, grace{Longest: 1}},
		"some at more":        {[]judge.Disruption{took(1.2, true), took(3, true), took(7.5, true)}, nil, grace{Longer: 3, Much: 1, Longest: 7.5}},
		"a pod that was down": {[]judge.Disruption{took(9, false)}, nil, grace{Longest: 1}},
		"a violation that only an excuse prevents": {[]judge.Disruption{took(2, true)}, make([]judge.Violation, 2), grace{Longer: 1, Longest: 2, Needed: 2}},
	} {
		if got := graceOf(test.disruptions, test.violations); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

// newTrialForTest returns a trial of a plan that has begun, and one of its replicas.
func newTrialForTest(t *testing.T, faults ...fault) (*trial, *replica) {
	t.Helper()
	trial := &trial{env: &environment{}, plan: plan{faults: faults}, began: time.Now().Add(-time.Minute), faults: map[string]int{}}
	r := &replica{trial: trial, number: 0}
	var err error
	if r.proxy, err = faultproxy.Start("http://127.0.0.1:1", nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.proxy.Close)
	trial.replicas = []*replica{r}
	return trial, r
}

func TestStaleWindowsAreThoseOfAffectedReplica(t *testing.T) {
	t.Parallel()
	late := fault{replica: -1, watchDelays: map[string]time.Duration{"pods": 2 * time.Second, "leases": 9 * time.Second}}
	ofTheOther := fault{replica: 1, watchDelays: map[string]time.Duration{"pods": 5 * time.Second}}
	trial, r := newTrialForTest(t, late, ofTheOther)
	if got := trial.staleWindows(); len(got) != 1 || got[0].Delay != 2*time.Second || got[0].Agent != "(first " || got[0].Resource != "pods" {
		t.Fatalf("late watches excuse by %+v", got)
	}
	r.setLagging()
	got := trial.staleWindows()
	if len(got) != 3 || got[1].Delay != lag+2*time.Second || got[1].Resource != "pods" || got[1].From.Before(trial.began) {
		t.Fatalf("and an API server that lags by %+v", got)
	}
	if got[2].Delay != lag || got[2].Resource != "statefulsets" {
		t.Fatalf("late pods excuse stale StatefulSets by %+v", got[2])
	}
}

func TestStaleWindowsLastUntilCachesRecover(t *testing.T) {
	t.Parallel()
	trial, r := newTrialForTest(t)
	from := time.Now().Add(-20 * time.Second)
	at := func(seconds int) time.Time { return from.Add(time.Duration(seconds) * time.Second) }
	trial.env.absences = []absence{{from: from, to: at(1), cachesRecovered: at(2), laggingRecovered: at(8)}}
	if got := trial.staleWindows(); len(got) != 1 || got[0].From != from || got[0].To != at(2) {
		t.Errorf("it excuses by %+v", got)
	}
	r.stale = at(3)
	if got := trial.staleWindows(); len(got) != 3 || got[2].To != at(8) {
		t.Errorf("caches filled by the API server that lags are excused by %+v", got)
	}
	trial.env.absences[0].laggingRecovered = time.Time{}
	if got := trial.staleWindows(); time.Since(got[2].To) > time.Second {
		t.Errorf("before caches are up to date: got %+v", got)
	}
}

func TestStaleWindowsAreSplitByProcess(t *testing.T) {
	t.Parallel()
	_, r := newTrialForTest(t)
	from := time.Now().Add(-time.Minute)
	at := func(seconds int) time.Time { return from.Add(time.Duration(seconds) * time.Second) }
	r.processRecords = []processRecord{{signature: "first 1", from: at(0), to: at(10)}, {signature: "first 2", from: at(11)}}
	got := r.splitByProcess(judge.Window{From: at(8), To: at(13)})
	want := []judge.Window{{From: at(8), To: at(10), Agent: "(first 1)"}, {From: at(11), To: at(13), Agent: "(first 2)"}}
	if !slices.Equal(got, want) {
		t.Errorf("they are excused by %+v, want %+v", got, want)
	}
	if got := r.splitByProcess(judge.Window{From: at(20), To: at(21)}); len(got) != 1 || got[0].Agent != "(first 2)" {
		t.Errorf("events that the second replica did not receive excuse %+v", got)
	}
}

func TestGroupOfRequest(t *testing.T) {
	t.Parallel()
	p := plan{groups: []group{{name: "store"}, {name: "index"}}}
	for want, q := range map[string]faultproxy.Request{
		"store": {Name: "store-zone-a-0"}, "index": {Selector: "rollout-group=index"}, "": {Name: "lockstep-webhooks"},
	} {
		if got := p.groupOf(q); got != want {
			t.Errorf("%+v is about %q, want %q", q, got, want)
		}
	}
	p.faults = []fault{{movedGroup: "store"}}
	if got := p.groupOf(faultproxy.Request{Name: "store-zone-a-0"}); got != "" {
		t.Errorf("a pod of a zone that is in two groups is about %q", got)
	}
}

func TestPauseCountsIfLeaseWasReplaced(t *testing.T) {
	t.Parallel()
	now := time.Now()
	lease := func(holder, version string, ago time.Duration) *coordinationv1.Lease {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Name: "lockstep-group-store", ResourceVersion: version,
				Labels: map[string]string{"lockstep.dev/hold": "group"}, Annotations: map[string]string{"lockstep.dev/group": "store"},
			},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: new(holder), LeaseDurationSeconds: new(int32(60)), RenewTime: &metav1.MicroTime{Time: now.Add(-ago)},
			},
		}
	}
	held := lease("rollout/store-zone-a", "7", 61*time.Second)
	for name, test := range map[string]struct {
		before, after *coordinationv1.Lease
		want          bool
	}{
		"no holder":       {nil, held, false},
		"it was free":     {lease("", "7", time.Hour), held, false},
		"it still counts": {lease("rollout/store-zone-a", "7", 8*time.Second), lease("rollout/store-zone-a", "7", 8*time.Second), false},
		"it has run out":  {held, held, true},
		"another write":   {held, lease("", "8", time.Second), true},
		"deleted":         {held, nil, true},
	} {
		if got := wasReplaced(test.before, test.after, now); got != test.want {
			t.Errorf("%s: counts %t, want %t", name, got, test.want)
		}
	}
}

func TestFailedOperatorBreaksPlanUnlessControlPlaneWasAway(t *testing.T) {
	t.Parallel()
	trial, _ := newTrialForTest(t)
	now := time.Now()
	trial.env.absences = []absence{{from: now.Add(-20 * time.Second), to: now.Add(-10 * time.Second)}}
	trial.failed(now.Add(-15*time.Second), "while it was away")
	if len(trial.failures) != 0 || len(trial.remarks) != 1 {
		t.Errorf("failures are %q, remarks %q", trial.failures, trial.remarks)
	}
	trial.failed(now, "by itself")
	trial.env.absences[0].permanent, trial.env.absences[0].to = true, time.Time{}
	trial.failed(now, "it never came back")
	if len(trial.failures) != 1 || len(trial.remarks) != 2 {
		t.Errorf("failures are %q, remarks %q", trial.failures, trial.remarks)
	}
}

func TestTrapCatchesLeaderThenAnyReplica(t *testing.T) {
	t.Parallel()
	leader, other := &replica{}, &replica{}
	leader.led.Store(time.Now().UnixNano())
	trap := trap{}
	if trap.catch(leader) {
		t.Error("it closes before it is armed")
	}
	trap.arm()
	if trap.catch(other) || !trap.catch(leader) || trap.catch(leader) {
		t.Error("the trap does not catch the leader once")
	}
	if trap.disarm() {
		t.Error("the trap is armed after it caught a replica")
	}
	trap.arm()
	trap.armed = time.Now().Add(-leaderOnlyFor)
	if !trap.catch(other) {
		t.Error("the trap never catches another replica")
	}
	trap.arm()
	if !trap.disarm() || trap.catch(leader) {
		t.Error("it closes although it is not armed")
	}
}

func TestGrantedCountsEvictions(t *testing.T) {
	t.Parallel()
	eviction := judge.Request{Resource: "pods/eviction", Verb: "create", Code: 201}
	refused, missing, trial := eviction, eviction, eviction
	refused.Code, missing.Code, trial.DryRun = 429, 404, true
	deletion := judge.Request{Resource: "pods", Verb: "delete", Code: 200}
	if n := granted([]judge.Request{eviction, refused, missing, trial, deletion, eviction}); n != 2 {
		t.Errorf("%d are counted, want 2", n)
	}
}
