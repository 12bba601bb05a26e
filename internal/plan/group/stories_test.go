package group_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// stories are keyed by the names of their files in testdata/stories. Each file is the
// log of a rollout from its beginning to its end.
var stories = map[string]func(*fixture.Story){
	"rollout-of-three-zones-with-three-pods": func(s *fixture.Story) {
		ask(s, "2")
		s.ToTheEnd()
	},
	"rollout-deletes-two-pods-at-a-time": func(s *fixture.Story) {
		s.World.Zones(func(z *group.Zone) { z.MaxUnavailable = plan.Budget{Pods: 2} })
		ask(s, "2")
		s.ToTheEnd()
	},
	"broken-revision-is-replaced-by-good-revision": func(s *fixture.Story) {
		s.World.Bad["2"] = true
		ask(s, "2")
		s.ToTheEnd()
		ask(s, "3")
		s.ToTheEnd()
	},
	"revision-is-reverted-during-rollout": func(s *fixture.Story) {
		ask(s, "2")
		s.Until(updated(4))
		ask(s, "1")
		s.ToTheEnd()
	},
	"zone-is-paused-and-resumed-during-rollout": func(s *fixture.Story) {
		ask(s, "2")
		s.Until(updated(2))
		s.Tell("zone-a is paused while a pod of it is down")
		s.World.Zone("zone-a", func(z *group.Zone) { z.Paused = true })
		s.ToTheEnd()
		s.Tell("zone-a is resumed")
		s.World.Zone("zone-a", func(z *group.Zone) { z.Paused = false })
		s.ToTheEnd()
	},
	"zones-are-scaled-to-zero-during-rollout": func(s *fixture.Story) {
		ask(s, "2")
		s.Until(updated(1))
		s.Tell("zone-a and zone-b are scaled to 0")
		for _, zone := range []string{"zone-a", "zone-b"} {
			s.World.Zone(zone, func(z *group.Zone) { z.Replicas, z.Observed = 0, false })
		}
		s.ToTheEnd()
	},
	"followers-scale-up-and-down-with-their-leader": func(s *fixture.Story) {
		lead(s)
		s.Tell("zone-a is scaled to 5")
		s.World.Zone("zone-a", func(z *group.Zone) { z.Replicas, z.Observed = 5, false })
		s.ToTheEnd()
		s.Tell("2 replicas of zone-a are forced")
		s.World.Zone("zone-a", func(z *group.Zone) { z.Forced = group.Force{Given: true, Replicas: 2} })
		s.ToTheEnd()
	},
	"follower-scales-down-between-zones-of-a-rollout": func(s *fixture.Story) {
		lead(s)
		ask(s, "2")
		s.Until(updated(1))
		s.Tell("2 replicas of zone-b are forced")
		s.World.Zone("zone-b", func(z *group.Zone) { z.Forced = group.Force{Given: true, Replicas: 2} })
		s.ToTheEnd()
	},
	"pod-declines-prepare-call-and-later-acknowledges": func(s *fixture.Story) {
		s.World.Zones(fixture.Prepares())
		for _, pod := range []string{"zone-b-1", "zone-b-2"} {
			s.World.Pod(pod, func(p *plan.Pod) { p.IP = "10.0.0.1" })
		}
		s.Tell("1 replica of zone-b is forced, and zone-b-1 declines")
		s.World.Declining["zone-b-1"] = true
		s.World.Zone("zone-b", func(z *group.Zone) { z.Forced = group.Force{Given: true, Replicas: 1} })
		s.Until(func(s group.Snapshot) bool { return len(s.Hold.GivenUp) > 0 })
		s.Tell("zone-b-1 will acknowledge")
		s.World.Declining["zone-b-1"] = false
		s.ToTheEnd()
	},
	"withdrawn-delayed-downscale-notifies-pods-that-they-stay": func(s *fixture.Story) {
		mirror(s, "zone-b", 1)
		s.Until(acknowledged(1))
		s.Tell("the resource of zone-b wants 3 replicas again")
		mirrors(s, "zone-b", 3)
		s.ToTheEnd()
	},
	"delayed-downscale-completes-after-restart-and-late-acknowledgement": func(s *fixture.Story) {
		s.World.Silent["zone-b-1"] = true
		mirror(s, "zone-b", 1)
		s.Until(acknowledged(1))
		s.Tell("another process continues, and zone-b-1 will answer")
		s.World.Forget()
		s.World.Silent["zone-b-1"] = false
		s.ToTheEnd()
	},
	"two-broken-zones-recover-with-good-revision": func(s *fixture.Story) {
		s.Tell("revision 2 breaks a pod of zone-a and a pod of zone-b")
		s.World.Bad["2"] = true
		for _, pod := range []string{"zone-a-1", "zone-b-2"} {
			s.World.Pod(pod, func(p *plan.Pod) {
				p.Revision, p.Phase, p.Why = "2", plan.Failing, "CrashLoopBackOff"
			})
		}
		ask(s, "2")
		s.ToTheEnd()
		ask(s, "3")
		s.ToTheEnd()
	},
}

