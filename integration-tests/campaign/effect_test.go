package main

import (
	"errors"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

func TestLeadershipDeletedCountsExistingLease(t *testing.T) {
	t.Parallel()
	const namespace = "plan-1"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: judge.LeaderLease}}
	for want, client := range []*fake.Clientset{fake.NewClientset(), fake.NewClientset(lease)} {
		trial, _ := newTrialForTest(t)
		trial.namespace, trial.client = namespace, client
		if err := leadershipDeleted(rand.New(rand.NewPCG(1, 0))).run(t.Context(), trial, nil); err != nil {
			t.Fatal(err)
		}
		if got := trial.ownFaults()["leadership deleted"]; got != want {
			t.Errorf("%d are counted, want %d", got, want)
		}
	}
}

func TestCrashWithoutProcessIsNotCounted(t *testing.T) {
	t.Parallel()
	trial, r := newTrialForTest(t)
	r.crash(crashAfter)()
	if got := trial.ownFaults(); len(got) > 0 {
		t.Errorf("counted are %v", got)
	}
}

func TestForeignFaultsAreThoseDuringSteps(t *testing.T) {
	t.Parallel()
	trial, other := &trial{env: &environment{}}, &trial{}
	now := time.Now()
	at := func(seconds int) time.Time { return now.Add(time.Duration(seconds) * time.Second) }
	trial.env.absences = []absence{
		{kind: "while it was prepared", by: other, from: at(-50), to: at(-48)},
		{kind: "when users began", by: other, from: at(-41), to: at(-39)},
		{kind: "of its own", by: trial, from: at(-30), to: at(-28)},
		{kind: "after the goal", by: other, from: at(-10), to: at(-8)},
	}
	trial.env.pauses = []absence{
		{kind: "a pause of its own", by: trial, from: at(-30), to: at(-28)},
		{kind: "a pause", by: other, from: at(-30), to: at(-28)},
		{kind: "a pause after the goal", by: other, from: at(-10), to: at(-8)},
	}
	if got := trial.foreignFaults(); len(got) > 0 {
		t.Errorf("before the steps: got %v, want no effect", got)
	}
	trial.stepsBegan, trial.stepsEnded = at(-40), at(-20)
	if got, want := trial.foreignFaults(), map[string]int{"when users began for another plan": 1, "a pause for another plan": 1}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestWasCompleteUnlessAbsenceIsPermanent(t *testing.T) {
	t.Parallel()
	now := time.Now()
	before, after := now.Add(-time.Second), now.Add(time.Second)
	for name, test := range map[string]struct {
		absence absence
		want    bool
	}{
		"it was back in time": {absence{from: before.Add(-time.Second), to: before}, true},
		"it came back later":  {absence{from: before, to: after}, true},
		"it never came back":  {absence{from: before, permanent: true}, false},
		"it was lost later":   {absence{from: after, permanent: true}, true},
		"it ends later":       {absence{from: after}, true},
	} {
		e := &environment{absences: []absence{test.absence}}
		if got := e.wasComplete(now); got != test.want {
			t.Errorf("%s: had an effect %t, want %t", name, got, test.want)
		}
	}
}

func TestMissedGoalIsConclusive(t *testing.T) {
	t.Parallel()
	trial, _ := newTrialForTest(t)
	trial.missed = errors.New("no rollout")
	for name, r := range map[string]record{
		"it cannot judge": trial.partialRecord(),
		"it is in doubt":  trial.record(judge.Verdict{Unexplained: []string{"no request"}}, nil),
	} {
		if r.Missed == "" || r.Reached || !r.isConclusive() {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
