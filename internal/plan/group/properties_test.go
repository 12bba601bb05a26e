package group_test

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture/draw"
)

// A hundred cases are too few for rare situations. The flag -rapid.checks and
// RAPID_CHECKS take precedence.
func init() {
	if os.Getenv("RAPID_CHECKS") == "" {
		if err := flag.Set("rapid.checks", "1000"); err != nil {
			panic(err)
		}
	}
}

func TestSafety(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		show(t, s)
		mustBeSafe(t, s)
	})
}

func TestSafetyOfOddSnapshots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Odd().Draw(t, "snapshot")
		show(t, s)
		mustBeSafe(t, s)
	})
}

func TestDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Odd().Draw(t, "snapshot")
		show(t, s)
		first := plan.Notation(group.Plan(s))
		for range 5 { // map iteration order differs each time
			if again := plan.Notation(group.Plan(s)); again != first {
				t.Fatalf("first\n%s\nthen\n%s", first, again)
			}
		}
	})
}

func TestDeterministicWhateverTheOrderOfIntents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		show(t, s)
		want := sortedLines(group.Plan(s))
		s.Hold.Intents = rapid.Permutation(s.Hold.Intents).Draw(t, "intents")
		if diff := cmp.Diff(want, sortedLines(group.Plan(s))); diff != "" {
			t.Fatalf("shuffled intents give another plan (-want +got)\n%s", diff)
		}
	})
}

func TestPlanDoesNotChangeTheSnapshot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Odd().Draw(t, "snapshot")
		before := fixture.Clone(s)
		hold.Decide(&s, group.Plan(s))
		if diff := cmp.Diff(before, s, sameRegex); diff != "" {
			t.Fatalf("the snapshot changed (-before +after)\n%s", diff)
		}
	})
}

func TestNoStutter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := fixture.NewWorld(draw.Legal().Draw(t, "snapshot"))
		show(t, w.Snapshot())
		done, _ := w.Round()
		for _, again := range group.Plan(w.Snapshot()) {
			if slices.ContainsFunc(done, same(again)) {
				t.Fatalf("%s is planned again", again)
			}
		}
	})
}

// A plan that deletes a pod does not release the hold that covers the delete.
func TestNoPlanReleasesTheHoldTogetherWithADelete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Odd().Draw(t, "snapshot")
		show(t, s)
		if steps := group.Plan(s); plan.Disrupts(steps) && plan.Has[plan.Release](steps) {
			t.Fatalf("the hold is released together with a delete\n%s", plan.Notation(steps))
		}
	})
}

// sameRegex compares regexes by pointer: each of them is created once and never
// changed.
var sameRegex = cmp.Comparer(func(a, b *regexp.Regexp) bool { return a == b })

// same reports whether two steps are the same action on the same object. Waits may
// repeat.
func same(a plan.Action) func(plan.Action) bool {
	return func(b plan.Action) bool {
		if _, waits := a.(plan.Wait); waits {
			return false
		}
		return a.String() == b.String()
	}
}

func TestExplainedSilence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		show(t, s)
		steps := group.Plan(s)
		if silent, goal := len(steps) == 0, fixture.AtGoal(s); silent != goal {
			t.Fatalf("the plan is empty: %t, the goal is reached: %t\n%s", silent, goal, plan.Notation(steps))
		}
	})
}

func TestCaution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		show(t, s)
		before := disruptions(group.Plan(s))
		z, p := drawPod(t, s)
		if p == nil || p.Phase != plan.Ready {
			return
		}
		p.Phase, p.ReadySince = plan.Starting, time.Time{}
		for pod, zone := range disruptions(group.Plan(s)) {
			if _, planned := before[pod]; !planned && zone != z {
				t.Fatalf("%s of %s is deleted because %s is not Ready any more", pod, zone, p.Name)
			}
		}
	})
}

func drawPod(t *rapid.T, s group.Snapshot) (string, *plan.Pod) {
	z := rapid.SampledFrom(s.Zones).Draw(t, "the zone of a pod")
	if len(z.Pods) == 0 {
		return z.Name, nil
	}
	return z.Name, &z.Pods[rapid.IntRange(0, len(z.Pods)-1).Draw(t, "the pod")]
}

