package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// The judge itself is judged: every rule has a history that breaks it, beside one
// that does not.

type planted struct {
	story *story
	rules Rules    // without operators: the cluster-wide one
	want  []string // all violations, each by its guarantee and the beginning of its text
}

func stops(z *Zone)  { z.Paused = true }
func rolls(z *Zone)  { z.OnDelete = false }
func apart(z *Zone)  { z.Apart = time.Minute }
func slowly(z *Zone) { z.MinReady = 5 * time.Second }

// guarded: decreases go through admission.
var guarded = Rules{Guarded: true}

var plantedTakedowns = map[string]planted{
	"a proper rollout is not objected to": {
		story: newStory().finishes("zone-1").finishes("zone-2"),
	},

	"1: a pod of another zone goes while the first is leaving": {
		story: newStory().note("zone-1", "zone-1-0").delete("zone-1-0").note("zone-2", "zone-2-0").delete("zone-2-0"),
		want:  []string{"1 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
	"1: a pod of another zone goes while the replacement of the first is not Ready": {
		story: newStory().note("zone-1", "zone-1-0").delete("zone-1-0").replace("zone-1-0", false).later(time.Millisecond).
			note("zone-2", "zone-2-0").delete("zone-2-0"),
		want: []string{"1 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
	"1: a pod that goes at once is down all the same": {
		story: newStory().note("zone-1", "zone-1-0").vanish("zone-1-0").note("zone-2", "zone-2-0").delete("zone-2-0"),
		want:  []string{"1 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
	"a pod of another zone goes in the moment in which the replacement of the first is Ready": {
		story: newStory().finishes("zone-1").note("zone-2", "zone-2-0").delete("zone-2-0"),
	},
	"1: a pod goes without a note": {
		story: newStory().hold("rollout/zone-1").delete("zone-1-0"),
		want:  []string{"1 zone-1-0 was deleted without a note"},
	},
	"1: a pod goes that was noted in another state": {
		story: func() *story {
			s := newStory()
			noted := s.noteOf("zone-1-0")
			return s.pod("zone-1-0", nil).hold("rollout/zone-1", noted).delete("zone-1-0")
		}(),
		want: []string{"1 zone-1-0 was deleted at version"},
	},
	"1: a pod goes and is noted afterwards": {
		story: newStory().hold("rollout/zone-1").delete("zone-1-0").note("zone-1", "zone-1-0"),
		want:  []string{"1 zone-1-0 was deleted without a note"},
	},
	"1: a pod goes under the Lease of another zone": {
		story: func() *story {
			s := newStory()
			return s.hold("rollout/zone-2", s.noteOf("zone-1-0")).delete("zone-1-0")
		}(),
		want: []string{`1 zone-1-0 was deleted while "rollout/zone-2"`},
	},
	"1: a pod goes without any Lease": {
		story: newStory().delete("zone-1-0"),
		want:  []string{"1 zone-1-0 was deleted without a Lease"},
	},

	"a decrease under its note is not objected to": {
		story: newStory().shrinks("zone-1").decrease("zone-1", 1).left("zone-1-1"),
		rules: guarded,
	},
	"a decrease without admission is nobody's": {
		story: newStory().decrease("zone-1", 1),
	},
	"1: a zone shrinks without a Lease": {
		story: newStory().decrease("zone-1", 1),
		rules: guarded,
		want:  []string{"1 zone-1 shrank to 1 without a Lease"},
	},
	"1: a zone shrinks under the rollout of another zone": {
		story: newStory().note("zone-2").decrease("zone-1", 1),
		rules: guarded,
		want:  []string{`1 zone-1 shrank to 1 while "rollout/zone-2" had the Lease`},
	},
	"1: a zone shrinks without a note": {
		story: newStory().hold("downscale/zone-1").decrease("zone-1", 1),
		rules: guarded,
		want:  []string{"1 zone-1 shrank to 1 without a note"},
	},
	"1: a zone shrinks further than is noted": {
		story: newStory().shrinks("zone-1").decrease("zone-1", 0),
		rules: guarded,
		want:  []string{"1 zone-1 shrank to 0 from version"},
	},
	"1: a zone shrinks that is no longer as it was noted": {
		story: newStory().shrinks("zone-1").zone("zone-1", func(z *Zone) { z.Budget = 2 }).decrease("zone-1", 1),
		rules: guarded,
		want:  []string{"1 zone-1 shrank to 1 from version"},
	},
	"1: a zone shrinks that only has the name of the one that is noted": {
		story: newStory().tell(Fact{Hold: &Hold{Group: "g", Holder: "downscale/zone-1", Shrinks: Shrink{Zone: "zone-1", UID: "another", To: 1, Version: 5}}}).
			decrease("zone-1", 1),
		rules: guarded,
		want:  []string{"1 zone-1 shrank to 1 from version 5, noted"},
	},
	"1: a zone shrinks while another one does": {
		story: newStory().shrinks("zone-1").decrease("zone-1", 1).shrinks("zone-2").decrease("zone-2", 1),
		rules: guarded,
		want:  []string{"1 zone-2 shrank to 1 while pods of zone zone-1 were leaving"},
	},
	"1: a pod goes while another zone shrinks": {
		story: newStory().shrinks("zone-1").decrease("zone-1", 1).note("zone-2", "zone-2-0").delete("zone-2-0"),
		rules: guarded,
		want:  []string{"1 zone-2-0 of zone zone-2 was deleted while pods of zone zone-1 were leaving"},
	},
	"a pod goes after another zone took its decrease back": {
		story: newStory().shrinks("zone-1").decrease("zone-1", 1).decrease("zone-1", 2).note("zone-2", "zone-2-0").delete("zone-2-0"),
		rules: guarded,
	},
	"1: a zone shrinks while a pod of another one is on its way back": {
		story: newStory().note("zone-2", "zone-2-0").delete("zone-2-0").shrinks("zone-1").decrease("zone-1", 1),
		rules: guarded,
		want:  []string{"1 zone-1 shrank to 1 while zone-2-0"},
	},
	"2: a zone shrinks long after another one was broken": {
		story: newStory().breaks("zone-2-1").later(3*time.Second).shrinks("zone-1").decrease("zone-1", 1),
		rules: guarded,
		want:  []string{"2 zone-1 shrank to 1 while zone-2-1"},
	},
	"a zone takes back what never served, whatever the others do": {
		story: newStory().breaks("zone-1-1").breaks("zone-2-1").later(3*time.Second).decrease("zone-1", 1),
		rules: guarded,
	},
	"6: a zone shrinks too shortly after another one": {
		story: newStory().zone("zone-1", apart).shrinks("zone-1").decrease("zone-1", 1).left("zone-1-1").
			later(30*time.Second).shrinks("zone-2").decrease("zone-2", 1),
		rules: guarded,
		want:  []string{"6 zone-2 shrank 30.3s after zone-1, at least 1m0s wanted"},
	},
	"6: a zone shrinks too shortly after another one, whatever was heard of late": {
		story: newStory().zone("zone-1", apart).shrinks("zone-1").decrease("zone-1", 1).left("zone-1-1").
			later(30*time.Second).shrinks("zone-2").decrease("zone-2", 1),
		rules: Rules{Guarded: true, Grace: time.Minute, Deaf: []Window{{From: time.Unix(0, 0), To: time.Unix(1000, 0)}}},
		want:  []string{"6 zone-2 shrank 30.3s after zone-1, at least 1m0s wanted"},
	},
	"6: a zone shrinks a moment too early": {
		story: newStory().zone("zone-1", apart).shrinks("zone-1").decrease("zone-1", 1).left("zone-1-1").
			later(58*time.Second+600*time.Millisecond).shrinks("zone-2").decrease("zone-2", 1),
		rules: guarded,
		want:  []string{"6 zone-2 shrank 58.9s after zone-1, at least 1m0s wanted"},
	},
	"a zone shrinks long enough after another one": {
		story: newStory().zone("zone-1", apart).shrinks("zone-1").decrease("zone-1", 1).left("zone-1-1").
			later(time.Minute).shrinks("zone-2").decrease("zone-2", 1),
		rules: guarded,
	},

	"2: a pod goes long after another zone was broken by somebody else": {
		story: newStory().breaks("zone-2-1").later(3*time.Second).note("zone-1", "zone-1-0").delete("zone-1-0"),
		want:  []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"a pod goes in the moment in which another zone is broken by somebody else": {
		story: newStory().note("zone-1", "zone-1-0").breaks("zone-2-1").delete("zone-1-0"),
	},
	"a longer grace covers what is known later": {
		story: newStory().breaks("zone-2-1").later(3*time.Second).note("zone-1", "zone-1-0").delete("zone-1-0"),
		rules: Rules{Grace: 5 * time.Second},
	},
	"2: a longer grace comes to its end": {
		story: newStory().breaks("zone-2-1").later(7*time.Second).note("zone-1", "zone-1-0").delete("zone-1-0"),
		rules: Rules{Grace: 5 * time.Second},
		want:  []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"a pod goes while nobody could hear that another zone was broken": {
		story: newStory().breaks("zone-2-1").later(7 * time.Second).delete("zone-1-0").notedBefore(),
		rules: Rules{Deaf: []Window{deafFor(10 * time.Second)}},
	},
	"2: a pod goes when it could have been heard again that another zone was broken": {
		story: newStory().breaks("zone-2-1").later(7 * time.Second).delete("zone-1-0").notedBefore(),
		rules: Rules{Deaf: []Window{deafFor(5 * time.Second), {From: storyBegins.Add(6 * time.Second), To: storyBegins.Add(time.Hour)}}},
		want:  []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: deafness that ended before a zone was broken excuses nothing": {
		story: newStory().later(20 * time.Second).breaks("zone-2-1").later(3 * time.Second).delete("zone-1-0").notedBefore(),
		rules: Rules{Deaf: []Window{deafFor(10 * time.Second)}},
		want:  []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"a pod goes before what is told late was told": {
		story: newStory().breaks("zone-2-1").later(2 * time.Second).delete("zone-1-0").notedBefore(),
		rules: Rules{Deaf: []Window{lateBy(2500 * time.Millisecond)}},
	},
	"2: a pod goes after what is told late was told": {
		story: newStory().breaks("zone-2-1").later(4 * time.Second).delete("zone-1-0").notedBefore(),
		rules: Rules{Deaf: []Window{lateBy(2500 * time.Millisecond)}},
		want:  []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: what was told late before tells nothing late any more": {
		story: newStory().later(20 * time.Second).breaks("zone-2-1").later(2 * time.Second).delete("zone-1-0").notedBefore(),
		rules: Rules{Deaf: []Window{{From: storyBegins, To: storyBegins.Add(10 * time.Second), Late: 5 * time.Second}}},
		want:  []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: two delays do not add up": {
		story: newStory().breaks("zone-2-1").later(4 * time.Second).delete("zone-1-0").notedBefore(),
		rules: Rules{Deaf: []Window{lateBy(2500 * time.Millisecond), lateBy(2 * time.Second)}},
		want:  []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: a pod goes that was noted after a live look, whatever caches have heard": {
		story: newStory().breaks("zone-2-1").later(3*time.Second).note("zone-1", "zone-1-0").delete("zone-1-0"),
		rules: Rules{Deaf: []Window{deafFor(time.Hour)}},
		want:  []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: what one operator could not hear excuses no other": {
		story: newStory().breaks("zone-2-1").later(3 * time.Second).delete("zone-1-0").notedBefore(),
		rules: Rules{Deaf: []Window{{From: storyBegins, To: storyBegins.Add(time.Hour), Agent: "another"}}},
		want:  []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"a pod goes by whom could not hear that another zone was broken": {
		story: newStory().breaks("zone-2-1").later(3 * time.Second).delete("zone-1-0").notedBefore(),
		rules: Rules{Deaf: []Window{{From: storyBegins, To: storyBegins.Add(time.Hour), Agent: operatorAgent}}},
	},
	"2: a pod goes by a request whose API server was killed": {
		story: newStory().breaks("zone-2-1").later(3*time.Second).note("zone-1", "zone-1-0").asksToDelete("zone-1-0", unanswered).leaves("zone-1-0"),
		want:  []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: a pod goes by a request that failed as far as the answer goes": {
		story: newStory().breaks("zone-2-1").later(3*time.Second).note("zone-1", "zone-1-0").
			asksToDelete("zone-1-0", func(r *Request) { r.Code, r.UID = 500, "" }).leaves("zone-1-0"),
		want: []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"},
	},
	"2: a pod goes long before a scaled up zone has its pods": {
		story: newStory().zone("zone-2", func(z *Zone) { z.Replicas = 3 }).later(3*time.Second).
			note("zone-1", "zone-1-0").delete("zone-1-0"),
		want: []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-2 of zone zone-2 was down"},
	},
	"2: a pod goes while one of another zone is Ready, and not for long enough": {
		story: newStory().zone("zone-1", slowly).later(time.Minute).rolls("zone-1", "zone-1-0").later(4*time.Second).
			note("zone-2", "zone-2-0").delete("zone-2-0"),
		want: []string{"2 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
	"a pod goes when one of another zone has been Ready for long enough": {
		story: newStory().zone("zone-1", slowly).later(time.Minute).rolls("zone-1", "zone-1-0").later(5*time.Second).
			note("zone-2", "zone-2-0").delete("zone-2-0"),
	},
	"a pod that is down already costs nothing, whatever else is down": {
		story: newStory().breaks("zone-2-1").pod("zone-1-0", func(p *Pod) { p.Ready = false }).later(3 * time.Second).delete("zone-1-0"),
	},
	"a pod that somebody else sent away before is not taken down": {
		story: newStory().breaks("zone-2-1").later(3 * time.Second).leaves("zone-1-0").delete("zone-1-0"),
	},

	"3: a pod goes while a zone is not OnDelete": {
		story: newStory().zone("zone-2", rolls).later(3*time.Second).rolls("zone-1", "zone-1-0"),
		want:  []string{"3 zone-1-0 was deleted while zone zone-2 is not OnDelete"},
	},
	"3: a pod that is down goes while a zone is not OnDelete": {
		story: newStory().zone("zone-2", rolls).pod("zone-1-0", func(p *Pod) { p.Ready = false }).later(3 * time.Second).delete("zone-1-0"),
		want:  []string{"3 zone-1-0 was deleted while zone zone-2 is not OnDelete"},
	},
	"a pod goes in the moment in which a zone is no longer OnDelete": {
		story: newStory().note("zone-1", "zone-1-0").zone("zone-2", rolls).delete("zone-1-0"),
	},
	"a zone of another group need not be OnDelete": {
		story: newStory().inGroup("h", "other").zone("other", rolls).later(3*time.Second).rolls("zone-1", "zone-1-0"),
	},
	"3: a pod of a paused zone goes": {
		story: newStory().zone("zone-1", stops).later(3*time.Second).rolls("zone-1", "zone-1-0"),
		want:  []string{"3 zone-1-0 was deleted, which belongs to a paused zone"},
	},
	"3: a pod of a zone whose pause lasts goes": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Paused, z.Until = true, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }).later(3*time.Second).rolls("zone-1", "zone-1-0"),
		want:  []string{"3 zone-1-0 was deleted, which belongs to a paused zone"},
	},
	"a pod of a zone whose pause is over goes": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Paused, z.Until = true, time.Unix(1, 0) }).later(3*time.Second).rolls("zone-1", "zone-1-0"),
	},
	"a pod of a zone that was paused this moment goes": {
		story: newStory().note("zone-1", "zone-1-0").zone("zone-1", stops).delete("zone-1-0"),
	},

	"4: a second pod of the zone goes": {
		story: newStory().note("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-0").delete("zone-1-1"),
		want:  []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down, 1 allowed"},
	},
	"a second pod of the zone goes and may": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Budget = 2 }).
			note("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-0").delete("zone-1-1"),
	},
	"4: a second pod goes while somebody else's is missing": {
		story: newStory().breaks("zone-1-1").later(3*time.Second).note("zone-1", "zone-1-0").delete("zone-1-0"),
		want:  []string{"4 zone-1-0 was deleted, so 2 pods of its zone were down"},
	},
	"4: a second pod goes while the first is Ready, and not for long enough": {
		story: newStory().zone("zone-1", slowly).later(time.Minute).rolls("zone-1", "zone-1-0").later(4*time.Second).
			note("zone-1", "zone-1-1").delete("zone-1-1"),
		want: []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down"},
	},
	"a pod goes when the first seemed Ready for long enough, which fell again a moment before": {
		story: rolledAndAgain(5*time.Second).note("zone-1", "zone-1-1").delete("zone-1-1"),
	},
	"4: a pod goes long after the first has fallen again": {
		story: rolledAndAgain(5*time.Second).later(2*time.Second).note("zone-1", "zone-1-1").delete("zone-1-1"),
		want:  []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down"},
	},
	"4: a pod goes before the first was Ready for long enough, which fell again a moment before": {
		story: rolledAndAgain(4*time.Second).note("zone-1", "zone-1-1").delete("zone-1-1"),
		want:  []string{"4 zone-1-1 was deleted, so 2 pods of its zone were down"},
	},
	"a pod that is Ready, and not for long enough, goes alone": {
		story: young("zone-1-0").note("zone-1", "zone-1-0").delete("zone-1-0"),
	},
	"4: a pod that is Ready, and not for long enough, goes beside one that is down": {
		story: young("zone-1-0").breaks("zone-1-1").later(3*time.Second).note("zone-1", "zone-1-0").delete("zone-1-0"),
		want:  []string{"4 zone-1-0 was deleted, so 2 pods of its zone were down"},
	},
	"4: two pods go that are Ready, and not for long enough": {
		story: young("zone-1-0", "zone-1-1").note("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-0").delete("zone-1-1"),
		want:  []string{"4 zone-1-0 was deleted, so 2 pods of its zone were down", "4 zone-1-1 was deleted, so 2 pods of its zone were down"},
	},

	"5: an up to date pod goes": {
		story: newStory().finishes("zone-1").rolls("zone-1", "zone-1-0"),
		want:  []string{"5 zone-1-0 was deleted, which was not outdated"},
	},
	"5: a stranger's pod goes": {
		story: newStory().pod("other-0", nil).delete("other-0"),
		want:  []string{"5 other-0 was deleted, which belongs to no zone"},
	},
	"5: a pod goes that only looks like one of the zone": {
		story: newStory().pod("zone-1-0", func(p *Pod) { p.Owner = "somebody" }).later(3*time.Second).rolls("zone-1", "zone-1-0"),
		want:  []string{"5 zone-1-0 was deleted, which belongs to no zone"},
	},
	"5: a pod of a StatefulSet outside groups goes": {
		story: newStory().zone("zone-3", func(z *Zone) { z.Grouped, z.Group, z.Revision = false, "", "new" }).
			pod("zone-3-0", nil).pod("zone-3-1", nil).later(3 * time.Second).delete("zone-3-0"),
		want: []string{"5 zone-3-0 was deleted, which belongs to no group", "1 zone-3-0 was deleted without a Lease"},
	},
	"5: a pod that a deleted StatefulSet left behind goes": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Gone = true }).later(3*time.Second).rolls("zone-1", "zone-1-0"),
		want:  []string{"5 zone-1-0 was deleted, which was left by a deleted StatefulSet"},
	},
	"5: a pod of the StatefulSet that had this name before goes": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Gone = true }).
			zone("zone-1", func(z *Zone) { z.UID, z.Gone, z.Replicas = "anew", false, 0 }).
			later(3*time.Second).rolls("zone-1", "zone-1-0"),
		want: []string{"5 zone-1-0 was deleted, which was left by a deleted StatefulSet"},
	},
	"5: a surplus pod goes": {
		story: newStory().zone("zone-1", func(z *Zone) { z.Replicas = 1 }).later(3*time.Second).rolls("zone-1", "zone-1-1"),
		want:  []string{"5 zone-1-1 was deleted, which is beyond spec.replicas"},
	},
	"5: a pod goes whatever its state is": {
		story: newStory().note("zone-1", "zone-1-0").asksToDelete("zone-1-0", func(r *Request) { r.RequiredVersion = 0 }).leaves("zone-1-0"),
		want:  []string{"1 zone-1-0 was deleted at version 0", "5 zone-1-0 was to be deleted without requiring UID and resourceVersion"},
	},
	"5: a pod was to go whoever it is, and did not": {
		story: newStory().asksToDelete("zone-1-0", func(r *Request) { r.RequiredUID, r.Code = "", 409 }),
		want:  []string{"5 zone-1-0 was to be deleted without requiring UID and resourceVersion"},
	},
	"5: a pod goes that nobody has seen": {
		story: newStory().asksToDelete("zone-1-0", func(r *Request) { r.UID, r.RequiredUID = "unknown", "unknown" }),
		want:  []string{"5 zone-1-0 was deleted, of which no watch has told"},
	},
	"5: pods go by other means": {
		story: newStory().asks(Request{Verb: "create", Resource: "pods/eviction", Name: "zone-1-0", Code: 201}).
			asks(Request{Verb: "deletecollection", Resource: "pods", Code: 200}),
		want: []string{"5 pods were to go by other means", "5 pods were to go by other means"},
	},
	"a deletion that comes too late is refused and nothing else": {
		story: newStory().breaks("zone-1-0").asksToDelete("zone-1-0", func(r *Request) { r.Code = 409 }),
	},

	"two groups do not know each other": {
		story: func() *story {
			s := newStory().inGroup("h", "other").note("zone-1", "zone-1-0").delete("zone-1-0")
			return s.holdOf("h", "rollout/other", s.noteOf("other-0")).delete("other-0")
		}(),
	},
	"1: one group's Lease says nothing of another's": {
		story: newStory().inGroup("h", "other").note("other", "other-0").delete("other-0"),
		want:  []string{"1 other-0 was deleted without a Lease of its group"},
	},
	"two namespaces with the same names do not know each other": {
		story: newStory().note("zone-1", "zone-1-0").delete("zone-1-0").
			beside(newStoryIn("m").note("zone-2", "zone-2-0").delete("zone-2-0")),
	},
	"1: one namespace's Lease says nothing of another's": {
		story: newStory().note("zone-1", "zone-1-0").beside(newStoryIn("m").delete("zone-1-0")),
		want:  []string{"1 zone-1-0 was deleted without a Lease of its group"},
	},
	"1: of two namespaces one is objected to": {
		story: newStory().finishes("zone-1").
			beside(newStoryIn("m").note("zone-1", "zone-1-0").delete("zone-1-0").note("zone-2", "zone-2-0").delete("zone-2-0")),
		want: []string{"1 zone-2-0 of zone zone-2 was deleted while zone-1-0"},
	},
}

