package sim

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/sim/judge"
)

// downscaleClient is a client that requests a downscale of a zone. The API server reads the zone,
// calls a webhook, and updates the zone if its version has not changed. Otherwise it calls the
// webhook again.
type downscaleClient struct {
	state    downscaleState
	zone     uint8
	to       uint8
	version  uint8 // of the zone on which the webhook decides
	recorded bool  // the Lease has the record of the admission
	known    lease // the Lease as the webhook has read it
	zones    zones
	pods     pods  // as the webhook has read them; only at downscaleConfirming
	record   lease // the Lease that the webhook writes
	notDown  slots // the pods that were not down in the live read of the webhook
}

// downscaleState is the progress of a request for a downscale.
type downscaleState uint8

const (
	downscaleNone downscaleState = iota
	downscaleRequested
	downscaleLeaseRead
	downscaleZonesRead
	downscaleConfirming
	downscaleWriting
	downscaleAdmitted
)

// downscaleInput is the complete input of a downscaleAnswer.
type downscaleInput struct {
	view
	zone, to, version uint8
}

// downscaleAnswer is the answer of a webhook to a request for a downscale.
type downscaleAnswer struct {
	refusal     plan.Refusal
	needsRecord bool
	record      lease
}

// requestDownscale makes a user request a downscale. Each track has at most one open request.
func (e *explorer) requestDownscale(w *world, track int, edit Edit, yield moveFunc) {
	i := 0
	for _, earlier := range e.config.Tracks[:track] {
		for _, other := range earlier {
			if other.Kind == Downscale {
				i++
				break
			}
		}
	}
	if w.downscaleClients[i].state != downscaleNone {
		return
	}
	m := move{next: *w, covers: covering(userEdits), describe: func() string { return "user: " + edit.String() }}
	m.next.tracks[track]++
	m.next.downscaleClients[i] = downscaleClient{state: downscaleRequested, zone: uint8(edit.Zone), to: uint8(edit.Value)}
	yield(&m)
}

// advanceDownscales advances every request for a downscale by one step, lets time pass, and loses
// requests.
func (e *explorer) advanceDownscales(w *world, yield moveFunc) {
	for i := range w.downscaleClients {
		switch a := &w.downscaleClients[i]; a.state {
		case downscaleNone:
			continue
		case downscaleRequested:
			e.beginDownscale(w, i, yield)
		case downscaleLeaseRead:
			m := move{next: *w, fair: true, describe: func() string { return a.String() + ": reads the zones live" }}
			m.next.downscaleClients[i].state, m.next.downscaleClients[i].zones = downscaleZonesRead, w.zones
			yield(&m)
		case downscaleZonesRead:
			e.readPodsForDownscale(w, i, yield)
		case downscaleConfirming:
			e.confirmZonesForDownscale(w, i, yield)
		case downscaleWriting:
			e.writeDownscale(w, i, yield)
		case downscaleAdmitted:
			e.applyDownscale(w, i, yield)
		}
		e.loseDownscale(w, i, yield)
	}
	e.expireDownscale(w, yield)
}

func (e *explorer) beginDownscale(w *world, i int, yield moveFunc) {
	a := &w.downscaleClients[i]
	m := move{next: *w, fair: true, describe: func() string { return a.String() + ": reads the Lease live" }}
	next := &m.next.downscaleClients[i]
	if w.zones[a.zone].replicas <= a.to {
		*next = downscaleClient{}
		m.describe = func() string { return a.String() + ": has nothing left to request" }
	} else {
		next.state, next.version, next.known = downscaleLeaseRead, w.zones[a.zone].version, w.lease
	}
	yield(&m)
}

// readPodsForDownscale reads the pods live, and decides unless the zones must be read once more.
func (e *explorer) readPodsForDownscale(w *world, i int, yield moveFunc) {
	a := &w.downscaleClients[i]
	read := *w
	read.downscaleClients[i].pods = w.pods
	if a.known.deletedAndUnwanted(&w.pods, &a.zones) == 0 {
		e.decideDownscale(&read, i, yield)
		return
	}
	m := move{next: read, fair: true, describe: func() string { return a.String() + ": reads the pods live" }}
	m.next.downscaleClients[i].state = downscaleConfirming
	yield(&m)
}

