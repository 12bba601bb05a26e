package judge

import (
	"testing"
	"time"
)

// seconds returns the time s seconds after the start of a history.
func seconds(s float64) time.Time { return historyStart.Add(time.Duration(s * float64(time.Second))) }

// delayedRequest returns a delay of an operator's request that the client did not abandon.
func delayedRequest(verb, resource, name string, from, to float64) Delay {
	return Delay{
		Request: Request{Verb: verb, Resource: resource, Name: name, Agent: operatorAgent}, Group: "g",
		From: seconds(from), To: seconds(to), AbandonedAt: seconds(from + 10),
	}
}

func (d Delay) with(change func(*Delay)) Delay { change(&d); return d }

// writtenBy adds the request of the operator that wrote the last event's version.
func (h *history) writtenBy(agent string) *history {
	return h.request(Request{
		User: operatorUser, Agent: agent, Verb: "update", Resource: "leases", Name: "lockstep-group-g", Code: 200, Version: last(h.events).Version,
	})
}

// lateDeletion breaks a pod of zone-2 at 0.1 s and deletes a pod of zone-1 at 3.1 s.
func lateDeletion() *history {
	return newHistory().deleteByOther("zone-2-1").after(3 * time.Second).delete("zone-1-0").withEarlierIntents()
}

// lateHold is lateDeletion with a hold that is taken at 3.2 s, just before the deletion.
func lateHold(by string) *history {
	return newHistory().deleteByOther("zone-2-1").after(3*time.Second).holdForRollout("zone-1", "zone-1-0").writtenBy(by).delete("zone-1-0")
}

// slowLeaseWrite is lateDeletion after a Lease write that the API server answers at s.
func slowLeaseWrite(s float64) *history { return slowWrite("lockstep-group-g", 200, s) }

func slowWrite(lease string, code int, s float64) *history {
	write := Request{Verb: "update", Resource: "leases", Name: lease, Code: code, Ended: seconds(s)}
	return newHistory().request(write).deleteByOther("zone-2-1").after(seconds(max(s, 3)).Sub(historyStart)).delete("zone-1-0").withEarlierIntents()
}

// deletionAfterRefusal is lateDeletion just after a refused Lease write.
func deletionAfterRefusal() *history {
	refusal := Request{Verb: "update", Resource: "leases", Name: "lockstep-group-g", Code: 409, Ended: seconds(3.1)}
	return newHistory().deleteByOther("zone-2-1").after(3 * time.Second).request(refusal).delete("zone-1-0").withEarlierIntents()
}

// lateEviction is lateDeletion with an eviction under a hold that was taken before.
func lateEviction() *history {
	return newHistory().hold("eviction/zone-1").deleteByOther("zone-2-1").after(3*time.Second).holdForEviction("zone-1", "zone-1-0").writtenBy(operatorAgent).evict("zone-1-0")
}

// slowEviction requests an eviction at 0.1 s, records its intent at 0.2 s and breaks a pod of zone-2
// at 0.3 s. The API server carries the eviction out 3 s later.
func slowEviction(change func(noted *Request)) *history {
	s := newHistory().requestEviction("zone-1-0", func(r *Request) { r.Ended = r.Ended.Add(4 * time.Second) }).
		holdForEviction("zone-1", "zone-1-0").writtenBy(operatorAgent)
	noted := &s.requests[len(s.requests)-1]
	if noted.Ended = s.now; change != nil {
		change(noted)
	}
	return s.deleteByOther("zone-2-1").after(3 * time.Second).terminate("zone-1-0")
}

func lateDownscale() *history {
	return newHistory().deleteByOther("zone-2-1").after(3*time.Second).intendDownscale("zone-1").writtenBy(operatorAgent).scaleTo("zone-1", 1)
}

var (
	deletionViolation  = []string{"2 zone-1-0 of zone zone-1 was deleted while zone-2-1"}
	evictionViolation  = []string{"2 zone-1-0 of zone zone-1 was evicted while zone-2-1"}
	downscaleViolation = []string{"2 zone-1 was scaled down to 1 while zone-2-1"}
	leaseWrite         = func(from, to float64) Delay { return delayedRequest("update", "leases", "lockstep-group-g", from, to) }
)

