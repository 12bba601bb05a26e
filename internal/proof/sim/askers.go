package sim

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/sim/judge"
)

// asker is a request for a downscale of a zone. The API server reads the zone, calls a
// webhook, and updates the zone if its version has not changed; otherwise it calls the
// webhook again.
type asker struct {
	at      askPlace
	zone    uint8
	to      uint8
	version uint8 // of the zone on which the webhook decides
	noted   bool  // the admission depends on a record in the Lease
	known   lease // as the webhook has read it
	look    zones
	pods    pods  // only at askerConfirms
	record  lease // that the webhook writes
	shown   slots // pods that were not down when the webhook read them
}

// askPlace is the progress of a request for a downscale.
type askPlace uint8

const (
	nobody askPlace = iota
	asking
	askerReadLease
	askerReadZones
	askerConfirms
	noting
	approved
)

// petition is everything that a verdict depends on.
type petition struct {
	view
	zone, to, version uint8
}

type verdict struct {
	refused plan.Refusal
	noted   bool
	record  lease
}

// ask makes a user request a downscale, at most one for each track.
func (e *explorer) ask(w *world, track int, edit Edit, see visit) {
	i := 0
	for _, earlier := range e.config.Tracks[:track] {
		for _, other := range earlier {
			if other.Kind == Shrink {
				i++
				break
			}
		}
	}
	if w.askers[i].at != nobody {
		return
	}
	m := move{next: *w, exercises: one(userEdits), line: func() string { return "user: " + edit.String() }}
	m.next.tracks[track]++
	m.next.askers[i] = asker{at: asking, zone: uint8(edit.Zone), to: uint8(edit.Value)}
	see(&m)
}

// admission advances every request for a downscale by one step, lets time pass, and loses
// requests.
func (e *explorer) admission(w *world, see visit) {
	for i := range w.askers {
		switch a := &w.askers[i]; a.at {
		case nobody:
			continue
		case asking:
			e.beginToJudge(w, i, see)
		case askerReadLease:
			m := move{next: *w, fair: true, line: func() string { return a.String() + ": reads the zones live" }}
			m.next.askers[i].at, m.next.askers[i].look = askerReadZones, w.zones
			see(&m)
		case askerReadZones:
			e.readPodsOfAsker(w, i, see)
		case askerConfirms:
			e.confirmForAsker(w, i, see)
		case noting:
			e.note(w, i, see)
		case approved:
			e.update(w, i, see)
		}
		e.loseAsker(w, i, see)
	}
	e.wait(w, see)
}

func (e *explorer) beginToJudge(w *world, i int, see visit) {
	a := &w.askers[i]
	m := move{next: *w, fair: true, line: func() string { return a.String() + ": reads the Lease live" }}
	next := &m.next.askers[i]
	if w.zones[a.zone].replicas <= a.to {
		*next = asker{}
		m.line = func() string { return a.String() + ": has nothing to ask for any more" }
	} else {
		next.at, next.version, next.known = askerReadLease, w.zones[a.zone].version, w.lease
	}
	see(&m)
}

// readPodsOfAsker reads the pods live, and decides unless the zones must be read once more.
func (e *explorer) readPodsOfAsker(w *world, i int, see visit) {
	a := &w.askers[i]
	read := *w
	read.askers[i].pods = w.pods
	if a.known.deletedAndUnwanted(&w.pods, &a.look) == 0 {
		e.judgeDownscale(&read, i, see)
		return
	}
	m := move{next: read, fair: true, line: func() string { return a.String() + ": reads the pods live" }}
	m.next.askers[i].at = askerConfirms
	see(&m)
}

// confirmForAsker reads the zones once more. If a deleted pod is wanted now, the live read
// starts again.
func (e *explorer) confirmForAsker(w *world, i int, see visit) {
	a := &w.askers[i]
	if !w.zones.anyWanted(a.known.deletedAndUnwanted(&a.pods, &a.look)) {
		e.judgeDownscale(w, i, see)
		return
	}
	m := move{next: *w, fair: true, exercises: one(looksBeginAnew), line: func() string {
		return a.String() + ": reads the zones again, which ask for a pod that was deleted"
	}}
	next := &m.next.askers[i]
	next.at, next.look, next.pods = askerReadLease, zones{}, pods{}
	see(&m)
}

// judgeDownscale applies the real rules to what was read live.
// The explorer knows no times, so it omits the write of a time to the Lease before a yes without the hold.
func (e *explorer) judgeDownscale(w *world, i int, see visit) {
	a := &w.askers[i]
	v := e.admit(petition{view{pods: a.pods, zones: a.look, hold: a.known, live: true}, a.zone, a.to, a.version})
	m := move{next: *w, fair: true}
	next := &m.next.askers[i]
	*next = asker{at: asking, zone: a.zone, to: a.to}
	switch {
	case !v.refused.None():
		m.exercises = one(downscalesRefused)
		m.line = func() string { return a.String() + ": is refused because " + v.refused.String() }
	case !v.noted:
		m.exercises = one(downscalesWithoutHold)
		next.at, next.version, next.shown = approved, a.version, ^down(&a.pods, &a.look)
		m.line = func() string { return a.String() + ": gets a yes without the hold" }
	default:
		next.at, next.version, next.shown, next.record = noting, a.version, ^down(&a.pods, &a.look), v.record
		m.line = func() string { return a.String() + ": gets a yes once it is noted" }
	}
	see(&m)
}

