package podcalls

import (
	"context"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// PreparationOptions configure the callbacks for answers.
type PreparationOptions struct {
	// Answered is called after all pods of a group have answered or failed.
	Answered func(plan.Key)
	// Abandoned is called if this process no longer leads, and pods may have received a call to prepare.
	Abandoned func(context.Context, plan.Key, group.Downscale)
	// Now dates answers with the clock of plans; the default is time.Now.
	Now func() time.Time
}

// Preparations records, by group, the calls to pods about downscales and their results. The calls run in
// other goroutines than their callers. The next calls of a group wait until its previous calls have ended,
// because they could arrive in the wrong order.
//
// The table is lost when the process ends or loses leadership. Then all pods are asked again.
type Preparations struct {
	zones   Zones
	options PreparationOptions

	mu      sync.Mutex
	groups  map[plan.Key]*preparation
	working context.Context //nolint:containedctx // of the term of the leader; nil: no pod is called
	rounds  sync.WaitGroup
}

// preparation is the last request to the pods of a group.
type preparation struct {
	recorded group.Downscale // recorded by this process before any pod was asked
	lastCall group.PodCall
	rest     time.Duration      // the wait before they are asked again after a failure
	stop     context.CancelFunc // no further call begins
	ended    chan struct{}      // closed when no call is in progress; nil if no pod was called
}

const (
	// abandonedLimit limits the write by a process that no longer leads.
	abandonedLimit = 5 * time.Second
	// askAgain is the first wait before pods that did not answer are called again. The wait doubles up to
	// askAgainMost.
	askAgain, askAgainMost = 5 * time.Second, time.Minute
)

// NewPreparations returns an empty table.
func NewPreparations(z Zones, o PreparationOptions) *Preparations {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Preparations{zones: z, options: o, groups: map[plan.Key]*preparation{}}
}

// Run permits calls until ctx ends. It returns when all calls have ended and the table is empty.
func (p *Preparations) Run(ctx context.Context) {
	p.mu.Lock()
	p.working = ctx
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	p.working = nil
	p.groups = map[plan.Key]*preparation{}
	p.mu.Unlock()
	p.rounds.Wait()
}

// Recorded receives a downscale that this process has recorded and about which no pod was called, and the rest of
// the previous one.
func (p *Preparations) Recorded(key plan.Key, d, former group.Downscale) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.group(key)
	others := former.Stage == group.Undoing && !(former.Ours && g.recorded.Same(former))
	if others || (g.lastCall.Downscale.Stage == group.Preparing && g.lastCall.Delivered) {
		g.recorded = group.Downscale{} // a pod may have been asked about the previous one
		return
	}
	g.recorded, g.lastCall = d, group.PodCall{}
}

func (p *Preparations) group(key plan.Key) *preparation {
	if p.groups[key] == nil {
		p.groups[key] = &preparation{}
	}
	return p.groups[key]
}

// Ask calls pods of a zone to prepare, within a limit, or to undo that if the downscale is being undone. It
// does not wait for their answers.
func (p *Preparations) Ask(key plan.Key, zone group.Zone, d group.Downscale, pods []plan.Pod, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.working == nil {
		return
	}
	g := p.group(key)
	before := g.ended
	if g.stop != nil {
		g.stop()
	}
	called := group.PodCall{Downscale: d, Underway: true, Delivered: true}
	for _, pod := range pods {
		called.UIDs = append(called.UIDs, pod.UID)
	}
	ctx := p.working
	wanted, stop := context.WithCancel(ctx)
	next := &preparation{recorded: g.recorded, lastCall: called, rest: askAgain, stop: stop, ended: make(chan struct{})}
	if g.lastCall.Failed != "" && g.lastCall.Downscale.Same(d) && g.lastCall.Downscale.Stage == d.Stage {
		next.rest = min(2*g.rest, askAgainMost)
	}
	delivered := !g.recorded.Same(d) || (g.lastCall.Downscale.Same(d) && g.lastCall.Delivered)
	p.groups[key] = next
	p.rounds.Go(func() {
		defer close(next.ended)
		defer stop()
		if before != nil {
			<-before
		}
		if wanted.Err() != nil {
			return // there is a newer request, or calls are not permitted any more
		}
		p.round(ctx, wanted, key, zone, next, pods, limit, delivered)
	})
}

// round calls pods and records the result.
func (p *Preparations) round(ctx, wanted context.Context, key plan.Key, zone group.Zone, g *preparation, pods []plan.Pod, limit time.Duration, delivered bool) {
	recorded := g.lastCall.Downscale.Call // the call by which the pods are asked
	var err error
	if undoing := g.lastCall.Downscale.Stage == group.Undoing; undoing {
		err = p.zones.Undo(ctx, key, zone, recorded, pods)
	} else {
		zone.Call = recorded
		ctx, stop := context.WithTimeout(ctx, limit)
		defer stop()
		var now bool
		now, err = p.zones.prepareWhile(ctx, wanted, key, zone, pods)
		delivered = delivered || now
	}
	p.done(ctx, key, g, delivered, err)
}

func (p *Preparations) done(ctx context.Context, key plan.Key, g *preparation, delivered bool, err error) {
	p.mu.Lock()
	g.lastCall.Underway, g.lastCall.Delivered = false, delivered
	if err != nil {
		g.lastCall.Failed, g.lastCall.Again = err.Error(), p.options.Now().Add(g.rest)
	}
	counts, works := p.groups[key] == g, p.working != nil
	p.mu.Unlock()
	switch {
	case counts:
		p.options.Answered(key)
	case !works && delivered && g.lastCall.Downscale.Stage == group.Preparing:
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), abandonedLimit)
		defer stop()
		p.options.Abandoned(ctx, key, g.lastCall.Downscale)
	}
}

// Fill sets Called of a snapshot to the last request to its pods. It drops the request once the snapshot shows
// the zone without those pods.
func (p *Preparations) Fill(s *group.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groups[s.Key]
	if g == nil || g.ended == nil {
		return
	}
	if _, exists := s.Zone(g.lastCall.Downscale.Zone); exists && !g.lastCall.Underway && !shows(*s, g.lastCall.UIDs) {
		g.lastCall = group.PodCall{}
		return
	}
	g.lastCall.Again = within(g.lastCall.Again, g.rest, s.Now)
	s.Called = g.lastCall
}

// within returns again, but at most rest after now: the clock may have been set back since.
func within(again time.Time, rest time.Duration, now time.Time) time.Time {
	if latest := now.Add(rest); again.After(latest) {
		return latest
	}
	return again
}

func shows(s group.Snapshot, uids []string) bool {
	called := map[string]bool{}
	for _, uid := range uids {
		called[uid] = true
	}
	for _, z := range s.Zones {
		for _, pod := range z.Pods {
			if called[pod.UID] {
				return true
			}
		}
	}
	return false
}

// Forget drops a group. Its pods are not called any more.
func (p *Preparations) Forget(key plan.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.forget(key)
}

// ForgetNamespace drops all groups of a namespace. Their pods are not called any more.
func (p *Preparations) ForgetNamespace(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range p.groups {
		if key.Namespace == namespace {
			p.forget(key)
		}
	}
}

func (p *Preparations) forget(key plan.Key) {
	if g := p.groups[key]; g != nil && g.stop != nil {
		g.stop()
	}
	delete(p.groups, key)
}
