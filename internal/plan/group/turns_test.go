package group_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

const threeOutdated = `
zone-a rev=2 current=1
  zone-a-0 ready@1 zone-a-1 ready@1
zone-b rev=2 current=1
  zone-b-0 ready@1 zone-b-1 ready@1
zone-c rev=2 current=1
  zone-c-0 ready@1 zone-c-1 ready@1
`

// Another party, such as a PodDisruptionBudget, refuses every granted eviction. A grant
// lasts longer than a place in the queue.
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
					if p := w.Drain(pod); p.Allowed() && p.NeedsRecord() {
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

// A zone is unavailable until its evicted pods are back.
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
						if p := w.Drain(name); p.Allowed() && p.NeedsRecord() {
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

const allCurrent = `
zone-a rev=1
  zone-a-0 ready@1 zone-a-1 ready@1
zone-b rev=1
  zone-b-0 ready@1 zone-b-1 ready@1
zone-c rev=1
  zone-c-0 ready@1 zone-c-1 ready@1
`

// Pods whose volumes are on the drained node can start only when its drain is over. So an
// operation that waits for them must not have its turn before the rest of that drain.
func TestADrainFinishesWhileOthersWaitForItsPods(t *testing.T) {
	const limited, partitioned = "zpdb store limit=2\n", "zpdb store regex=\"zone-.-([0-9]+)\"\n"
	nodeOfZoneB := []string{"zone-b-0", "zone-b-1"}
	for sentence, tc := range map[string]struct {
		world string
		nodes []drain
	}{
		"a rollout of another zone that comes when the first pod has left": {limited + threeOutdated, []drain{{pods: nodeOfZoneB}}},
		"a rollout of another zone that is under way":                      {limited + threeOutdated, []drain{{pods: nodeOfZoneB, begins: 1}}},
		"the same where partitions count":                                  {partitioned + threeOutdated, []drain{{pods: nodeOfZoneB, begins: 1}}},
		"drains of two other zones": {limited + allCurrent, []drain{
			{pods: []string{"zone-a-0", "zone-a-1"}}, {pods: nodeOfZoneB, begins: 1}, {pods: []string{"zone-c-0", "zone-c-1"}, begins: 2},
		}},
		"a drain of another zone, for a pod that was rolled": {
			limited + "zone-b rev=2 current=1\n  zone-b-0 ready@1 zone-b-1 ready@2\nzone-c rev=2\n  zone-c-0 ready@2 zone-c-1 ready@2\n",
			[]drain{{pods: nodeOfZoneB, cordoned: true, begins: 30}, {pods: []string{"zone-c-0"}, begins: 1}},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := fixture.NewWorld(fixture.MustParse(tc.world))
			for _, node := range tc.nodes {
				for _, pod := range node.pods {
					w.Stuck[pod] = node.cordoned
				}
			}
			for second := range 1800 {
				for i := range tc.nodes {
					tc.nodes[i].ask(w, second)
				}
				w.Round()
				w.Tick()
			}
			for _, node := range tc.nodes {
				if !node.over {
					t.Errorf("the drain of the node of %v is not over after half an hour", node.pods)
				}
			}
			for _, z := range w.Snapshot().Zones {
				if slices.ContainsFunc(z.Pods, z.Outdated) {
					t.Errorf("%s is not rolled after half an hour", z.Name)
				}
			}
			if len(w.Violations) > 0 {
				t.Error(w.Violations)
			}
		})
	}
}

// drain drains a node. Its pods start on no other node, and on this one only a minute after
// the last of them was evicted.
type drain struct {
	pods     []string
	begins   int  // in this second
	cordoned bool // from the beginning
	left     int  // when the last pod was evicted
	over     bool
}

// ask requests the eviction of each remaining pod every five seconds.
func (d *drain) ask(w *fixture.World, second int) {
	if d.over || second < d.begins || (second-d.begins)%5 != 0 {
		return
	}
	remain := 0
	for _, name := range d.pods {
		s := w.Snapshot()
		switch pod, exists := s.Pod(name); {
		case !exists || !pod.Up():
		case w.Drain(name).Allowed():
			w.Leave(name)
			w.Stuck[name], d.left = true, second
		default:
			remain++
		}
	}
	if remain > 0 || second < d.left+60 {
		return
	}
	for _, name := range d.pods {
		delete(w.Stuck, name)
	}
	d.over = true
}