// single is an operator of single-namespace mode.
func single(namespace string) Rules {
	return Rules{Operators: []Operator{{User: operatorUser, Namespaces: []string{namespace}}}}
}

func (s *story) writes() *story {
	return s.asks(Request{Verb: "patch", Resource: "statefulsets/status", Name: "zone-1", Code: 200})
}

var plantedWrites = map[string]planted{
	"8: a namespace without the label is written to": {
		story: newStory().labelled("").later(3 * time.Second).writes(),
		want:  []string{"8 written to a namespace that did not opt in: patch statefulsets/status n/zone-1"},
	},
	"8: a namespace with another value is written to": {
		story: newStory().labelled("false").later(3 * time.Second).asks(Request{Verb: "create", Resource: "events", Code: 201}),
		want:  []string{"8 written to a namespace that did not opt in: create events"},
	},
	"8: a pod goes in a namespace that did not opt in": {
		story: newStory().labelled("").later(3*time.Second).rolls("zone-1", "zone-1-0"),
		want:  []string{"8 written to a namespace that did not opt in: delete pods n/zone-1-0"},
	},
	"8: a refused write is one too": {
		story: newStory().labelled("").later(3 * time.Second).asks(Request{Verb: "update", Resource: "leases", Code: 403}),
		want:  []string{"8 written to a namespace that did not opt in: update leases"},
	},
	"8: a write long before the label": {
		story: newStory().labelled("").later(3 * time.Second).writes().later(3 * time.Second).labelled("true"),
		want:  []string{"8 written to a namespace that did not opt in"},
	},
	"8: another change of the namespace is no longer grace": {
		story: newStory().labelled("").later(900 * time.Millisecond).labelled("").later(900 * time.Millisecond).writes(),
		want:  []string{"8 written to a namespace that did not opt in"},
	},
	"a write in the moment in which the label is removed": {
		story: newStory().labelled("").later(900 * time.Millisecond).writes(),
	},
	"a write in the moment in which the label is set": {
		story: newStory().labelled("").later(3 * time.Second).writes().labelled("true"),
	},
	"a write long after the label was removed that was heard of late": {
		story: newStory().labelled("").later(3 * time.Second).writes(),
		rules: Rules{Grace: 5 * time.Second},
	},
	"a namespace without the label is read": {
		story: newStory().labelled("").later(3 * time.Second).asks(Request{Verb: "list", Resource: "pods", Code: 200}),
	},
	"a namespace without the label is written to by somebody else": {
		story: newStory().labelled("").later(3 * time.Second).asks(Request{User: "somebody", Verb: "patch", Resource: "pods", Code: 200}),
	},
	"a namespace that is gone is written to, which is refused": {
		story: newStory().tell(Fact{Home: &Home{Gone: true}}).later(3 * time.Second).
			asks(Request{Verb: "create", Resource: "events", Code: 404}),
	},
	"8: a namespace that is gone and made anew without the label is written to": {
		story: newStory().tell(Fact{Home: &Home{Gone: true}}).labelled("").later(3 * time.Second).writes(),
		want:  []string{"8 written to a namespace that did not opt in"},
	},
	"8: a namespace that is not on the list is written to, whatever its label is": {
		story: newStory().writes(),
		rules: single("m"),
		want:  []string{"8 written to a namespace that did not opt in"},
	},
	"a namespace of the list is written to, whatever its label is": {
		story: newStory().labelled("").later(3 * time.Second).writes(),
		rules: single("n"),
	},
	"8: a namespace that nobody watches is written to by who has a list": {
		story: newStory().writes().beside(newUnwatchedStory("m").writes()),
		rules: single("n"),
		want:  []string{"8 written to a namespace that did not opt in: patch statefulsets/status m/zone-1"},
	},
	"8: what belongs to no namespace is written by who has a list": {
		story: newStory().beside(newUnwatchedStory("").asks(Request{Verb: "patch", Resource: "nodes", Name: "node-1", Code: 200})),
		rules: single("n"),
		want:  []string{"8 written to a namespace that did not opt in: patch nodes /node-1"},
	},
	"a review is no write": {
		story: newStory().beside(newUnwatchedStory("").asks(Request{Verb: "create", Resource: "selfsubjectaccessreviews", Code: 201})),
		rules: single("n"),
	},
	"8: of two namespaces one did not opt in": {
		story: newStory().writes().beside(newStoryIn("m").labelled("").later(3 * time.Second).writes()),
		want:  []string{"8 written to a namespace that did not opt in: patch statefulsets/status m/zone-1"},
	},
	"the leader's Lease at home": {
		story: newStoryIn("lockstep-system").labelled("").later(3 * time.Second).
			asks(Request{Verb: "update", Resource: "leases", Name: LeaderLease, Code: 200}),
	},
	"8: something else at home": {
		story: newStoryIn("lockstep-system").labelled("").later(3 * time.Second).
			asks(Request{Verb: "update", Resource: "leases", Name: "lockstep-group-g", Code: 200}),
		want: []string{"8 written to a namespace that did not opt in"},
	},
}

