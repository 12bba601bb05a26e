package sim

import (
	"fmt"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

var operatorNames = [maxOperators]string{"operator-1", "operator-2"}

// work visits the next move of an operator's round.
func (e *explorer) work(w *world, n int, see visit) {
	o := &w.operators[n]
	switch o.at {
	case idle:
		e.begin(w, n, see)
	case leaseRead:
		m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": reads the zones live" }}
		m.next.operators[n].at, m.next.operators[n].look = zonesRead, w.zones
		m.next.operators[n].zonesBehind = e.behindLook(o.zones == w.zones, o.zonesOnTheWay == w.zones)
		see(&m)
	case zonesRead:
		e.finishLook(w, n, see)
	case acting:
		e.send(w, n, nil, see)
	}
}

// begin plans on the caches. Nothing of the world matters between a plan on
// caches and its first request, so the two are one move.
func (e *explorer) begin(w *world, n int, see visit) {
	o := &w.operators[n]
	v := view{pods: o.pods, zones: o.zones, hold: o.known, own: o.own}
	if o.podsBehind != caughtUp || o.zonesBehind != caughtUp {
		return
	}
	if o.behind(v.snapshot(e.config), &v) {
		return
	}
	d := e.decide(v)
	switch {
	case d.rule != "":
		e.refuse(w, n, d, see)
	case d.look:
		m := move{next: *w, fair: true, line: func() string { return operatorNames[n] + ": reads the Lease live" }}
		next := &m.next.operators[n]
		next.at = leaseRead
		next.learn(w.lease)
		see(&m)
	case len(d.steps) > 0:
		next := *w
		next.operators[n].resolve(d, down(&w.pods, &w.zones))
		e.send(&next, n, d, see)
	}
}

// behindLook tells how far a cache is behind what a live look shows. A round
// that plans on its caches waits until they show at least that.
func (e *explorer) behindLook(shown, onTheWay bool) behind {
	switch {
	case shown || e.rules.Forgetful:
		return caughtUp
	case onTheWay || !e.config.Trickle:
		return nextCatchesUp
	}
	return bothBehind
}

// finishLook reads the pods live and plans on what was read.
func (e *explorer) finishLook(w *world, n int, see visit) {
	o := &w.operators[n]
	d := e.decide(view{pods: w.pods, zones: o.look, hold: o.known, own: o.own, live: true})
	if d.rule != "" {
		e.refuse(w, n, d, see)
		return
	}
	m := move{next: *w, fair: true, line: func() string {
		return operatorNames[n] + ": reads the pods live and plans" + indented(d.notes)
	}}
	next := &m.next.operators[n]
	broken := down(&w.pods, &o.look)
	next.rest()
	next.podsBehind = e.behindLook(o.pods == w.pods, o.podsOnTheWay == w.pods)
	if len(d.steps) > 0 {
		next.resolve(d, broken)
	}
	see(&m)
}

func (e *explorer) refuse(w *world, n int, d *decision, see visit) {
	see(&move{next: *w, rule: d.rule, how: d.broken, line: func() string {
		return operatorNames[n] + ": plans" + indented(d.notes)
	}})
}

// resolve makes a decision the operator's own.
func (o *operator) resolve(d *decision, broken slots) {
	o.at, o.look = acting, zones{}
	o.count = uint8(copy(o.steps[:], d.steps))
	o.record, o.claims, o.shown = d.record, d.claims, d.shown
	if d.joins {
		o.before = broken
	}
}

// send carries out the next request of an operator. If the decision was just
// made, the line tells it.
func (e *explorer) send(w *world, n int, just *decision, see visit) {
	s := w.operators[n].steps[0]
	m := move{next: *w, fair: true, line: func() string { return e.tell(w, n, s, just) }}
	o := &m.next.operators[n]
	done := false
	switch s.kind {
	case touch:
		done = m.next.touch(n, s)
	case write:
		done = m.next.write(n)
	case remove:
		done = e.remove(&m, n, s)
	case adopt:
		done = m.next.adoptRevision(n, s)
	}
	if !done {
		o.rest()
		see(&m)
		return
	}
	if m.rule == "" && w.lostReplies > 0 {
		e.loseReply(w, &m, n, see)
	}
	o.pop()
	see(&m)
}