// If a wait ends by time alone, the plan says when. Before the time that Wake returns,
// no new action is due, so no evaluation is necessary in between.
func TestWakesInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		if s.Hold.Holder.Operation() == plan.RolloutOperation {
			s.Hold.Renewed = s.Now // renewed anyway
		}
		show(t, s)
		steps := group.Plan(s)
		wake := plan.Wake(steps)
		if !wake.IsZero() && wake.Before(s.Now) {
			t.Fatalf("the timer is set to %s, which is in the past\n%s", wake.Sub(s.Now), plan.Notation(steps))
		}
		records := func(step plan.Action) bool { _, is := step.(group.RecordDownscale); return is }
		if plan.Disrupts(steps) || slices.ContainsFunc(steps, records) {
			return // the actions cause events
		}
		for d := time.Duration(1); d <= 2*time.Minute; d += time.Second {
			later := s
			later.Now = s.Now.Add(d)
			if !wake.IsZero() && !later.Now.Before(wake) {
				return
			}
			if next := group.Plan(later); plan.Disrupts(next) {
				t.Fatalf("after %s there is something to do and no timer is set (wake: %v)\n%s\nthen\n%s",
					d, wake, plan.Notation(steps), plan.Notation(next))
			}
		}
	})
}

// From any situation, a group reaches its goal safely if pods become Ready and people
// correct the problems that only people can correct.
func TestProgress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		s.Budgets = usable(s.Budgets)
		w := fixture.NewWorld(s)
		show(t, w.Snapshot())
		w.Zones(mend)
		mustReachGoal(t, w)
	})
}

// A group that a bad revision has broken, at any stage of its rollout, continues when
// it gets a good revision.
func TestRepairable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		s.Budgets = usable(s.Budgets)
		w := fixture.NewWorld(s)
		show(t, w.Snapshot())
		w.Zones(mend)
		w.Bad["2"], w.Bad["3"] = true, true
		for range rapid.IntRange(0, 30).Draw(t, "rounds with the bad revision") {
			w.Round()
			w.Tick()
		}
		w.Zones(func(z *group.Zone) { z.UpdateRevision = "4" })
		mustReachGoal(t, w)
	})
}

func mustReachGoal(t *rapid.T, w *fixture.World) {
	const bound = 600 // seconds; 12 pods one after the other, minReady and a foreign hold included
	for range bound {
		seen := w.Snapshot()
		for _, z := range seen.Zones {
			if _, leads := seen.Zone(z.Leader); z.Leader != "" && !leads { // the leader was being deleted
				w.Zone(z.Name, func(z *group.Zone) { z.Leader = "" })
			}
		}
		w.Round()
		if len(w.Violations) > 0 {
			t.Fatalf("a plan breaks a rule: %v\n%s", w.Violations, fixture.PrintSnapshot(w.Snapshot()))
		}
		if s := w.Snapshot(); fixture.AtGoal(s) && len(group.Plan(s)) == 0 {
			return
		}
		w.Tick()
	}
	s := w.Snapshot()
	t.Fatalf("after %d s the goal is not reached\n%s\n%s", bound, fixture.PrintSnapshot(s), strings.Join(fixture.Outcome(s), "\n"))
}

// The controller checks the invariants before it acts. A plan that requires a live read
// first must already be safe before that read.
func TestSafetyBeforeTheLiveRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Legal().Draw(t, "snapshot")
		show(t, s)
		s.Live = false
		steps := group.Plan(s)
		decision := hold.Decide(&s, steps)
		if v := invariant.Check(s, steps, decision); v != nil {
			t.Fatalf("%v\n%s", v, plan.Notation(steps))
		}
	})
}

// show prints the snapshot of a failing case in the notation of scenarios.
func show(t *rapid.T, s group.Snapshot) { t.Log("\n" + fixture.PrintSnapshot(s)) }

func sortedLines(steps []plan.Action) []string {
	lines := strings.Split(plan.Notation(steps), "\n")
	slices.Sort(lines)
	return lines
}

// disruptions returns the pods that the plan deletes and that are up, with their zones.
func disruptions(steps []plan.Action) map[string]string {
	pods := map[string]string{}
	for _, step := range steps {
		if d, ok := step.(plan.DeletePod); ok && d.Up {
			pods[d.Pod] = d.Zone
		}
	}
	return pods
}

// usable keeps only the first valid budget. Only people can correct invalid budgets,
// and budgets that cover the same pods.
func usable(budgets []group.DisruptionBudget) []group.DisruptionBudget {
	for _, b := range budgets {
		if b.Invalid == "" {
			return []group.DisruptionBudget{b}
		}
	}
	return nil
}

// mend corrects the problems that only people can correct.
func mend(z *group.Zone) {
	z.Paused, z.OnDelete, z.Barred = false, true, false
	z.Mirror.Scale.Trouble = plan.Refusal{}
	if z.Delay.Invalid != "" {
		z.Delay = group.Delay{}
	}
	if z.Leader >= z.Name { // so that leaders form no cycle, and every leader exists
		z.Leader = ""
	}
}
