package judge

import (
	"testing"
	"time"
)

// seconds is so long after a story's beginning.
func seconds(s float64) time.Time { return storyBegins.Add(time.Duration(s * float64(time.Second))) }

// onItsWay is a request of the operator's that was late, and not given up.
func onItsWay(verb, resource, name string, from, to float64) Delay {
	return Delay{
		Of: Request{Verb: verb, Resource: resource, Name: name, Agent: operatorAgent}, Group: "g",
		From: seconds(from), To: seconds(to), GivenUp: seconds(from + 10),
	}
}

func (d Delay) with(change func(*Delay)) Delay { change(&d); return d }

// wrote says which operator has written what was told last.
func (s *story) wrote(agent string) *story {
	return s.asks(Request{
		User: operatorUser, Agent: agent, Verb: "update", Resource: "leases", Name: "lockstep-group-g", Code: 200, Version: last(s.facts).Version,
	})
}

// A pod of zone-2 is broken 0.1 s after the beginning, and one of zone-1 deleted at 3.1 s.
func deletedLater() *story {
	return newStory().breaks("zone-2-1").later(3 * time.Second).delete("zone-1-0").notedBefore()
}

// The same by a hold that was taken at 3.2 s, and a deletion at once.
func takenLater(by string) *story {
	return newStory().breaks("zone-2-1").later(3*time.Second).note("zone-1", "zone-1-0").wrote(by).delete("zone-1-0")
}

// The same, and the API server needed so long for a write of the Lease.
func answeredAt(s float64) *story { return answered("lockstep-group-g", 200, s) }

func answered(lease string, code int, s float64) *story {
	write := Request{Verb: "update", Resource: "leases", Name: lease, Code: code, Ended: seconds(s)}
	return newStory().asks(write).breaks("zone-2-1").later(seconds(max(s, 3)).Sub(storyBegins)).delete("zone-1-0").notedBefore()
}

// The same, and a write of the Lease was refused just before.
func deletedAfterARefusal() *story {
	refusal := Request{Verb: "update", Resource: "leases", Name: "lockstep-group-g", Code: 409, Ended: seconds(3.1)}
	return newStory().breaks("zone-2-1").later(3 * time.Second).asks(refusal).delete("zone-1-0").notedBefore()
}

// The same by an eviction under a hold that was taken before.
func evictedLater() *story {
	return newStory().hold("eviction/zone-1").breaks("zone-2-1").later(3*time.Second).grants("zone-1", "zone-1-0").wrote(operatorAgent).evict("zone-1-0")
}

// An eviction that is asked for at 0.1 s and noted at 0.2 s, a pod of zone-2 that is broken
// at 0.3 s, and 3 s for the API server to carry it out.
func carriedOutLate(change func(noted *Request)) *story {
	s := newStory().asksToEvict("zone-1-0", func(r *Request) { r.Ended = r.Ended.Add(4 * time.Second) }).
		grants("zone-1", "zone-1-0").wrote(operatorAgent)
	noted := &s.requests[len(s.requests)-1]
	if noted.Ended = s.now; change != nil {
		change(noted)
	}
	return s.breaks("zone-2-1").later(3 * time.Second).leaves("zone-1-0")
}

func shrunkLater() *story {
	return newStory().breaks("zone-2-1").later(3*time.Second).shrinks("zone-1").wrote(operatorAgent).decrease("zone-1", 1)
}

var (
	afterAll   = []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"}
	evictedTo  = []string{"2 zone-1-0 of zone zone-1 was evicted while zone-2-1"}
	shrunkTo   = []string{"2 zone-1 shrank to 1 while zone-2-1"}
	leaseWrite = func(from, to float64) Delay { return onItsWay("update", "leases", "lockstep-group-g", from, to) }
)

