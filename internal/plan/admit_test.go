package plan_test

import (
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/fixture"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Each case is a group and a decrease of zone-a from 3 to 2 that somebody asks
// for, with the answer.
func TestAdmit(t *testing.T) {
	for promise, tc := range map[string]struct{ group, want string }{
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
			zone-a rev=1 prepares barred
			  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
			"DownscaleBarred"},
		"who is down may not leave it either": {`
			zone-a rev=1 barred replicas=3
			  zone-a-0 ready@1 zone-a-1 ready@1`,
			"DownscaleBarred"},
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
			"OtherZoneNotWhole zone-b-0 of zone-b (PodStarting)"},
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
			  noted zone-b-0
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 starting@1
			zone-b rev=2 current=1
			  zone-b-0 ready@1`,
			"yes"},
		"who is absent can leave whatever the others do": {`
			hold manual/maintenance
			zone-a rev=1 replicas=3
			  zone-a-0 ready@1 zone-a-1 ready@1
			zone-b rev=1
			  zone-b-0 starting@1`,
			"yes"},
		"a rollout of another zone holds the group": {`
			hold rollout/zone-b
			  noted zone-b-0
			zone-a rev=2 current=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=2 current=1
			  zone-b-0 ready@1`,
			"GroupHeld zone-b-0 of zone-b (rollout/zone-b)"},
		"a downscale of another zone holds the group": {`
			hold downscale/zone-b
			  decrease zone-b from 2 to 1 admitted
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
			  noted zone-a-0
			zone-a rev=2 current=1
			  zone-a-0 starting@2 uid=next version=20 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=2 current=1
			  zone-b-0 ready@1`,
			"yes, noted zone-a from 3 to 2 admitted"},
		"a decrease of the same zone whose update is on its way comes first": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 2 admitted
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
			"ZoneShrinking (zone-a from 3 to 2 admitted)"},
		"a decrease that is overtaken is judged again": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 2 admitted version=9
			zone-a rev=1 prepares
			  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
			"yes, noted zone-a from 3 to 2 preparing, once zone-a-2 is prepared"},
		"a decrease that is overtaken by a smaller one has to be undone first": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 1 admitted version=9 asked
			zone-a rev=1 prepares
			  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
			"ZoneShrinking (zone-a from 3 to 1 admitted)"},
		"who was asked in another way is told to stay first": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 2 admitted version=9 asked path=/former
			zone-a rev=1 prepares
			  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
			"ZoneShrinking (zone-a from 3 to 2 admitted)"},
		"nobody is prepared while others are told that they stay": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 2 undoing version=9
			zone-a rev=1 prepares
			  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3`,
			"PreparationUndone"},
		"a decrease in effect is followed by the next": {`
			hold downscale/zone-a
			  decrease zone-a from 4 to 3 admitted version=9
			zone-a rev=1 replicas=3
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1 zone-a-3 leaving@1`,
			"yes, noted zone-a from 3 to 2 admitted"},
		"another zone shrank less than the minimum time ago": {`
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1 shrank=59m
			  zone-b-0 ready@1`,
			"DownscaleTooSoon zone-b"},
		"the minimum time of the other zone counts as well": {`
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1 apart=1h shrank=59m
			  zone-b-0 ready@1`,
			"DownscaleTooSoon zone-b"},
		"a minimum time that is just over has passed": {`
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1 shrank=1h
			  zone-b-0 ready@1`,
			"yes, noted zone-a from 3 to 2 admitted"},
		"what the hold knows of the last downscale counts as well": {`
			hold free
			  shrank zone-b 10m ago
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1 shrank=2h
			  zone-b-0 ready@1`,
			"DownscaleTooSoon zone-b"},
		"the zone's own last downscale does not count": {`
			zone-a rev=1 apart=1h shrank=1m
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1`,
			"yes, noted zone-a from 3 to 2 admitted"},
		"who is down leaves although another zone is not whole": {`
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 starting@1
			zone-b rev=1
			  zone-b-0 starting@1`,
			"yes, noted zone-a from 3 to 2 admitted"},
		"who is down keeps the minimum time as well, since he may come up": {`
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 starting@1
			zone-b rev=1 shrank=1m
			  zone-b-0 ready@1`,
			"DownscaleTooSoon zone-b"},
		"and tells when the zone shrank whoever has the hold, or nobody would know": {`
			hold rollout/zone-b
			  noted zone-b-0
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
			zone-b rev=1
			  zone-b-0 ready@1`,
			"yes, dated"},
		"but not while another zone may shrink at any moment": {`
			hold downscale/zone-b
			  decrease zone-b from 2 to 1 admitted since=1s
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 ready@1`,
			"GroupHeld zone-b (downscale/zone-b)"},
		"nor while that is prepared": {`
			hold downscale/zone-b
			  decrease zone-b from 2 to 1 preparing since=1s
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
			zone-b rev=1 apart=1h
			  zone-b-0 ready@1 zone-b-1 ready@1`,
			"GroupHeld zone-b (downscale/zone-b)"},
		"it waits for no preparation that is undone": {`
			hold downscale/zone-b
			  decrease zone-b from 2 to 1 undoing asked since=1s
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
			zone-b rev=1
			  zone-b-0 ready@1 ip=10.0.0.1 zone-b-1 ready@1 ip=10.0.0.2`,
			"yes, dated"},
		"nor for one that came too late": {`
			hold downscale/zone-b
			  decrease zone-b from 2 to 1 admitted asked version=9 since=1s
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 ready@1`,
			"yes, dated"},
		"nor where neither of the two asks for time": {`
			hold downscale/zone-b
			  decrease zone-b from 2 to 1 admitted since=1s
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 ready@1
			zone-c rev=1 apart=1h
			  zone-c-0 ready@1`,
			"yes, dated"},
		"a zone that is gone may have shrunk before anybody has written it": {`
			hold downscale/zone-b
			  decrease zone-b from 2 to 1 admitted since=1s
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
			"DownscaleTooSoon (after a zone that left the group)"},
		"a time is noted of what can come": {`
			hold rollout/zone-b
			  noted zone-b-0
			zone-a rev=1 apart=1h version=11
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
			zone-b rev=1
			  zone-b-0 ready@1`,
			"ObjectMoved zone-a"},
		"but not too soon": {`
			hold rollout/zone-b
			  noted zone-b-0
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
			zone-b rev=1 shrank=1m
			  zone-b-0 ready@1`,
			"DownscaleTooSoon zone-b"},
		"a time that lies ahead keeps nobody where no time is asked for": {`
			hold free
			  shrank zone-b -30s ago
			  shrank zone-x -30s ago
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1
			zone-c rev=1 apart=1h
			  zone-c-0 ready@1`,
			"yes, noted zone-a from 3 to 2 admitted"},
		"nor where the hold cannot be read": {`
			hold rollout/zone-b unreadable=damaged
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 failing@1
			zone-b rev=1
			  zone-b-0 ready@1`,
			"HoldUnreadable"},
		"a zone that shrank and is gone counts, since it may be made anew": {`
			hold free
			  shrank zone-c 1m ago
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1`,
			"DownscaleTooSoon (after a zone that left the group)"},
		"who was refused first comes first": {`
			hold free
			  waiting downscale/zone-b since 20s seen 5s
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 ready@1`,
			"OthersCameFirst zone-b (downscale)"},
		"who was refused first and has been silent for long has lost its place": {`
			hold free
			  waiting downscale/zone-b since 1m seen 35s
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 ready@1`,
			"yes, noted zone-a from 3 to 2 admitted"},
		"who waits longest is let in": {`
			hold free
			  waiting downscale/zone-a since 25s seen 5s
			  waiting downscale/zone-b since 20s seen 5s
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 ready@1`,
			"yes, noted zone-a from 3 to 2 admitted"},
		"a zone that is made anew amid a downscale shrank, as far as anybody knows": {`
			hold downscale/zone-b
			  decrease zone-b from 2 to 1 admitted uid=former version=9
			zone-a rev=1 apart=1h
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1`,
			"DownscaleTooSoon zone-b"},
		"a pod with its node's address cannot be asked": {`
			zone-a rev=1 prepares
			  zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2 zone-a-2 ready@1 ip=10.0.0.3 onHost=yes`,
			"PodOnHostNetwork zone-a-2"},
		"what lockstep has noted as its own needs no second note": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 2 admitted ours
			zone-a rev=1 leader=zone-b
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 ready@1`,
			"yes"},
		"what lockstep has noted as its own and is not wanted any more is refused": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 2 admitted ours
			zone-a rev=1
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
			"ZoneShrinking (zone-a from 3 to 2 admitted)"},
		"what lockstep has noted as its own is refused once another zone is not whole": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 2 admitted ours
			zone-a rev=1 leader=zone-b
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 starting@1`,
			"ZoneShrinking (zone-a from 3 to 2 admitted)"},
		"what lockstep has noted as its own needs no second note while its update may be on its way": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 2 admitted ours since=49s
			zone-a rev=1 leader=zone-b
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 ready@1`,
			"yes"},
		"what lockstep has noted as its own long ago is refused: the note would date it too early": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 2 admitted ours since=50s
			zone-a rev=1 leader=zone-b
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 ready@1`,
			"ZoneShrinking (zone-a from 3 to 2 admitted)"},
		"another decrease than lockstep's own is refused": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 1 admitted ours
			zone-a rev=1 leader=zone-b
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1`,
			"ZoneShrinking (zone-a from 3 to 1 admitted)"},
		"what lockstep still prepares is refused": {`
			hold downscale/zone-a
			  decrease zone-a from 3 to 2 preparing ours
			zone-a rev=1 leader=zone-b
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1
			zone-b rev=1
			  zone-b-0 ready@1 zone-b-1 ready@1`,
			"ZoneShrinking (zone-a from 3 to 2 preparing)"},
		"an object that has moved on is judged anew": {`
			zone-a rev=1 version=11
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
			"ObjectMoved zone-a"},
		"a view that is older than the object decides nothing": {`
			zone-a rev=1 version=9
			  zone-a-0 ready@1 zone-a-1 ready@1 zone-a-2 ready@1`,
			"CacheBehind zone-a"},
		"a zone that a live look does not show has moved on": {`
			live
			zone-b rev=1
			  zone-b-0 ready@1`,
			"ObjectMoved zone-a"},
	} {
		t.Run(promise, func(t *testing.T) {
			s := fixture.MustParse(outdented(tc.group))
			got := answer(plan.Admit(s, plan.DownscaleRequest{Zone: "zone-a", UID: "zone-a", Version: 10, From: 3, To: 2}))
			if got != tc.want {
				t.Errorf("%s\ngot  %s\nwant %s", fixture.PrintSnapshot(s), got, tc.want)
			}
		})
	}
}

// A pod that was prepared and cannot be asked again, since it is leaving, may
// come back: the next decrease goes on knowing how it was asked.
func TestADecreaseThatReplacesAnotherRemembersWhoWasAsked(t *testing.T) {
	const former = "hold downscale/zone-a\n decrease zone-a from 3 to 2 admitted version=9 asked\n"
	for _, zone := range []string{"zone-a rev=1 prepares\n", "zone-a rev=1\n"} {
		s := fixture.MustParse(former + zone + " zone-a-0 ready@1 ip=10.0.0.1\n zone-a-1 ready@1 ip=10.0.0.2\n zone-a-2 leaving@1 ip=10.0.0.3\n")
		v := plan.Admit(s, plan.DownscaleRequest{Zone: "zone-a", UID: "zone-a", Version: 10, From: 3, To: 2})
		if !v.Allowed() || v.Note.Stage != plan.Admitted || v.Note.Call != s.Hold.Decrease.Call {
			t.Errorf("%sgot %s, asked by %+v, want by %+v", zone, answer(v), v.Note.Call, s.Hold.Decrease.Call)
		}
	}
}

// outdented takes the three tabs away that a text has in a table.
func outdented(text string) string { return strings.ReplaceAll(text, "\n\t\t\t", "\n") }

func answer(v plan.DownscaleAnswer) string {
	if !v.Allowed() {
		return v.Because.String()
	}
	text := "yes"
	if !v.Note.None() {
		text += ", noted " + v.Note.String()
	}
	if v.Dated {
		text += ", dated"
	}
	for _, pod := range v.Ask {
		text += ", once " + pod.Name + " is prepared"
	}
	return text
}
