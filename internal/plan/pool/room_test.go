package pool_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func TestAPlanReplacesAtMostAsManyEndedPodsAsTheHoldHasRoomFor(t *testing.T) {
	for sentence, disrupted := range map[string]bool{"they ended by themselves": false, "their kubelets ended them": true} {
		t.Run(sentence, func(t *testing.T) {
			s := atRest(pool.MaxIntents+3, pool.KeepPolicy{})
			s.Draw = drawn()
			for i := range s.Pods {
				s.Pods[i].Finished, s.Pods[i].Disrupted = true, disrupted
			}
			if n := len(plan.Only[plan.DeletePod](pool.Plan(s))); n != pool.MaxIntents {
				t.Errorf("the plan deletes %d pods, want %d", n, pool.MaxIntents)
			}
		})
	}
}

func TestAPlanDeletesAtMostAsManyPodsAsTheHoldHasRoomFor(t *testing.T) {
	s := atRest(2*pool.MaxIntents, pool.KeepPolicy{})
	s.Object.Replicas = 0
	first := plan.Only[plan.DeletePod](pool.Plan(s))
	if len(first) != pool.MaxIntents {
		t.Fatalf("the first plan deletes %d pods, want %d", len(first), pool.MaxIntents)
	}
	const open = 3
	for _, d := range first[:open] { // their deletions are underway
		s.Hold.Intents = append(s.Hold.Intents, plan.Intent{Pod: d.Pod, Zone: d.Zone, UID: d.UID, Version: d.Version, Cause: reason.ScaledDown})
	}
	recorded, others := 0, 0
	for _, d := range plan.Only[plan.DeletePod](pool.Plan(s)) {
		if d.AlreadyRecorded {
			recorded++
		} else {
			others++
		}
	}
	if recorded != open || others != pool.MaxIntents-open {
		t.Errorf("beside %d records, a plan repeats %d deletions and adds %d", open, recorded, others)
	}
}