// loseReply: the request was carried out, and its sender sees an error.
func (e *explorer) loseReply(w *world, m *move, n int, see visit) {
	lost := *m
	lost.fair = false
	lost.next.lostReplies--
	lost.line = func() string { return m.line() + ", and the reply is lost" }
	was := w.operators[n]
	was.rest()
	lost.next.operators[n] = was
	see(&lost)
}

func (w *world) touch(n int, s step) bool {
	p := &w.pods[s.target]
	if p.born != s.born || p.version != s.version {
		return false
	}
	p.version++
	w.operators[n].moved[s.target] = s.version
	return true
}

func (w *world) write(n int) bool {
	o := &w.operators[n]
	if o.record.version != w.lease.version {
		o.learn(w.lease)
		return false
	}
	w.lease = o.record
	w.lease.version++
	o.known, o.own, o.record, o.claims = w.lease, o.claims, lease{}, false
	return true
}

func (w *world) adoptRevision(n int, s step) bool {
	z := &w.zones[s.target]
	if z.version != s.version {
		return false
	}
	z.version++
	z.current = s.born
	w.operators[n].written[s.target] = z.version
	return true
}

// remove deletes a pod, if it is the one that was judged, and judges the deed.
func (e *explorer) remove(m *move, n int, s step) bool {
	w, slot := &m.next, int(s.target)
	p := &w.pods[slot]
	exact := p.born == s.born && p.version == s.version
	if !p.exists() || (!exact && !e.rules.Unconditional) {
		return false
	}
	w.operators[n].moved[slot] = s.version
	if p.phase == leaving {
		return true
	}
	up := p.up()
	p.version++
	p.phase = leaving
	if up {
		w.ours = w.ours.with(slot)
	}
	m.rule, m.how = e.judge(w, n, s, exact, up)
	return true
}

// tell says what a request is, in the planner's notation.
func (e *explorer) tell(w *world, n int, s step, just *decision) string {
	what := ""
	switch s.kind {
	case touch:
		what = plan.Withdraw{
			Intent: plan.Intent{Pod: podNames[s.target], Zone: zoneNames[zoneOf(int(s.target))]}, Since: plan.Refusal{Code: reason.NoLongerWanted},
		}.String()
	case write:
		what = "write " + w.operators[n].record.String()
		if w.operators[n].record.version != w.lease.version {
			what += " (conflict)"
		}
	case remove:
		because := reason.OutdatedRevision
		if !s.up {
			because = reason.OutdatedAndDown
		}
		what = plan.DeletePod{Pod: podNames[s.target], Zone: zoneNames[zoneOf(int(s.target))], Because: because}.String()
		if p := w.pods[s.target]; p.born != s.born || p.version != s.version {
			what += " (not the pod that was judged)"
		}
	case adopt:
		what = plan.AdoptRevision{Zone: zoneNames[s.target], Revision: numbers[s.born]}.String()
	}
	if just != nil && just.notes != what {
		return operatorNames[n] + ": plans on its caches" + indented(just.notes) + "\n    " + operatorNames[n] + ": " + what
	}
	return operatorNames[n] + ": " + what
}

// String returns the record as a story tells it.
func (l lease) String() string {
	holder := "free"
	if l.holder > 0 {
		holder = string(plan.Rollout.For(zoneNames[l.holder-1]))
	}
	var noted []string
	for slot, i := range l.intents {
		if i.born > 0 {
			noted = append(noted, podNames[slot])
		}
	}
	return fmt.Sprintf("hold %s [%s]", holder, strings.Join(noted, " "))
}

func indented(notes string) string {
	if notes == "" {
		return ": nothing"
	}
	return "\n        " + strings.ReplaceAll(notes, "\n", "\n        ")
}