func (e *explorer) admit(p petition) verdict {
	if v, ok := e.verdicts[p]; ok {
		return v
	}
	s := p.snapshot(e.config)
	name := zoneNames[p.zone]
	answer := group.Admit(s, group.DownscaleRequest{
		Zone: name, UID: name, Version: plan.Version(p.version), From: int(p.zones[p.zone].replicas), To: int(p.to),
	})
	v := verdict{refused: answer.Because, noted: !answer.Record.None()}
	if v.noted {
		v.record = p.written(group.HoldOf(hold.Admit(&s, answer.Admission(&s, name))))
	}
	e.verdicts[p] = v
	return v
}

// note writes the downscale into the Lease by compare-and-swap.
func (e *explorer) note(w *world, i int, see visit) {
	a := &w.askers[i]
	m := move{next: *w, fair: true, line: func() string { return a.String() + ": writes " + a.record.String() }}
	next := &m.next.askers[i]
	former := w.lease.recordedDownscale
	if e.write(&m, a.record) {
		next.at, next.noted, next.record = approved, true, lease{}
		if former.zone == a.record.recordedDownscale.zone {
			m.exercises = one(downscalesJudgedAgain)
		}
	} else {
		*next = asker{at: asking, zone: a.zone, to: a.to}
		m.line = func() string { return a.String() + ": finds that the Lease has changed" }
	}
	see(&m)
}

// update changes the zone if its version is the one that was judged.
func (e *explorer) update(w *world, i int, see visit) {
	a := &w.askers[i]
	m := move{next: *w, fair: true, line: func() string { return a.String() + ": happens" }}
	if w.zones[a.zone].version != a.version {
		m.next.askers[i] = asker{at: asking, zone: a.zone, to: a.to}
		m.line = func() string { return a.String() + ": comes too late, and is judged again" }
		see(&m)
		return
	}
	m.exercises = one(downscalesAdmitted)
	harms := a.harms(w)
	m.next.askers[i] = asker{}
	z := &m.next.zones[a.zone]
	z.version++
	z.replicas, z.observed = a.to, false
	if harms {
		z.harmed = true
		m.rule, m.how = e.judgeHarm(w, a)
	}
	see(&m)
}

// loseAsker: the client gives up, or the webhook's process dies.
func (e *explorer) loseAsker(w *world, i int, see visit) {
	if w.left.lost == 0 {
		return
	}
	a := &w.askers[i]
	m := move{next: *w, exercises: one(requestsLost), line: func() string { return a.String() + ": is given up" }}
	if a.noted {
		m.exercises |= one(downscalesNeverCame)
	}
	m.next.left.lost--
	m.next.askers[i] = asker{}
	see(&m)
}

// wait lets an admitted downscale become overdue.
func (e *explorer) wait(w *world, see visit) {
	d := w.lease.recordedDownscale
	if d.zone == 0 || d.overdue {
		return
	}
	m := move{next: *w, fair: true, line: func() string { return "some seconds pass" }}
	for _, l := range m.next.leases() {
		if l.recordedDownscale == d {
			l.recordedDownscale.overdue = true
		}
	}
	see(&m)
}

// leases returns the Lease and every copy of it.
func (w *world) leases() []*lease {
	all := []*lease{&w.lease, &w.late.record}
	for n := range w.operators {
		all = append(all, &w.operators[n].known, &w.operators[n].record)
	}
	for i := range w.askers {
		all = append(all, &w.askers[i].known, &w.askers[i].record)
	}
	for i := range w.evictors {
		all = append(all, &w.evictors[i].paper)
	}
	return all
}

// harms reports whether the downscale deletes a pod that is up and was up when the webhook
// decided. A pod that became Ready between the live read and the update is treated as down,
// because no process could know better.
func (a *asker) harms(w *world) bool {
	for ordinal := int(a.to); ordinal < int(w.zones[a.zone].replicas); ordinal++ {
		slot := int(a.zone)*maxPods + ordinal
		if w.pods[slot].up() && a.shown.has(slot) {
			return true
		}
	}
	return false
}

// shrinking reports whether the zone has surplus pods.
func (w *world) shrinking(zone int) bool {
	for slot := zone * maxPods; slot < (zone+1)*maxPods; slot++ {
		if w.pods[slot].exists() && !w.zones.wanted(slot) {
			return true
		}
	}
	return false
}

// othersHarmed reports whether an admitted downscale is deleting pods of another zone.
func (w *world) othersHarmed(zone int) bool {
	for n := range w.zones {
		if n != zone && w.zones[n].harmed && w.shrinking(n) {
			return true
		}
	}
	return false
}

// unnoted reports whether an admitted downscale can still take effect, disrupts pods, and
// is not recorded in the Lease.
func (a *asker) unnoted(w *world) bool {
	if a.at != approved || w.zones[a.zone].version != a.version || !a.harms(w) {
		return false
	}
	d := w.lease.recordedDownscale
	return int(w.lease.holder) != int(a.zone)+1 || d.zone != a.zone+1 || d.judged != a.version || d.to != a.to
}

// judgeHarm judges a downscale that takes effect and deletes a pod that is up.
func (e *explorer) judgeHarm(w *world, a *asker) (rule, how string) {
	zone := int(a.zone)
	elsewhere := down(&w.pods, &w.zones) &^ zoneSlots(zone)
	rule = judge.Disruption{
		Elsewhere: w.ours&elsewhere != 0 || w.apart&down(&w.pods, &w.zones) != 0 || w.othersHarmed(zone),
		Rest:      count(elsewhere &^ (a.shown &^ w.ours)),
	}.Broken(e.rules.judges)
	if rule == "" {
		return "", ""
	}
	return rule, fmt.Sprintf("%s shrinks to %d; down elsewhere: %v; of these by us: %v", zoneNames[zone], a.to, elsewhere, w.ours&elsewhere)
}

// String returns the request as a part of a story.
func (a *asker) String() string {
	return fmt.Sprintf("downscale of %s to %d", zoneNames[a.zone], a.to)
}
