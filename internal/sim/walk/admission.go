package walk

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

const (
	// webhookLimit is how long the API server waits for a webhook.
	webhookLimit = 30 * time.Second
	// requestLimit is how long the API server works on a request.
	requestLimit = 34 * time.Second
	// attempts are how often a webhook decides anew because the Lease has changed.
	attempts = 3
)

// answer is what a webhook says: yes or no, and what the API server has shown it for that.
type answer struct {
	yes   bool
	shown served
	since time.Time // of a downscale that the hold notes
}

// call lets the API server ask the webhook of any process that is there. Who does not
// answer in time has refused.
func (w *walk) call(ask func(p *process, done func(answer)), then func(answer)) {
	p := w.anyone()
	if p == nil {
		w.after(time.Second, func() { then(answer{}) })
		return
	}
	over := false
	once := func(a answer) {
		if !over {
			over = true
			then(a)
		}
	}
	w.after(webhookLimit, func() { once(answer{}) })
	p.after(w.travels(), func() {
		ask(p, func(a answer) { w.after(w.travels(), func() { once(a) }) })
	})
}

// anyone returns a process that serves webhooks, as far as the API server can know.
func (w *walk) anyone() *process {
	var all []*process
	for _, p := range w.processes {
		if !p.dead {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.chance.IntN(len(all))]
}

// turn lets one request a group be decided at a time by a process.
type turn struct {
	taken bool
	wait  []func()
}

// take waits for the group's turn; what do is given ends it.
func (p *process) take(g *group, do func(leave func())) {
	t := &p.sights[g.no].turn
	left := false
	leave := func() {
		if left {
			return
		}
		left = true
		if len(t.wait) == 0 {
			t.taken = false
			return
		}
		next := t.wait[0]
		t.wait = t.wait[1:]
		p.after(0, next)
	}
	if t.taken {
		t.wait = append(t.wait, func() { do(leave) })
		return
	}
	t.taken = true
	do(leave)
}

// queueing are the refusals after which a place in the queue is kept.
var queueing = map[reason.Code]bool{reason.GroupHeld: true, reason.OthersCameFirst: true}

// queue notes who waits; that it fails is no harm. It ends in any case.
func (p *process) queue(g *group, asks plan.Waiting, because plan.Refusal, done func()) {
	record, changes := hold.Enqueued(p.hold(g), asks)
	if !queueing[because.Code] || asks.Zone == "" || !changes {
		done()
		return
	}
	record.Own = false
	p.writeLease(g, record, func(error) { done() })
}

// admission is a decrease that a webhook judges.
type admission struct {
	*process
	g     *group
	ask   plan.DownscaleRequest
	done  func(answer)
	leave func()
	tries int
}

// admit decides about a decrease, on caches and, where they allow it, on a live look.
func (p *process) admit(g *group, ask plan.DownscaleRequest, done func(answer)) {
	p.take(g, func(leave func()) {
		a := &admission{process: p, g: g, ask: ask, done: done, leave: leave}
		cached := p.cached(g)
		because := plan.Admit(cached, ask).Because
		ours := because.Code == reason.ZoneShrinking && cached.Hold.Decrease.Ours
		if !because.None() && !ours && because.Code != reason.CacheBehind {
			a.refuse(because)
			return
		}
		a.attempt()
	})
}

func (a *admission) attempt() {
	if a.tries++; a.tries > attempts {
		a.answer(answer{})
		return
	}
	a.look(a.g, true, func(live plan.Snapshot, err error) {
		if err != nil {
			a.answer(answer{})
			return
		}
		v := plan.Admit(live, a.ask)
		switch {
		case !v.Allowed():
			a.refuse(v.Because)
			return
		case v.Note.None() && !v.Dated:
			a.answer(answer{yes: true, shown: byLook(a.g, live)})
			return
		}
		record := hold.Admit(live, v, a.ask.Zone)
		record.Own = false
		a.writeLease(a.g, record, func(err error) {
			switch {
			case reason.ClassOf(err) == reason.Moved:
				a.attempt()
			default:
				a.answer(answer{yes: err == nil, shown: byLook(a.g, live), since: v.Note.Since})
			}
		})
	})
}

func (a *admission) refuse(because plan.Refusal) {
	a.report.Refusals++
	a.walk.story(a.g, a.name, "refuses the downscale of", a.ask.Zone+":", because)
	now := a.wallNow()
	a.queue(a.g, plan.Waiting{Operation: plan.Downscale, Zone: a.ask.Zone, Since: now, LastSeen: now}, because, func() { a.answer(answer{}) })
}

func (a *admission) answer(with answer) {
	a.leave()
	a.done(with)
}