// confirmZonesForDownscale reads the zones once more. If a deleted pod is wanted now, the live read
// starts again.
func (e *explorer) confirmZonesForDownscale(w *world, i int, yield moveFunc) {
	a := &w.downscaleClients[i]
	if !w.zones.anyWanted(a.known.deletedAndUnwanted(&a.pods, &a.zones)) {
		e.decideDownscale(w, i, yield)
		return
	}
	m := move{next: *w, fair: true, covers: covering(liveReadsRestarted), describe: func() string {
		return a.String() + ": reads the zones again and finds that they want a deleted pod"
	}}
	next := &m.next.downscaleClients[i]
	next.state, next.zones, next.pods = downscaleLeaseRead, zones{}, pods{}
	yield(&m)
}

// decideDownscale applies the real rules to the live read. The explorer knows no times, so it does
// not write a time to the Lease before it admits a downscale without the hold.
func (e *explorer) decideDownscale(w *world, i int, yield moveFunc) {
	a := &w.downscaleClients[i]
	v := e.admitDownscale(downscaleInput{view{pods: a.pods, zones: a.zones, hold: a.known, live: true}, a.zone, a.to, a.version})
	m := move{next: *w, fair: true}
	next := &m.next.downscaleClients[i]
	*next = downscaleClient{state: downscaleRequested, zone: a.zone, to: a.to}
	switch {
	case !v.refusal.None():
		m.covers = covering(downscalesRefused)
		m.describe = func() string { return a.String() + ": is refused because " + v.refusal.String() }
	case !v.needsRecord:
		m.covers = covering(downscalesWithoutHold)
		next.state, next.version, next.notDown = downscaleAdmitted, a.version, ^down(&a.pods, &a.zones)
		m.describe = func() string { return a.String() + ": is admitted without the hold" }
	default:
		next.state, next.version, next.notDown, next.record = downscaleWriting, a.version, ^down(&a.pods, &a.zones), v.record
		m.describe = func() string { return a.String() + ": will be admitted once the Lease records it" }
	}
	yield(&m)
}

func (e *explorer) admitDownscale(p downscaleInput) downscaleAnswer {
	if v, ok := e.downscaleAnswers[p]; ok {
		return v
	}
	s := p.snapshot(e.config)
	name := zoneNames[p.zone]
	answer := group.Admit(s, group.DownscaleRequest{
		Zone: name, UID: name, Version: plan.Version(p.version), From: int(p.zones[p.zone].replicas), To: int(p.to),
	})
	v := downscaleAnswer{refusal: answer.Because, needsRecord: !answer.Record.None()}
	if v.needsRecord {
		v.record = p.leaseOf(group.HoldOf(hold.Admit(&s, answer.Admission(&s, name))))
	}
	e.downscaleAnswers[p] = v
	return v
}

// writeDownscale records the downscale in the Lease by compare-and-swap.
func (e *explorer) writeDownscale(w *world, i int, yield moveFunc) {
	a := &w.downscaleClients[i]
	m := move{next: *w, fair: true, describe: func() string { return a.String() + ": writes " + a.record.String() }}
	next := &m.next.downscaleClients[i]
	former := w.lease.recordedDownscale
	if e.writeLease(&m, a.record) {
		next.state, next.recorded, next.record = downscaleAdmitted, true, lease{}
		if former.zone == a.record.recordedDownscale.zone {
			m.covers = covering(downscalesReviewedAgain)
		}
	} else {
		*next = downscaleClient{state: downscaleRequested, zone: a.zone, to: a.to}
		m.describe = func() string { return a.String() + ": finds that the Lease has changed" }
	}
	yield(&m)
}

// applyDownscale updates the zone if its version is the one that the webhook reviewed.
func (e *explorer) applyDownscale(w *world, i int, yield moveFunc) {
	a := &w.downscaleClients[i]
	m := move{next: *w, fair: true, describe: func() string { return a.String() + ": is carried out" }}
	if w.zones[a.zone].version != a.version {
		m.next.downscaleClients[i] = downscaleClient{state: downscaleRequested, zone: a.zone, to: a.to}
		m.describe = func() string { return a.String() + ": is too late, and is reviewed again" }
		yield(&m)
		return
	}
	m.covers = covering(downscalesAdmitted)
	disrupts := a.disrupts(w)
	m.next.downscaleClients[i] = downscaleClient{}
	z := &m.next.zones[a.zone]
	z.version++
	z.replicas, z.observed = a.to, false
	if disrupts {
		z.disrupted = true
		m.rule, m.detail = e.checkDownscale(w, a)
	}
	yield(&m)
}

