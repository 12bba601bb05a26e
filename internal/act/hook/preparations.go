package hook

import (
	"context"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// PreparationOptions say who hears of answers.
type PreparationOptions struct {
	// Answered is told that all pods of a group have answered, or have failed to.
	Answered func(plan.Key)
	// Abandoned is told that pods may have heard that they leave, by who does not
	// work any more.
	Abandoned func(context.Context, plan.Key, plan.Downscale)
	// Now dates answers as plans do; time.Now.
	Now func() time.Time
}

// Preparations is the table of what pods were asked about downscales and what came
// of it, by group. Calls are made beside whoever asks for them; what is asked next
// of a group waits until the calls before it have ended, since they could arrive in
// the wrong order.
//
// What it knows is lost with the process and with leadership: then everybody is
// asked anew.
type Preparations struct {
	zones   Zones
	options PreparationOptions

	mu      sync.Mutex
	groups  map[plan.Key]*preparation
	working context.Context //nolint:containedctx // of whoever leads; nil: nobody is called
	rounds  sync.WaitGroup
}

// preparation is what was asked last of a group.
type preparation struct {
	noted plan.Downscale // by this process, before anybody was asked
	asked plan.Asked
	rest  time.Duration      // before they are asked again, after a failure
	stop  context.CancelFunc // no call begins any more
	ended chan struct{}      // closed when no call is under way; nil: nobody was asked
}

const (
	// abandonedLimit bounds what is written by who does not work any more.
	abandonedLimit = 5 * time.Second
	// askAgain is after how long pods are told again to stay that did not answer, the
	// first time; then it is ever longer.
	askAgain, askAgainMost = 5 * time.Second, time.Minute
)

// NewPreparations returns an empty table.
func NewPreparations(z Zones, o PreparationOptions) *Preparations {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Preparations{zones: z, options: o, groups: map[plan.Key]*preparation{}}
}

// Run lets pods be called until ctx ends, and returns when all calls have ended and
// everything is forgotten.
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

// Noted hears that this process has noted a downscale about which nobody was asked, and what
// is left of the one before it.
func (p *Preparations) Noted(key plan.Key, d, former plan.Downscale) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.group(key)
	others := former.Stage == plan.Undoing && !(former.Ours && g.noted.Same(former))
	if others || (g.asked.Downscale.Stage == plan.Preparing && g.asked.Heard) {
		g.noted = plan.Downscale{} // somebody may have been, about the one before
		return
	}
	g.noted, g.asked = d, plan.Asked{}
}

func (p *Preparations) group(key plan.Key) *preparation {
	if p.groups[key] == nil {
		p.groups[key] = &preparation{}
	}
	return p.groups[key]
}

// Ask asks pods of a zone to prepare, for no longer than a limit, or to undo that
// where the downscale is being undone. It does not wait for them.
func (p *Preparations) Ask(key plan.Key, zone plan.Zone, d plan.Downscale, pods []plan.Pod, limit time.Duration) {
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
	asked := plan.Asked{Downscale: d, Underway: true, Heard: true}
	for _, pod := range pods {
		asked.UIDs = append(asked.UIDs, pod.UID)
	}
	ctx := p.working
	wanted, stop := context.WithCancel(ctx)
	next := &preparation{noted: g.noted, asked: asked, rest: askAgain, stop: stop, ended: make(chan struct{})}
	if g.asked.Failed != "" && g.asked.Downscale.Same(d) && g.asked.Downscale.Stage == d.Stage {
		next.rest = min(2*g.rest, askAgainMost)
	}
	heard := !g.noted.Same(d) || (g.asked.Downscale.Same(d) && g.asked.Heard)
	p.groups[key] = next
	p.rounds.Go(func() {
		defer close(next.ended)
		defer stop()
		if before != nil {
			<-before
		}
		if wanted.Err() != nil {
			return // something else is asked by now, or nobody is asked any more
		}
		p.round(ctx, wanted, key, zone, next, pods, limit, heard)
	})
}

// round calls pods and takes down what came of it.
func (p *Preparations) round(ctx, wanted context.Context, key plan.Key, zone plan.Zone, g *preparation, pods []plan.Pod, limit time.Duration, heard bool) {
	noted := g.asked.Downscale.Call // by which they are asked
	var err error
	if undoing := g.asked.Downscale.Stage == plan.Undoing; undoing {
		err = p.zones.Undo(ctx, key, zone, noted, pods)
	} else {
		zone.Call = noted
		ctx, stop := context.WithTimeout(ctx, limit)
		defer stop()
		var now bool
		now, err = p.zones.prepareWhile(ctx, wanted, key, zone, pods)
		heard = heard || now
	}
	p.done(ctx, key, g, heard, err)
}

func (p *Preparations) done(ctx context.Context, key plan.Key, g *preparation, heard bool, err error) {
	p.mu.Lock()
	g.asked.Underway, g.asked.Heard = false, heard
	if err != nil {
		g.asked.Failed, g.asked.Again = err.Error(), p.options.Now().Add(g.rest)
	}
	counts, works := p.groups[key] == g, p.working != nil
	p.mu.Unlock()
	switch {
	case counts:
		p.options.Answered(key)
	case !works && heard && g.asked.Downscale.Stage == plan.Preparing:
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), abandonedLimit)
		defer stop()
		p.options.Abandoned(ctx, key, g.asked.Downscale)
	}
}

// Fill tells a snapshot what its pods were asked last. What is known of pods is dropped
// once it shows their zone without them.
func (p *Preparations) Fill(s *plan.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := p.groups[s.Key]
	if g == nil || g.ended == nil {
		return
	}
	if _, exists := s.Zone(g.asked.Downscale.Zone); exists && !g.asked.Underway && !shows(*s, g.asked.UIDs) {
		g.asked = plan.Asked{}
		return
	}
	g.asked.Again = within(g.asked.Again, g.rest, s.Now)
	s.Asked = g.asked
}

// within keeps a time to ask again within a rest from now: the clock may have been set
// back since.
func within(again time.Time, rest time.Duration, now time.Time) time.Time {
	if latest := now.Add(rest); again.After(latest) {
		return latest
	}
	return again
}

func shows(s plan.Snapshot, uids []string) bool {
	asked := map[string]bool{}
	for _, uid := range uids {
		asked[uid] = true
	}
	for _, z := range s.Zones {
		for _, pod := range z.Pods {
			if asked[pod.UID] {
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

// ForgetNamespace drops all groups of a namespace: nobody there is called any more.
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
