package group_test

import (
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

func TestWhetherTwoStatesOfAStatefulSetRequestTheSame(t *testing.T) {
	until := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cached := group.Zone{Name: "zone-a", UID: "u", Version: 7, Generation: 2, MaxUnavailable: plan.Budget{Pods: 1}, PausedUntil: plan.Moment{Time: until}}
	for change, tc := range map[string]struct {
		change func(*group.Zone)
		want   bool
	}{
		"nothing":                              {func(*group.Zone) {}, true},
		"its status":                           {func(z *group.Zone) { z.Version, z.Observed, z.UpdateRevision = 9, true, "2" }, true},
		"the same time in another time zone":   {func(z *group.Zone) { z.PausedUntil.Time = until.In(time.FixedZone("", 3600)) }, true},
		"the object":                           {func(z *group.Zone) { z.UID = "another" }, false},
		"its spec":                             {func(z *group.Zone) { z.Generation++ }, false},
		"it is being deleted":                  {func(z *group.Zone) { z.Deleting = true }, false},
		"it is ignored":                        {func(z *group.Zone) { z.Ignored = true }, false},
		"the annotation of its group":          {func(z *group.Zone) { z.InvalidGroup = "no/name" }, false},
		"it is paused":                         {func(z *group.Zone) { z.Paused = true }, false},
		"the end of its pause":                 {func(z *group.Zone) { z.PausedUntil.Time = until.Add(time.Second) }, false},
		"its pause ends at an unreadable time": {func(z *group.Zone) { z.PausedUntil.Invalid = "soon" }, false},
		"it asks for another minimum time":     {func(z *group.Zone) { z.MinBetween.Duration = time.Hour }, false},
		"when it was scaled down":              {func(z *group.Zone) { z.Downscaled.Time = until }, false},
		"forced replicas":                      {func(z *group.Zone) { z.Forced.Given = true }, false},
		"its leader":                           {func(z *group.Zone) { z.Leader = "zone-b" }, false},
		"it must not be scaled down":           {func(z *group.Zone) { z.Barred = true }, false},
		"its budget":                           {func(z *group.Zone) { z.MaxUnavailable.Percent = 10 }, false},
	} {
		live := cached
		tc.change(&live)
		if got := cached.SameDesiredState(&live); got != tc.want {
			t.Errorf("changed: %s: %t, want %t", change, got, tc.want)
		}
	}
}
