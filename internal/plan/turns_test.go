package plan_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/fixture"
)

const threeOutdated = `
zone-a rev=2 current=1
  zone-a-0 ready@1 zone-a-1 ready@1
zone-b rev=2 current=1
  zone-b-0 ready@1 zone-b-1 ready@1
zone-c rev=2 current=1
  zone-c-0 ready@1 zone-c-1 ready@1
`

// Somebody else, such as a PodDisruptionBudget, refuses what was granted, every time. A
// grant stands for longer than a place in the queue.
func TestARolloutTakesTurnsWithEvictionsThatNeverGetThrough(t *testing.T) {
	for sentence, tc := range map[string]struct {
		budget string
		drains []string
	}{
		"of two other zones":             {"", []string{"zone-b-0", "zone-c-0"}},
		"of its own zone and of another": {"", []string{"zone-a-0", "zone-b-0"}},
		"of one zone":                    {"", []string{"zone-b-0"}},
		"of two partitions":              {"zpdb store regex=\"zone-.-([0-9]+)\"\n", []string{"zone-b-0", "zone-c-1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := fixture.NewWorld(fixture.MustParse(tc.budget + threeOutdated))
			grants := map[string]int{}
			for second := range 1800 {
				for _, pod := range tc.drains {
					if second%5 != 0 {
						continue
					}
					if p := w.Drain(pod); p.Allowed() && p.NeedsNote() {
						grants[pod]++
					}
				}
				w.Round()
				w.Tick()
			}
			for _, z := range w.Snapshot().Zones {
				if slices.ContainsFunc(z.Pods, z.Outdated) {
					t.Errorf("%s is not rolled after half an hour", z.Name)
				}
			}
			for _, pod := range tc.drains {
				if grants[pod] == 0 {
					t.Errorf("%s was never granted: %v", pod, grants)
				}
			}
			if len(w.Violations) > 0 {
				t.Error(w.Violations)
			}
		})
	}
}

// Evicted pods keep their zones from being whole until they are back.
func TestARolloutTakesTurnsWithDrainsWithoutAnEnd(t *testing.T) {
	for _, budget := range []string{"", "zpdb store limit=2\n", "zpdb store regex=\"zone-.-([0-9]+)\"\n"} {
		for _, away := range []int{60, 150, 300} {
			t.Run(fmt.Sprint(budget, away), func(t *testing.T) {
				w := fixture.NewWorld(fixture.MustParse(budget + threeOutdated))
				back := map[string]int{}
				for second := range 2 * 3600 {
					for pod, at := range back {
						if at == second {
							delete(w.Stuck, pod)
							delete(back, pod)
						}
					}
					for _, name := range []string{"zone-b-0", "zone-b-1", "zone-c-0", "zone-c-1"} {
						s := w.Snapshot()
						if pod, is := s.Pod(name); second%5 != 0 || !is || !pod.Up() {
							continue
						}
						if p := w.Drain(name); p.Allowed() && p.NeedsNote() {
							w.Leave(name)
							w.Stuck[name], back[name] = true, second+away
						}
					}
					w.Round()
					w.Tick()
				}
				for _, z := range w.Snapshot().Zones {
					if slices.ContainsFunc(z.Pods, z.Outdated) {
						t.Errorf("%s is not rolled after two hours", z.Name)
					}
				}
				if len(w.Violations) > 0 {
					t.Error(w.Violations)
				}
			})
		}
	}
}

// The volumes of both pods are on the node that is drained, so the first one can start
// only when the drain is over.
func TestADrainIsFinishedAlthoughARolloutOfAnotherZoneCameBefore(t *testing.T) {
	w := fixture.NewWorld(fixture.MustParse("zpdb store limit=2\n" + threeOutdated))
	evict := func(pod string) bool {
		if p := w.Drain(pod); !p.Allowed() || !p.NeedsNote() {
			return false
		}
		w.Leave(pod)
		w.Stuck[pod] = true
		return true
	}
	if !evict("zone-b-0") {
		t.Fatal("the first pod of the node is not evicted")
	}
	granted := -1
	for second := range 1200 {
		if second > 20 && granted < 0 && second%5 == 0 && evict("zone-b-1") {
			granted = second
		}
		if granted >= 0 && second == granted+30 {
			clear(w.Stuck) // the node is back
		}
		w.Round()
		w.Tick()
	}
	if granted < 0 || granted > 180 {
		t.Errorf("the second pod of the node is evicted after %d s, want three minutes at most", granted)
	}
	for _, z := range w.Snapshot().Zones {
		if slices.ContainsFunc(z.Pods, z.Outdated) {
			t.Errorf("%s is not rolled after twenty minutes", z.Name)
		}
	}
	if len(w.Violations) > 0 {
		t.Error(w.Violations)
	}
}