var plantedDelays = map[string]planted{
	"a pod goes by a request that was sent before another zone was broken": {
		story: deletedLater(), rules: Rules{Delays: []Delay{onItsWay("delete", "pods", "zone-1-0", 0, 3.1)}},
	},
	"2: a pod goes by a request that was sent long after another zone was broken": {
		story: deletedLater(), rules: Rules{Delays: []Delay{onItsWay("delete", "pods", "zone-1-0", 1.5, 3.1)}}, want: afterAll,
	},
	"2: the deletion of one pod was late, and another one goes": {
		story: deletedLater(), rules: Rules{Delays: []Delay{onItsWay("delete", "pods", "zone-1-1", 0, 3.1)}}, want: afterAll,
	},
	"2: a deletion of another process was late": {
		story: deletedLater(), want: afterAll,
		rules: Rules{Delays: []Delay{onItsWay("delete", "pods", "zone-1-0", 0, 3.1).with(func(d *Delay) { d.Of.Agent = "another" })}},
	},
	"a pod goes after a write of its Lease that was late": {
		story: deletedLater(), rules: Rules{Delays: []Delay{leaseWrite(0, 3)}},
	},
	"2: a pod goes long after a write of its Lease was late": {
		story: deletedLater(), rules: Rules{Delays: []Delay{leaseWrite(0, 1.9)}}, want: afterAll,
	},
	"2: a pod goes after a write of another group's Lease that was late": {
		story: deletedLater(), rules: Rules{Delays: []Delay{leaseWrite(0, 3).with(func(d *Delay) { d.Group = "other" })}}, want: afterAll,
	},
	"2: a pod goes after a write of its Lease that was given up before it arrived": {
		story: deletedLater(), rules: Rules{Delays: []Delay{leaseWrite(0, 3).with(func(d *Delay) { d.GivenUp = seconds(2) })}}, want: afterAll,
	},
	"2: a pod goes while a write of its Lease is on its way": {
		story: deletedLater(), rules: Rules{Delays: []Delay{leaseWrite(0, 4)}}, want: afterAll,
	},
	"2: a pod goes after a zone was written to late": {
		story: deletedLater(), rules: Rules{Delays: []Delay{onItsWay("patch", "statefulsets", "zone-2", 0, 3)}}, want: afterAll,
	},
	"2: a pod goes after a zone's status was written late": {
		story: deletedLater(), rules: Rules{Delays: []Delay{onItsWay("patch", "statefulsets/status", "zone-1", 0, 3)}}, want: afterAll,
	},
	"a pod goes after a look and a write of its Lease that were late": {
		story: deletedLater(), rules: Rules{Delays: []Delay{onItsWay("list", "statefulsets", "", 0, 1.5), leaseWrite(1.6, 3)}},
	},
	"2: a pod goes after two writes of its Lease that were late": {
		story: deletedLater(), rules: Rules{Delays: []Delay{leaseWrite(0, 1.5), leaseWrite(1.6, 3)}}, want: afterAll,
	},
	"2: a pod goes after a write of its Lease that was late, and a look that was so after it": {
		story: deletedLater(), rules: Rules{Delays: []Delay{leaseWrite(0, 1.5), onItsWay("list", "statefulsets", "", 1.6, 3)}}, want: afterAll,
	},
	"a pod goes after a write of its Lease for which the API server needed long": {
		story: answeredAt(3),
	},
	"2: a pod goes after a write of its Lease that was late, and refused": {
		story: deletedAfterARefusal(),
		rules: Rules{Delays: []Delay{leaseWrite(0, 3)}}, want: afterAll,
	},
	"2: a pod goes after a write of its Lease that took the API server long to refuse": {
		story: answered("lockstep-group-g", 409, 3), want: afterAll,
	},
	"2: a pod goes after a write of its Lease for which nobody waits so long": {
		story: answered("lockstep-group-g", 200, 12), want: afterAll,
	},
	"2: a pod goes after a write of another group's Lease for which the API server needed long": {
		story: answered("lockstep-group-other", 200, 3), want: afterAll,
	},
	"2: a pod goes after a write of the Lease of leadership for which the API server needed long": {
		story: answered(LeaderLease, 200, 3), want: afterAll,
	},
	"2: a pod goes after a write of its Lease for which the API server needed a moment": {
		story: answeredAt(0.9), want: afterAll,
	},
	"a pod goes by an operator that was stopped": {
		story: deletedLater(), rules: Rules{Delays: []Delay{{Of: Request{Agent: operatorAgent}, From: seconds(0), To: seconds(3)}}},
	},
	"2: a pod goes while another operator is stopped": {
		story: deletedLater(), rules: Rules{Delays: []Delay{{Of: Request{Agent: "another"}, From: seconds(0), To: seconds(3)}}}, want: afterAll,
	},
	"a pod goes by a request that was late, decided on caches that were": {
		story: deletedLater(), rules: Rules{Deaf: []Window{lateBy(time.Second)}, Delays: []Delay{onItsWay("delete", "pods", "zone-1-0", 1.5, 3.1)}},
	},

	"a pod goes by an eviction that the API server carried out late": {
		story: carriedOutLate(nil), rules: Rules{Evicting: true},
	},
	"2: a pod goes by an eviction that was noted late": {
		story: carriedOutLate(func(r *Request) { r.At, r.Ended = seconds(1.7), seconds(1.7) }),
		rules: Rules{Evicting: true}, want: evictedTo,
	},
	"2: a pod goes by an eviction that was noted before it was asked for": {
		story: carriedOutLate(func(r *Request) { r.Ended = r.Ended.Add(-time.Minute) }),
		rules: Rules{Evicting: true}, want: evictedTo,
	},
	"2: a pod goes by an eviction of which nobody knows when it was noted": {
		story: carriedOutLate(func(r *Request) { r.Ended = time.Time{} }), rules: Rules{Evicting: true}, want: evictedTo,
	},

	"a pod goes by a hold whose write was late, after a look": {
		story: takenLater(operatorAgent), rules: Rules{Delays: []Delay{leaseWrite(0, 3.15)}},
	},
	"2: a pod goes by a hold that another operator took, whose write was late": {
		story: takenLater("lockstep/second"), want: afterAll,
		rules: Rules{Delays: []Delay{leaseWrite(0, 3.15).with(func(d *Delay) { d.Of.Agent = "lockstep/second" })}},
	},

	"a pod is evicted by a note that was late": {
		story: evictedLater(), rules: Rules{Evicting: true, Delays: []Delay{leaseWrite(0, 3.15)}},
	},
	"2: a pod is evicted by a note of an operator, and another one's was late": {
		story: evictedLater(), want: evictedTo,
		rules: Rules{Evicting: true, Delays: []Delay{leaseWrite(0, 3.15).with(func(d *Delay) { d.Of.Agent = "another" })}},
	},
	"a pod is evicted by a note of an operator that could not hear": {
		story: evictedLater(), rules: Rules{Evicting: true, Deaf: []Window{{From: storyBegins, To: seconds(60), Agent: operatorAgent}}},
	},
	"a pod is evicted by a note of an operator, and another one that went on with it could not hear": {
		story: newStory().hold("eviction/zone-1").breaks("zone-2-1").later(3*time.Second).grants("zone-1", "zone-1-0").wrote(operatorAgent).
			grants("zone-1", "zone-1-0").wrote("another").evict("zone-1-0"),
		rules: Rules{Evicting: true, Deaf: []Window{{From: storyBegins, To: seconds(60), Agent: "another"}}},
	},
	"2: a pod is evicted by a note of an operator, and another one could not hear": {
		story: evictedLater(), want: evictedTo,
		rules: Rules{Evicting: true, Deaf: []Window{{From: storyBegins, To: seconds(60), Agent: "another"}}},
	},

	"a zone shrinks by two writes of its Lease that were late": {
		story: shrunkLater(), rules: Rules{Guarded: true, Delays: []Delay{leaseWrite(0, 1.5), leaseWrite(1.6, 3.2)}},
	},
	"a zone shrinks under a hold of an operator that could not hear since": {
		story: newStory().hold("downscale/zone-1").breaks("zone-2-1").later(3*time.Second).shrinks("zone-1").wrote(operatorAgent).decrease("zone-1", 1),
		rules: Rules{Guarded: true, Deaf: []Window{{From: storyBegins, To: seconds(60), Agent: operatorAgent}}},
	},
	"2: a zone shrinks under a hold that an operator has taken since, which could not hear": {
		story: shrunkLater(), want: shrunkTo,
		rules: Rules{Guarded: true, Deaf: []Window{{From: storyBegins, To: seconds(60), Agent: operatorAgent}}},
	},
	"2: a zone shrinks by a note of an operator, and another one could not hear": {
		story: shrunkLater(), want: shrunkTo,
		rules: Rules{Guarded: true, Deaf: []Window{{From: storyBegins, To: seconds(60), Agent: "another"}}},
	},
	"2: a zone shrinks, and the operator that shrank it is not the one that could not hear": {
		story: newStory().breaks("zone-2-1").later(3*time.Second).shrinks("zone-1").wrote("another").decrease("zone-1", 1).wrote(operatorAgent), want: shrunkTo,
		rules: Rules{Guarded: true, Deaf: []Window{{From: storyBegins, To: seconds(60), Agent: "another"}}},
	},
}