func TestTheJudgeFindsWhatWasPlanted(t *testing.T) {
	t.Parallel()
	for _, table := range []map[string]planted{plantedTakedowns, plantedEvictions, plantedWrites, plantedDelays, plantedLeft} {
		for name, p := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p.isFound(t)
			})
		}
	}
}

func (p planted) isFound(t *testing.T) {
	t.Helper()
	if p.rules.Operators == nil {
		p.rules.Operators = []Operator{clusterWide}
	}
	var got []string
	for _, v := range Try(p.story.facts, p.story.requests, p.rules).Violations {
		got = append(got, fmt.Sprintf("%d %s", v.Guarantee, v.Text))
	}
	if len(got) != len(p.want) {
		t.Fatalf("%d violations, %d wanted: %q", len(got), len(p.want), got)
	}
	for i, beginning := range p.want {
		if !strings.HasPrefix(got[i], beginning) {
			t.Errorf("violation %d: got %q, want %q at its beginning", i, got[i], beginning)
		}
	}
}

func TestEveryGuaranteeHasAPlantedViolation(t *testing.T) {
	t.Parallel()
	for _, guarantee := range []string{"1", "2", "3", "4", "5", "6", "8"} {
		found := false
		for _, table := range []map[string]planted{plantedTakedowns, plantedEvictions, plantedWrites, plantedDelays, plantedLeft} {
			for name, p := range table {
				if (len(p.want) > 0) != (name[1] == ':') {
					t.Errorf("%q should begin with the number of the guarantee that it breaks, if it breaks one", name)
				}
				found = found || slices.ContainsFunc(p.want, func(w string) bool { return strings.HasPrefix(w, guarantee+" ") })
			}
		}
		if !found {
			t.Errorf("nothing was planted against guarantee %s", guarantee)
		}
	}
}

