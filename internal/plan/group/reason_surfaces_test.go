package group_test

import (
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture/draw"
)

// unseen returns the reasons among waits that need a person and that, according to the
// catalogue, users do not see in that place.
func unseen(waits []plan.Wait, place reason.Surface) []reason.Code {
	var wrong []reason.Code
	for _, w := range waits {
		e, _ := reason.Explain(w.Because.Code)
		if e.Kind == reason.Attention && !slices.Contains(e.Seen(), place) {
			wrong = append(wrong, e.Code)
		}
	}
	return wrong
}

// Alerts rely on the catalogue for where users see a reason.
func TestReasonsAreSeenWhereTheCatalogueSaysSo(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := draw.Odd().Draw(rt, "group")
		status := group.Describe(s, group.Plan(s))
		if wrong := unseen(status.Waits, reason.InWaits); len(wrong) > 0 {
			rt.Errorf("something waits for %v", wrong)
		}
		if wrong := unseen(status.Remarks, reason.InRemarks); len(wrong) > 0 {
			rt.Errorf("there are remarks %v", wrong)
		}
		outlook := group.OutlookOf(s)
		for _, z := range s.Zones {
			for _, pod := range z.Pods {
				permit := outlook.Evict(plan.EvictionRequest{Pod: pod.Name, UID: pod.UID})
				if wrong := unseen([]plan.Wait{{Because: permit.Because}}, reason.InRefusals); len(wrong) > 0 {
					rt.Errorf("an eviction is refused for %v", wrong)
				}
			}
		}
	})
}

// If the catalogue says that zones wait for a reason, a scenario has such a wait.
func TestEveryReasonListedAsAWaitIsReported(t *testing.T) {
	waited := map[reason.Code]bool{
		// Planners do not know these.
		reason.RequestForbidden: true, reason.InvariantViolated: true, reason.ReferenceUnreadable: true,
		// These are in TestEveryOutputShowsTheSameReasonForAStuckGroup.
		reason.InvalidPrepareCall: true, reason.InvalidDownscaleTime: true,
	}
	files, err := filepath.Glob("testdata/scenarios/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		scenario, err := fixture.Parse(read(t, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range group.Describe(scenario.Snapshot, group.Plan(scenario.Snapshot)).Waits {
			waited[w.Because.Code] = true
		}
	}
	for _, e := range reason.All() {
		if slices.Contains(e.Seen(), reason.InWaits) && !waited[e.Code] {
			t.Errorf("nothing waits for %s", e.Code)
		}
	}
}

// An Outlook gives concurrent callers the same answers as a single caller.
func TestManyMayAskAnOutlookAtATime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := draw.Odd().Draw(rt, "group")
		outlook := group.OutlookOf(s)
		var asking sync.WaitGroup
		for _, z := range s.Zones {
			for _, pod := range z.Pods {
				asking.Go(func() {
					ask := plan.EvictionRequest{Pod: pod.Name, UID: pod.UID}
					if diff := cmp.Diff(group.Evict(s, ask), outlook.Evict(ask)); diff != "" {
						rt.Errorf("%s (-alone +together):\n%s", pod.Name, diff)
					}
				})
			}
		}
		asking.Wait()
	})
}
