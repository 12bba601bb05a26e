package plan_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/fixture"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// stories by the names of their files in testdata/stories; each file is the log
// of a rollout from its beginning to its end.
var stories = map[string]func(*fixture.Story){
	"three-zones-of-three-pods": func(s *fixture.Story) {
		ask(s, "2")
		s.ToTheEnd()
	},
	"two-at-a-time": func(s *fixture.Story) {
		s.World.Zones(func(z *plan.Zone) { z.MaxUnavailable = plan.Budget{Pods: 2} })
		ask(s, "2")
		s.ToTheEnd()
	},
	"a-bad-revision-then-a-good-one": func(s *fixture.Story) {
		s.World.Bad["2"] = true
		ask(s, "2")
		s.ToTheEnd()
		ask(s, "3")
		s.ToTheEnd()
	},
	"reverted-midway": func(s *fixture.Story) {
		ask(s, "2")
		s.Until(pods("2", 4))
		ask(s, "1")
		s.ToTheEnd()
	},
	"paused-and-resumed": func(s *fixture.Story) {
		ask(s, "2")
		s.Until(pods("2", 2))
		s.Tell("zone-a is paused while a pod of it is down")
		s.World.Zone("zone-a", func(z *plan.Zone) { z.Paused = true })
		s.ToTheEnd()
		s.Tell("zone-a may go on")
		s.World.Zone("zone-a", func(z *plan.Zone) { z.Paused = false })
		s.ToTheEnd()
	},
	"scaled-to-nothing-midway": func(s *fixture.Story) {
		ask(s, "2")
		s.Until(pods("2", 1))
		s.Tell("zone-a and zone-b are scaled to 0")
		for _, zone := range []string{"zone-a", "zone-b"} {
			s.World.Zone(zone, func(z *plan.Zone) { z.Replicas, z.Observed = 0, false })
		}
		s.ToTheEnd()
	},
	"two-broken-zones-heal": func(s *fixture.Story) {
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

func threeByThree() plan.Snapshot {
	return fixture.Group(
		fixture.Zone("zone-a", "1", fixture.Pods("1", "1", "1")),
		fixture.Zone("zone-b", "1", fixture.Pods("1", "1", "1")),
		fixture.Zone("zone-c", "1", fixture.Pods("1", "1", "1")),
	)
}

// ask changes the template of every zone.
func ask(s *fixture.Story, revision string) {
	s.Tell("every zone is asked for revision " + revision)
	s.World.Zones(func(z *plan.Zone) { z.UpdateRevision = revision })
}

// pods is reached when that many pods run a revision.
func pods(revision string, n int) func(plan.Snapshot) bool {
	return func(s plan.Snapshot) bool {
		count := 0
		for _, z := range s.Zones {
			for _, p := range z.Pods {
				if p.Revision == revision {
					count++
				}
			}
		}
		return count >= n
	}
}