var plantedDelays = map[string]plantedCase{
	"a pod is deleted by a request that was sent before another zone was broken": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{delayedRequest("delete", "pods", "zone-1-0", 0, 3.1)}},
	},
	"2: a pod is deleted by a request that was sent long after another zone was broken": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{delayedRequest("delete", "pods", "zone-1-0", 1.5, 3.1)}}, want: deletionViolation,
	},
	"2: the deletion of one pod was late, and another one is deleted": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{delayedRequest("delete", "pods", "zone-1-1", 0, 3.1)}}, want: deletionViolation,
	},
	"2: a deletion of another process was late": {
		history: lateDeletion(), want: deletionViolation,
		rules: Rules{Delays: []Delay{delayedRequest("delete", "pods", "zone-1-0", 0, 3.1).with(func(d *Delay) { d.Request.Agent = "another" })}},
	},
	"a pod is deleted after a write of its Lease that was late": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{leaseWrite(0, 3)}},
	},
	"2: a pod is deleted long after a write of its Lease was late": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{leaseWrite(0, 1.9)}}, want: deletionViolation,
	},
	"2: a pod is deleted after a write of another group's Lease that was late": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{leaseWrite(0, 3).with(func(d *Delay) { d.Group = "other" })}}, want: deletionViolation,
	},
	"2: a pod is deleted after a write of its Lease whose client ended before it arrived": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{leaseWrite(0, 3).with(func(d *Delay) { d.AbandonedAt = seconds(2) })}}, want: deletionViolation,
	},
	"2: a pod is deleted while a write of its Lease is on its way": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{leaseWrite(0, 4)}}, want: deletionViolation,
	},
	"2: a pod is deleted after a zone was written to late": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{delayedRequest("patch", "statefulsets", "zone-2", 0, 3)}}, want: deletionViolation,
	},
	"2: a pod is deleted after a zone's status was written late": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{delayedRequest("patch", "statefulsets/status", "zone-1", 0, 3)}}, want: deletionViolation,
	},
	"a pod is deleted after a live read and a write of its Lease that were late": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{delayedRequest("list", "statefulsets", "", 0, 1.5), leaseWrite(1.6, 3)}},
	},
	"2: a pod is deleted after two writes of its Lease that were late": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{leaseWrite(0, 1.5), leaseWrite(1.6, 3)}}, want: deletionViolation,
	},
	"2: a pod is deleted after a write of its Lease that was late, and then a late live read": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{leaseWrite(0, 1.5), delayedRequest("list", "statefulsets", "", 1.6, 3)}}, want: deletionViolation,
	},
	"a pod is deleted after a write of its Lease that took the API server long": {
		history: slowLeaseWrite(3),
	},
	"2: a pod is deleted after a write of its Lease that was late, and refused": {
		history: deletionAfterRefusal(),
		rules:   Rules{Delays: []Delay{leaseWrite(0, 3)}}, want: deletionViolation,
	},
	"2: a pod is deleted after a write of its Lease that took the API server long to refuse": {
		history: slowWrite("lockstep-group-g", 409, 3), want: deletionViolation,
	},
	"2: a pod is deleted after a write of its Lease that took longer than the operator waits": {
		history: slowWrite("lockstep-group-g", 200, 12), want: deletionViolation,
	},
	"2: a pod is deleted after a write of another group's Lease that took the API server long": {
		history: slowWrite("lockstep-group-other", 200, 3), want: deletionViolation,
	},
	"2: a pod is deleted after a write of the leader election's Lease that took the API server long": {
		history: slowWrite(LeaderLease, 200, 3), want: deletionViolation,
	},
	"2: a pod is deleted after a write of its Lease that took the API server a moment": {
		history: slowLeaseWrite(0.9), want: deletionViolation,
	},
	"a pod is deleted by an operator that was stopped": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{{Request: Request{Agent: operatorAgent}, From: seconds(0), To: seconds(3)}}},
	},
	"2: a pod is deleted while another operator is stopped": {
		history: lateDeletion(), rules: Rules{Delays: []Delay{{Request: Request{Agent: "another"}, From: seconds(0), To: seconds(3)}}}, want: deletionViolation,
	},
	"a pod is deleted by a request that was late, and was decided on late caches": {
		history: lateDeletion(), rules: Rules{StaleCaches: []Window{delayedBy(time.Second)}, Delays: []Delay{delayedRequest("delete", "pods", "zone-1-0", 1.5, 3.1)}},
	},

	"a pod is deleted by an eviction that the API server carried out late": {
		history: slowEviction(nil), rules: Rules{EvictionWebhook: true},
	},
	"2: a pod is deleted by an eviction that was recorded late": {
		history: slowEviction(func(r *Request) { r.At, r.Ended = seconds(1.7), seconds(1.7) }),
		rules:   Rules{EvictionWebhook: true}, want: evictionViolation,
	},
	"2: a pod is deleted by an eviction that was recorded before its request": {
		history: slowEviction(func(r *Request) { r.Ended = r.Ended.Add(-time.Minute) }),
		rules:   Rules{EvictionWebhook: true}, want: evictionViolation,
	},
	"2: a pod is deleted by an eviction whose intent has an unknown time": {
		history: slowEviction(func(r *Request) { r.Ended = time.Time{} }), rules: Rules{EvictionWebhook: true}, want: evictionViolation,
	},

	"a pod is deleted by a hold whose write was late, after a live read": {
		history: lateHold(operatorAgent), rules: Rules{Delays: []Delay{leaseWrite(0, 3.15)}},
	},
	"2: a pod is deleted by a hold that another operator took, whose write was late": {
		history: lateHold("lockstep/second"), want: deletionViolation,
		rules: Rules{Delays: []Delay{leaseWrite(0, 3.15).with(func(d *Delay) { d.Request.Agent = "lockstep/second" })}},
	},

	"a pod is evicted by an intent that was late": {
		history: lateEviction(), rules: Rules{EvictionWebhook: true, Delays: []Delay{leaseWrite(0, 3.15)}},
	},
	"2: a pod is evicted by an intent of an operator, while another operator's was late": {
		history: lateEviction(), want: evictionViolation,
		rules: Rules{EvictionWebhook: true, Delays: []Delay{leaseWrite(0, 3.15).with(func(d *Delay) { d.Request.Agent = "another" })}},
	},
	"a pod is evicted by an intent of an operator that had stale caches": {
		history: lateEviction(), rules: Rules{EvictionWebhook: true, StaleCaches: []Window{{From: historyStart, To: seconds(60), Agent: operatorAgent}}},
	},
	"a pod is evicted by an intent of an operator, and a second operator that continued with it had stale caches": {
		history: newHistory().hold("eviction/zone-1").deleteByOther("zone-2-1").after(3*time.Second).holdForEviction("zone-1", "zone-1-0").writtenBy(operatorAgent).
			holdForEviction("zone-1", "zone-1-0").writtenBy("another").evict("zone-1-0"),
		rules: Rules{EvictionWebhook: true, StaleCaches: []Window{{From: historyStart, To: seconds(60), Agent: "another"}}},
	},
	"2: a pod is evicted by an intent of an operator, and another one had stale caches": {
		history: lateEviction(), want: evictionViolation,
		rules: Rules{EvictionWebhook: true, StaleCaches: []Window{{From: historyStart, To: seconds(60), Agent: "another"}}},
	},

	"a zone is scaled down by two writes of its Lease that were late": {
		history: lateDownscale(), rules: Rules{DownscaleWebhook: true, Delays: []Delay{leaseWrite(0, 1.5), leaseWrite(1.6, 3.2)}},
	},
	"a zone is scaled down under a hold of an operator that had stale caches since": {
		history: newHistory().hold("downscale/zone-1").deleteByOther("zone-2-1").after(3*time.Second).intendDownscale("zone-1").writtenBy(operatorAgent).scaleTo("zone-1", 1),
		rules:   Rules{DownscaleWebhook: true, StaleCaches: []Window{{From: historyStart, To: seconds(60), Agent: operatorAgent}}},
	},
	"2: a zone is scaled down under a hold that an operator has taken since, with stale caches": {
		history: lateDownscale(), want: downscaleViolation,
		rules: Rules{DownscaleWebhook: true, StaleCaches: []Window{{From: historyStart, To: seconds(60), Agent: operatorAgent}}},
	},
	"2: a zone is scaled down by an intent of an operator, and another one had stale caches": {
		history: lateDownscale(), want: downscaleViolation,
		rules: Rules{DownscaleWebhook: true, StaleCaches: []Window{{From: historyStart, To: seconds(60), Agent: "another"}}},
	},
	"2: a zone is scaled down, and the operator that scaled it down is not the one that had stale caches": {
		history: newHistory().deleteByOther("zone-2-1").after(3*time.Second).intendDownscale("zone-1").writtenBy("another").scaleTo("zone-1", 1).writtenBy(operatorAgent), want: downscaleViolation,
		rules: Rules{DownscaleWebhook: true, StaleCaches: []Window{{From: historyStart, To: seconds(60), Agent: "another"}}},
	},
}

