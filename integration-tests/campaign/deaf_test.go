package main

import (
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

func TestTheGraceOfAPlanIsTold(t *testing.T) {
	t.Parallel()
	began := time.Unix(1000, 0)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	for name, test := range map[string]struct {
		windows []judge.Window
		want    grace
	}{
		"none":                     {nil, grace{Usual: 1}},
		"one":                      {[]judge.Window{{From: at(2), To: at(5)}}, grace{Usual: 1, Longer: 3, Longest: 4}},
		"two that overlap":         {[]judge.Window{{From: at(4), To: at(9)}, {From: at(2), To: at(5)}}, grace{Usual: 1, Longer: 7, Longest: 6}},
		"one within another":       {[]judge.Window{{From: at(2), To: at(9)}, {From: at(3), To: at(4)}}, grace{Usual: 1, Longer: 7, Longest: 8}},
		"one before and after":     {[]judge.Window{{From: at(-5), To: at(30)}}, grace{Usual: 1, Longer: 20, Longest: 36}},
		"late all the time":        {[]judge.Window{{From: at(0), To: at(20), Late: 2 * time.Second}}, grace{Usual: 1, Longer: 20, Longest: 3}},
		"of two operators at once": {[]judge.Window{{From: at(2), To: at(5), Agent: "a"}, {From: at(2), To: at(5), Agent: "b"}}, grace{Usual: 1, Longer: 3, Longest: 4}},
	} {
		if got := graceOf(test.windows, began, at(20)); got != test.want {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
}

// onTrial is a trial of a plan that has begun, with an operator that talks to nobody.
func onTrial(t *testing.T, faults ...fault) (*trial, *replica) {
	t.Helper()
	trial := &trial{ground: &ground{}, plan: plan{faults: faults}, began: time.Now().Add(-time.Minute), faults: map[string]int{}}
	r := &replica{trial: trial, number: 0}
	var err error
	if r.proxy, err = faultproxy.Start("http://127.0.0.1:1", nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.proxy.Close)
	trial.replicas = []*replica{r}
	return trial, r
}

func TestAnOperatorIsExcusedByWhatBefellItAlone(t *testing.T) {
	t.Parallel()
	late := fault{replica: -1, late: map[string]time.Duration{"pods": 2 * time.Second, "leases": 9 * time.Second}}
	ofTheOther := fault{replica: 1, late: map[string]time.Duration{"pods": 5 * time.Second}}
	trial, r := onTrial(t, late, ofTheOther)
	if got := trial.windows(); len(got) != 1 || got[0].Late != 2*time.Second || got[0].Agent != "(first)" || got[0].Live {
		t.Fatalf("late watches excuse by %+v", got)
	}
	r.lags()
	if got := trial.windows(); len(got) != 2 || got[1].Late != lag+2*time.Second || got[1].From.Before(trial.began) {
		t.Fatalf("and an API server that lags by %+v", got)
	}
	away := absence{from: time.Now().Add(-10 * time.Second), to: time.Now().Add(-9 * time.Second)}
	trial.ground.gone = []absence{away}
	if got := trial.windows(); len(got) != 3 || got[2].From != away.from || got[2].To != away.to.Add(recovering) {
		t.Errorf("and the control plane that was away by %+v", got)
	}
}

func TestAnOperatorThatFailsBreaksThePlanUnlessTheControlPlaneWasAway(t *testing.T) {
	t.Parallel()
	trial, _ := onTrial(t)
	now := time.Now()
	trial.ground.gone = []absence{{from: now.Add(-20 * time.Second), to: now.Add(-10 * time.Second)}}
	trial.failed(now.Add(-15*time.Second), "while it was away")
	if len(trial.failures) != 0 || len(trial.remarks) != 1 {
		t.Errorf("failures are %q, remarks %q", trial.failures, trial.remarks)
	}
	trial.failed(now, "by itself")
	if len(trial.failures) != 1 || len(trial.happened()) != 1 { // the absence is the only fault
		t.Errorf("failures are %q, faults %v", trial.failures, trial.faults)
	}
}

func TestATrapWaitsForTheLeaderAndThenForAnybody(t *testing.T) {
	t.Parallel()
	leader, other := &replica{}, &replica{}
	leader.led.Store(time.Now().UnixNano())
	trap := trap{}
	if trap.closes(leader) {
		t.Error("it closes before it is armed")
	}
	trap.arm()
	if trap.closes(other) || !trap.closes(leader) || trap.closes(leader) {
		t.Error("it is not the leader, once, who is caught")
	}
	if trap.disarm() {
		t.Error("it was armed after somebody was caught")
	}
	trap.arm()
	trap.armed = time.Now().Add(-leaderOnly)
	if !trap.closes(other) {
		t.Error("nobody else is ever caught")
	}
	trap.arm()
	if !trap.disarm() || trap.closes(leader) {
		t.Error("it closes though it is not armed any more")
	}
}

func TestEvictionsThatWereGrantedAreCounted(t *testing.T) {
	t.Parallel()
	eviction := judge.Request{Resource: "pods/eviction", Verb: "create", Code: 201}
	refused, missing, trial := eviction, eviction, eviction
	refused.Code, missing.Code, trial.DryRun = 429, 404, true
	deletion := judge.Request{Resource: "pods", Verb: "delete", Code: 200}
	if n := granted([]judge.Request{eviction, refused, missing, trial, deletion, eviction}); n != 2 {
		t.Errorf("%d are counted, want 2", n)
	}
}