func TestStoriesGolden(t *testing.T) {
	for name, happen := range stories {
		t.Run(name, func(t *testing.T) {
			story := fixture.NewStory(fixture.NewWorld(threeByThree()))
			happen(story)
			for _, violation := range story.World.Violations {
				t.Errorf("a plan breaks a rule: %s", violation)
			}
			file := "testdata/stories/" + name + ".txt"
			if *update {
				write(t, file, story.String())
				return
			}
			if diff := cmp.Diff(read(t, file), story.String()); diff != "" {
				t.Errorf("another story (-want +got)\n%s", diff)
			}
		})
	}
	files, err := filepath.Glob("testdata/stories/*.txt")
	if err != nil || len(files) != len(stories) {
		t.Errorf("%d files in testdata/stories for %d stories (%v)", len(files), len(stories), err)
	}
}

func threeByThree() group.Snapshot {
	return fixture.Group(
		fixture.Zone("zone-a", "1", fixture.Pods("1", "1", "1")),
		fixture.Zone("zone-b", "1", fixture.Pods("1", "1", "1")),
		fixture.Zone("zone-c", "1", fixture.Pods("1", "1", "1")),
	)
}

// lead makes zone-a the leader of zone-b, and zone-b the leader of zone-c.
func lead(s *fixture.Story) {
	s.World.Zone("zone-b", func(z *group.Zone) { z.Leader = "zone-a" })
	s.World.Zone("zone-c", func(z *group.Zone) { z.Leader = "zone-b" })
}

// mirror gives a zone as many replicas as a resource, and a delay before its pods are removed.
func mirror(s *fixture.Story, zone string, replicas int) {
	s.Tell(fmt.Sprintf("the resource of %s wants %d replicas, and pods wait 30s before they are removed", zone, replicas))
	s.World.Zone(zone, fixture.Delays(30*time.Second))
	for i := range 3 {
		s.World.Pod(plan.PodName(zone, i), func(p *plan.Pod) { p.IP = "10.0.0.1" })
	}
	mirrors(s, zone, replicas)
}

func mirrors(s *fixture.Story, zone string, replicas int) {
	s.World.Zone(zone, fixture.Mirrors("web", replicas))
}

// acknowledged is reached when the hold records at least that many ranges of pods that
// acknowledged.
func acknowledged(n int) func(group.Snapshot) bool {
	return func(s group.Snapshot) bool { return len(s.Hold.Acknowledged["zone-b"].OrdinalRanges) >= n }
}

// ask changes the template of every zone.
func ask(s *fixture.Story, revision string) {
	s.Tell("every zone wants revision " + revision)
	s.World.Zones(func(z *group.Zone) { z.UpdateRevision = revision })
}

// updated is reached when that many pods are at revision 2.
func updated(n int) func(group.Snapshot) bool {
	return func(s group.Snapshot) bool {
		count := 0
		for _, z := range s.Zones {
			for _, p := range z.Pods {
				if p.Revision == "2" {
					count++
				}
			}
		}
		return count >= n
	}
}