func TestADepartureThatNoRequestExplainsIsSaid(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		story *story
		want  int
	}{
		"nobody asked":                   {newStory().leaves("zone-1-0"), 1},
		"nobody asked, and it is gone":   {newStory().left("zone-1-0"), 1},
		"the one before it was asked to": {newStory().breaks("zone-1-0").replace("zone-1-0", true).leaves("zone-1-0"), 1},
		"it was refused":                 {newStory().asksToEvict("zone-1-0", func(r *Request) { r.Code = 429 }).leaves("zone-1-0"), 1},
		"an operator asked":              {newStory().note("zone-1", "zone-1-0").delete("zone-1-0"), 0},
		"somebody asked":                 {newStory().breaks("zone-1-0").left("zone-1-0"), 0},
		"a kubelet asked":                {newStory().asksToDelete("zone-1-0", func(r *Request) { r.AtOnce = true }).left("zone-1-0"), 0},

		"a kubelet asked for what has the name, and still did":      {newStory().asksToDelete("zone-1-0", atOnceUntil(time.Minute)).replace("zone-1-0", true).left("zone-1-0"), 0},
		"a kubelet asked for what had the name, and long ago":       {newStory().asksToDelete("zone-1-0", atOnceUntil(0)).replace("zone-1-0", true).later(time.Minute).left("zone-1-0"), 1},
		"a kubelet asked for the very one, and another one is gone": {newStory().asksToDelete("zone-1-0", theOneAtOnce).replace("zone-1-0", true).left("zone-1-0"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := Try(test.story.facts, test.story.requests, Rules{Operators: []Operator{clusterWide}, Evicting: true})
			if len(v.Unexplained) != test.want {
				t.Errorf("%d departures are not explained, want %d: %q", len(v.Unexplained), test.want, v.Unexplained)
			}
		})
	}
}

