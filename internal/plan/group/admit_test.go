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
	for _, cases := range []map[string]admission{podStates, downscalesBefore, minimumTimes, firstCome, lockstepsOwn} {
		for sentence, tc := range cases {
			t.Run(sentence, func(t *testing.T) {
				s := fixture.MustParse(outdented(tc.group))
				got := answer(group.Admit(s, group.DownscaleRequest{Zone: "zone-a", UID: "zone-a", Version: 10, From: 3, To: 2}))
				if got != tc.want {
					t.Errorf("%s\ngot  %s\nwant %s", fixture.PrintSnapshot(s), got, tc.want)
				}
			})
		}
	}
}

// podStates has cases about pods that are ready or not, and about the holder of the group.
var podStates = map[string]admission{
	"a downscale is recorded before it is admitted": {`
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
	"a pod is called before it is removed from a zone with preparation": {`
		zone-a rev=1 prepares
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, recorded zone-a from 3 to 2 preparing, once zone-a-2 is prepared"},
	"no pod is called in a zone that must not be scaled down": {`
		zone-a rev=1 prepares noDownscale
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
		"DownscaleNotAllowed"},
	"a missing pod does not allow a downscale of a zone that must not be scaled down": {`
		zone-a rev=1 noDownscale replicas=3
		  zone-a-0 ready@1 zone-a-1 ready@1`,
		"DownscaleNotAllowed"},
	"a pod that never ran is not called": {`
		zone-a rev=1 prepares replicas=3
		  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 starting@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
	"an unavailable zone blocks other zones": {`
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 starting@1`,
		"OtherZoneUnavailable zone-b-0 of zone-b (PodStarting)"},
	"an outdated zone blocks no other zone": {`
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=2 current=1
		  zone-b-0 ready@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
	"the zone of the downscale may be unavailable": {`
		zone-a rev=1
		  zone-a-0 starting@1 zone-a-1 ready@1 zone-a-2 ready@1
		zone-b rev=1
		  zone-b-0 ready@1`,
		"yes, recorded zone-a from 3 to 2 admitted"},
	"a pod that is not ready is removed whatever other zones do": {`
		hold rollout/zone-b
		  intent zone-b-0
		zone-a rev=1
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 starting@1
		zone-b rev=2 current=1
		  zone-b-0 ready@1`,
		"yes, dated"},
	"a missing pod is removed whatever other zones do": {`
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
	"a manual hold is respected": {`
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
		"yes, recorded zone-a from 3 to 2 admitted"},
	"an object that has changed is judged again": {`
		zone-a rev=1 version=11
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"ObjectChanged zone-a"},
	"a view that is older than the object decides nothing": {`
		zone-a rev=1 version=9
		  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
		"CacheStale zone-a"},
	"a zone that a live read does not show has changed": {`
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
			t.Errorf("%sgot %s with the call %+v, want the call %+v", zone, answer(v), v.Record.Call, s.Hold.Downscale.Call)
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
		text += ", recorded " + v.Record.String()
	}
	if v.Dated {
		text += ", dated"
	}
	for _, pod := range v.Ask {
		text += ", once " + pod.Name + " is prepared"
	}
	return text
}