func TestDisruptionGrace(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		story *history
		rules Rules
		want  time.Duration
	}{
		"the default":                        {lateDeletion(), Rules{}, time.Second},
		"late caches":                        {lateDeletion(), Rules{StaleCaches: []Window{delayedBy(1500 * time.Millisecond)}}, 2500 * time.Millisecond},
		"a late request":                     {lateDeletion(), Rules{Delays: []Delay{delayedRequest("delete", "pods", "zone-1-0", 1.1, 3.1)}}, 3 * time.Second},
		"both":                               {lateDeletion(), Rules{StaleCaches: []Window{delayedBy(time.Second)}, Delays: []Delay{delayedRequest("delete", "pods", "zone-1-0", 2.1, 3.1)}}, 3 * time.Second},
		"a period without a watch":           {lateDeletion(), Rules{StaleCaches: []Window{{From: seconds(1.1), To: seconds(2.6)}}}, 3 * time.Second},
		"an earlier period without a watch":  {lateDeletion(), Rules{StaleCaches: []Window{{From: seconds(0.1), To: seconds(2)}}}, time.Second},
		"a slow API server":                  {slowLeaseWrite(3), Rules{}, 4100 * time.Millisecond},
		"a slow API server and strict rules": {slowLeaseWrite(3), Rules{Strict: true}, time.Second},
		"late caches and a live read":        {lateHold(operatorAgent), Rules{StaleCaches: []Window{delayedBy(time.Minute)}}, time.Second},
	} {
		test.rules.Operators = []Operator{clusterWide}
		v := Verify(test.story.events, test.story.requests, test.rules)
		if got := v.Disruptions[len(v.Disruptions)-1].Grace.Round(10 * time.Millisecond); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