func TestTheGraceOfATakedownIsWhatWasNotHeldAgainstIt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		story *story
		rules Rules
		want  time.Duration
	}{
		"as always":              {deletedLater(), Rules{}, time.Second},
		"late caches":            {deletedLater(), Rules{Deaf: []Window{lateBy(1500 * time.Millisecond)}}, 2500 * time.Millisecond},
		"a late request":         {deletedLater(), Rules{Delays: []Delay{onItsWay("delete", "pods", "zone-1-0", 1.1, 3.1)}}, 3 * time.Second},
		"both":                   {deletedLater(), Rules{Deaf: []Window{lateBy(time.Second)}, Delays: []Delay{onItsWay("delete", "pods", "zone-1-0", 2.1, 3.1)}}, 3 * time.Second},
		"a time without a watch": {deletedLater(), Rules{Deaf: []Window{{From: seconds(1.1), To: seconds(2.6)}}}, 3 * time.Second},
		"one that is long over":  {deletedLater(), Rules{Deaf: []Window{{From: seconds(0.1), To: seconds(2)}}}, time.Second},
		"a slow API server":      {answeredAt(3), Rules{}, 4100 * time.Millisecond},
		"none for that":          {answeredAt(3), Rules{Strict: true}, time.Second},
		"late caches and a look": {takenLater(operatorAgent), Rules{Deaf: []Window{lateBy(time.Minute)}}, time.Second},
	} {
		test.rules.Operators = []Operator{clusterWide}
		v := Try(test.story.facts, test.story.requests, test.rules)
		if got := v.Takedowns[len(v.Takedowns)-1].Grace.Round(10 * time.Millisecond); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
