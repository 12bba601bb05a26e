package group_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// A new record overwrites the former one. It must say which pods were prepared, and which are
// still to be deleted.
func TestARecordContainsTheRestOfThePreviousRecord(t *testing.T) {
	const rest = `
zone-a rev=1 version=11 leader=zone-b prepares
  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3
zone-b rev=1
  zone-b-0 ready@1
`
	const terminating = `
zone-a rev=1 version=11 leader=zone-b replicas=2 prepares
  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 terminating@1 ip=10.0.0.3
zone-b rev=1
  zone-b-0 ready@1
`
	for sentence, tc := range map[string]struct {
		text string
		left group.Stage
	}{
		"pods were prepared for an update that was overtaken":  {"live\nhold downscale/zone-a\n  downscale zone-a from 3 to 2 admitted own calls version=10 since=2s" + rest, group.Undoing},
		"pods are called for an update that was overtaken":     {"live\nhold downscale/zone-a inherited\n  downscale zone-a from 3 to 2 preparing own calls version=10 since=2s" + rest, group.Undoing},
		"a pod is still to be deleted":                         {"live\nhold downscale/zone-a\n  downscale zone-a from 3 to 2 admitted version=10 since=2s" + terminating, group.Admitted},
		"no pod was prepared for an update that was overtaken": {"live\nhold downscale/zone-a\n  downscale zone-a from 3 to 2 admitted version=10 since=2s" + rest, ""},
		"no downscale is recorded":                             {"live\nhold free" + rest, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := fixture.MustParse(tc.text)
			z := s.Zones[0]
			v := group.Admit(s, group.DownscaleRequest{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: 1})
			if !v.Allowed() || v.Former.Stage != tc.left {
				t.Errorf("the answer is %+v", v)
			}
			steps, recorded := group.Plan(s), false
			for _, step := range steps {
				a, records := step.(group.RecordDownscale)
				recorded = recorded || records
				if records && a.Former != v.Former {
					t.Errorf("the plan records %+v, want the former downscale %s", a, v.Former)
				}
			}
			if tc.left != "" && !recorded {
				t.Errorf("the plan does not record the next downscale: %s", plan.Notation(steps))
			}
		})
	}
}

// An autoscaler may raise the zone twice while pods are notified that they stay.
func TestARevertedDownscaleDoesNotCountAfterLaterChanges(t *testing.T) {
	s := fixture.MustParse(`live
hold downscale/zone-a
  downscale zone-a from 3 to 2 admitted calls version=10 since=1m
zone-a rev=1 prepares version=20 edits=2
  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3
`)
	for _, step := range group.Plan(s) {
		if a, records := step.(group.RecordDownscale); records {
			s.Hold.Downscale = a.Downscale
		}
	}
	s.Zones[0].Generation = 9
	if d := s.Hold.Downscale; d.Stage != group.Undoing || s.Shrank(d) {
		t.Errorf("%v counts as a downscale: %t", d, s.Shrank(d))
	}
}