// atOnceUntil makes a deletion that of a kubelet which names a pod by its name alone,
// and which the API server works on for so long.
func atOnceUntil(end time.Duration) func(*Request) {
	return func(r *Request) {
		r.User, r.AtOnce, r.RequiredUID, r.RequiredVersion, r.Ended = "kubelet", true, "", 0, r.Ended.Add(end)
	}
}

// theOneAtOnce makes a deletion that of a kubelet which names the very pod.
func theOneAtOnce(r *Request) { r.User, r.AtOnce, r.RequiredVersion = "kubelet", true, 0 }

func TestTheJudgeReadsAHistoryByVersionNotByArrival(t *testing.T) {
	t.Parallel()
	s := newStory().finishes("zone-1")
	shuffled := slices.Clone(s.facts)
	slices.Reverse(shuffled)
	v := Try(shuffled, s.requests, Rules{Operators: []Operator{clusterWide}})
	if d := v.Takedowns; len(v.Violations) > 0 || len(d) != 2 || d[0].Pod != "zone-1-0" || !d[0].WasUp {
		t.Errorf("got %+v", v)
	}
}

func TestAViolationSaysWhereItWas(t *testing.T) {
	t.Parallel()
	s := newStory().delete("zone-1-0")
	got := Try(s.facts, s.requests, Rules{Operators: []Operator{clusterWide}}).Violations
	if len(got) != 1 || got[0].Namespace != "n" || got[0].Group != "g" || got[0].Zone != "zone-1" {
		t.Errorf("got %+v", got)
	}
	if text := got[0].String(); !strings.HasPrefix(text, "guarantee 1: n: zone-1-0") {
		t.Errorf("it reads %q", text)
	}
}

func TestTheOrderOfARolloutIsJudged(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		story *story
		want  []string
	}{
		"a proper rollout":  {newStory().finishes("zone-1").finishes("zone-2"), nil},
		"zones":             {newStory().finishes("zone-2").finishes("zone-1"), []string{"zone zone-1 began after zone zone-2"}},
		"ordinals":          {newStory().rolls("zone-1", "zone-1-1").rolls("zone-1", "zone-1-0"), []string{"zone-1-0 was deleted after zone-1-1"}},
		"in two namespaces": {newStory().finishes("zone-2").beside(newStoryIn("o").finishes("zone-1")), nil},
		"what goes together": {
			newStory().zone("zone-1", func(z *Zone) { z.Budget = 2 }).note("zone-1", "zone-1-0", "zone-1-1").delete("zone-1-1").delete("zone-1-0"), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := Try(test.story.facts, test.story.requests, Rules{Operators: []Operator{clusterWide}})
			if got := Order(v.Takedowns); !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
