package group_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture/draw"
)

// admission is a group, and the expected answer to a request to scale zone-a down from 3 to 2.
type admission struct{ group, want string }

func TestAdmit(t *testing.T) {
	for _, cases := range []map[string]admission{whoServes, downscalesBefore, minimumTimes, firstCome, lockstepsOwn} {
		for promise, tc := range cases {
			t.Run(promise, func(t *testing.T) {
				s := fixture.MustParse(outdented(tc.group))
				got := answer(group.Admit(s, group.DownscaleRequest{Zone: "zone-a", UID: "zone-a", Version: 10, From: 3, To: 2}))
				if got != tc.want {
					t.Errorf("%s\ngot  %s\nwant %s", fixture.PrintSnapshot(s), got, tc.want)
				}
			})
		}
	}
}

// whoServes has cases about pods that are up or down, and about the holder of the group.
var whoServes = map[string]admission{
	"a decrease is noted before the yes": {`
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, noted zone-a from 3 to 2 admitted"},
	"who leaves is asked first, where the zone prepares": {`
		zone-a rev=1 prepares
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, noted zone-a from 3 to 2 preparing, once zone-a-2 is prepared"},
	"where the zone may not shrink nobody is asked": {`
		zone-a rev=1 prepares noDownscale
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
		"DownscaleNotAllowed"},
	"who is down may not leave it either": {`
		zone-a rev=1 noDownscale replicas=3
		  zone-a-0 ready@1 zone-a-1 ready@1`,
		"DownscaleNotAllowed"},
	"who never ran has nothing to prepare": {`
		zone-a rev=1 prepares replicas=3
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 starting@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, noted zone-a from 3 to 2 admitted"},
	"a zone that is not whole refuses the others": {`
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 starting@1`,
		"OtherZoneUnavailable zone-b-0 of zone-b (PodStarting)"},
	"a zone that is outdated refuses nobody": {`
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=2 current=1
		  zone-b-0 ready@1`,
		"yes, noted zone-a from 3 to 2 admitted"},
	"the zone itself need not be whole": {`
		zone-a rev=1
		  zone-a-0 starting@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, noted zone-a from 3 to 2 admitted"},
	"who is down can leave whatever the others do": {`
		hold rollout/zone-b
		  intent zone-b-0
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 starting@1
		zone-b rev=2 current=1
		  zone-b-0 ready@1`,
		"yes, dated"},
	"who is absent can leave whatever the others do": {`
		hold manual/maintenance
		zone-a rev=1 replicas=3
		  zone-a-0 ready@1 zone-a-1 ready@1
		zone-b rev=1
		  zone-b-0 starting@1`,
		"yes, dated"},
	"a rollout of another zone holds the group": {`
		hold rollout/zone-b
		  intent zone-b-0
		zone-a rev=2 current=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=2 current=1
		  zone-b-0 ready@1`,
		"GroupHeld zone-b-0 of zone-b (rollout/zone-b)"},
	"a downscale of another zone holds the group": {`
		hold downscale/zone-b
		  downscale zone-b from 2 to 1 admitted
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1 zone-b-1 ready@1`,
		"GroupHeld zone-b (downscale/zone-b)"},
	"a hold taken by hand is respected": {`
		hold manual/maintenance
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"GroupHeld (held from outside lockstep)"},
	"a hold that cannot be read is respected": {`
		hold free unreadable="version 2"
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"HoldUnreadable"},
	"a rollout of the same zone is joined": {`
		hold rollout/zone-a
		  intent zone-a-0
		zone-a rev=2 current=1
		  zone-a-0 starting@2 uid=next version=20 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=2 current=1
		  zone-b-0 ready@1`,
		"yes, noted zone-a from 3 to 2 admitted"},
	"an object that has moved on is judged anew": {`
		zone-a rev=1 version=11
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"ObjectChanged zone-a"},
	"a view that is older than the object decides nothing": {`
		zone-a rev=1 version=9
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"CacheStale zone-a"},
	"a zone that a live look does not show has moved on": {`
		live
		zone-b rev=1
		  zone-b-0 ready@1`,
		"ObjectChanged zone-a"},
}

// A zone may ask for a minimum time later. So the Lease records each downscale or its time; it records downscales of
// lockstep's own earlier.
func TestEveryAdmittedDownscaleIsDated(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := draw.Odd().Draw(t, "snapshot")
		show(t, s)
		z := s.Zones[0]
		r := group.DownscaleRequest{Zone: z.Name, UID: z.UID, Version: z.Version, From: z.Replicas, To: z.Replicas - 1}
		v := group.Admit(s, r)
		own := s.Hold.Downscale.Ours && s.Hold.Downscale.Zone == z.Name
		if v.Allowed() && v.Record.None() && !own && !(v.Dated && s.Hold.Exists) {
			t.Errorf("%+v: the answer is %q, a Lease exists: %t", r, answer(v), s.Hold.Exists)
		}
	})
}

// A prepared pod that is terminating cannot be called again, but a pod of its name may come back.
// So the next downscale keeps the Call that prepared it.
func TestADownscaleThatReplacesAnotherKnowsTheCalledPods(t *testing.T) {
	const former = "hold downscale/zone-a\n downscale zone-a from 3 to 2 admitted version=9 calls\n"
	for _, zone := range []string{"zone-a rev=1 prepares\n", "zone-a rev=1\n"} {
		s := fixture.MustParse(former + zone + " zone-a-0 ready@1 ip=10.0.0.1\n zone-a-1 ready@1 ip=10.0.0.2\n zone-a-2 terminating@1 ip=10.0.0.3\n")
		v := group.Admit(s, group.DownscaleRequest{Zone: "zone-a", UID: "zone-a", Version: 10, From: 3, To: 2})
		if !v.Allowed() || v.Record.Stage != group.Admitted || v.Record.Call != s.Hold.Downscale.Call {
			t.Errorf("%sgot %s, asked by %+v, want by %+v", zone, answer(v), v.Record.Call, s.Hold.Downscale.Call)
		}
	}
}

// outdented removes the two tabs of indentation that a text has in a table.
func outdented(text string) string { return strings.ReplaceAll(text, "\n\t\t", "\n") }

func answer(v group.DownscaleAnswer) string {
	if !v.Allowed() {
		return v.Because.String()
	}
	text := "yes"
	if !v.Record.None() {
		text += ", noted " + v.Record.String()
	}
	if v.Dated {
		text += ", dated"
	}
	for _, pod := range v.Ask {
		text += ", once " + pod.Name + " is prepared"
	}
	return text
}