// loseDownscale ends a request: the client gives up, or the process of the webhook dies.
func (e *explorer) loseDownscale(w *world, i int, yield moveFunc) {
	if w.remaining.lostRequests == 0 {
		return
	}
	a := &w.downscaleClients[i]
	m := move{next: *w, covers: covering(requestsLost), describe: func() string { return a.String() + ": its client gives up" }}
	if a.recorded {
		m.covers |= covering(admittedDownscalesLost)
	}
	m.next.remaining.lostRequests--
	m.next.downscaleClients[i] = downscaleClient{}
	yield(&m)
}

// expireDownscale lets an admitted downscale become overdue.
func (e *explorer) expireDownscale(w *world, yield moveFunc) {
	d := w.lease.recordedDownscale
	if d.zone == 0 || d.overdue {
		return
	}
	m := move{next: *w, fair: true, describe: func() string { return "the admitted downscale becomes overdue" }}
	for _, l := range m.next.leases() {
		if l.recordedDownscale == d {
			l.recordedDownscale.overdue = true
		}
	}
	yield(&m)
}

// leases returns the Lease and every copy of it.
func (w *world) leases() []*lease {
	all := []*lease{&w.lease, &w.lateRequest.record}
	for n := range w.operators {
		all = append(all, &w.operators[n].known, &w.operators[n].record)
	}
	for i := range w.downscaleClients {
		all = append(all, &w.downscaleClients[i].known, &w.downscaleClients[i].record)
	}
	for i := range w.evictionClients {
		all = append(all, &w.evictionClients[i].record)
	}
	return all
}

// disrupts reports whether the downscale deletes a pod that is up and was up when the webhook
// decided. A pod that became Ready between the live read and the update counts as down, because no
// process could know that it is up.
func (a *downscaleClient) disrupts(w *world) bool {
	for ordinal := int(a.to); ordinal < int(w.zones[a.zone].replicas); ordinal++ {
		slot := int(a.zone)*maxPods + ordinal
		if w.pods[slot].up() && a.notDown.has(slot) {
			return true
		}
	}
	return false
}

// hasSurplus reports whether the zone has surplus pods.
func (w *world) hasSurplus(zone int) bool {
	for slot := zone * maxPods; slot < (zone+1)*maxPods; slot++ {
		if w.pods[slot].exists() && !w.zones.wanted(slot) {
			return true
		}
	}
	return false
}

// otherZoneDisrupted reports whether an admitted downscale is deleting pods of another zone.
func (w *world) otherZoneDisrupted(zone int) bool {
	for n := range w.zones {
		if n != zone && w.zones[n].disrupted && w.hasSurplus(n) {
			return true
		}
	}
	return false
}

// unrecorded reports whether an admitted downscale can still take effect, disrupts pods, and
// is not recorded in the Lease.
func (a *downscaleClient) unrecorded(w *world) bool {
	if a.state != downscaleAdmitted || w.zones[a.zone].version != a.version || !a.disrupts(w) {
		return false
	}
	d := w.lease.recordedDownscale
	return int(w.lease.holder) != int(a.zone)+1 || d.zone != a.zone+1 || d.zoneVersion != a.version || d.to != a.to
}

// checkDownscale checks a downscale that takes effect and deletes a pod that is up. It returns the
// rule that the downscale breaks and how, or nothing.
func (e *explorer) checkDownscale(w *world, a *downscaleClient) (rule, detail string) {
	zone := int(a.zone)
	otherZonesDown := down(&w.pods, &w.zones) &^ zoneSlots(zone)
	rule = judge.Disruption{
		OtherZoneDisrupted: w.byLockstep&otherZonesDown != 0 || w.byPartition&down(&w.pods, &w.zones) != 0 || w.otherZoneDisrupted(zone),
		OtherZonesDown:     count(otherZonesDown &^ (a.notDown &^ w.byLockstep)),
	}.BrokenRule(e.deviations.checks)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("downscale of %s to %d; down in other zones: %v; of these by lockstep: %v", zoneNames[zone], a.to, otherZonesDown, w.byLockstep&otherZonesDown)
}

// String returns the request as a part of a trace.
func (a *downscaleClient) String() string {
	return fmt.Sprintf("downscale of %s to %d", zoneNames[a.zone], a.to)
}
