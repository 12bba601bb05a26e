package walk

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// process is a replica of the operator: it watches, answers webhooks and, while it
// believes that it leads, reconciles.
type process struct {
	*walk
	no    int
	name  string
	clock clock

	life    int     // number of lives; what an earlier life waited for is lost
	dead    bool    // until it restarts
	asleep  instant // until then
	leads   bool
	term    int // counts lost leaderships
	watches [kinds]watch
	sights  []*sight
	fresh   *freshness.Log
	living  *life
	leases  *lease.Store
	unshown []change // of Leases, for their cache, which is updated before it is read

	observer *observe.Observer

	turns *admission.GroupLocks
}

// watch is how far a process has followed the log of one kind.
type watch struct {
	shown   int // entries of the log
	version plan.Version
	pending bool
	stuck   instant // until then it shows nothing
}

// sight is what a process was shown of one group, and its work on the group.
type sight struct {
	served served
	worker worker
}

// begin starts a life with caches that have followed the logs up to these positions.
func (p *process) begin(shown [kinds]int) {
	p.life++
	p.term++
	p.dead, p.leads = false, false
	p.fresh = freshness.NewLog()
	p.living, p.leases, p.turns = newLife(p.ctx), p.newLeases(), &admission.GroupLocks{}
	p.unshown, p.observer = nil, p.newObserver()
	p.sights = p.sights[:0]
	for _, g := range p.groups {
		p.sights = append(p.sights, &sight{served: nothingServed(g)})
	}
	for k := range kinds {
		p.watches[k] = watch{stuck: p.watches[k].stuck}
		p.follow(k, shown[k])
		p.await(k)
	}
}

// emptyPlaces returns a zero value for each zone and ordinal.
func emptyPlaces[T any](zones, ordinals int) [][]T {
	places := make([][]T, zones)
	for n := range places {
		places[n] = make([]T, ordinals)
	}
	return places
}

// after runs do later in this life of the process, once the process is awake.
func (p *process) after(d time.Duration, do func()) {
	p.agenda.put(event{at: p.now + max(d, 0), do: do, of: p, life: p.life})
}

func (p *process) awake(life int, do func()) {
	switch {
	case p.life != life || p.dead:
	case p.asleep > p.now:
		p.agenda.put(event{at: p.asleep + p.between(0, 100*time.Millisecond), do: do, of: p, life: life})
	default:
		do()
	}
}

func (p *process) wallNow() time.Time { return p.clock.wall(p.now) }

// await makes a watch show new changes some time later.
func (p *process) await(k kind) {
	q := &p.watches[k]
	if q.pending || p.dead || q.shown == len(p.logs[k]) {
		return
	}
	q.pending = true
	p.after(max(p.lag(), q.stuck-p.now), func() {
		q.pending = false
		if q.stuck > p.now {
			p.await(k)
			return
		}
		to := len(p.logs[k])
		if p.chance.IntN(3) == 0 {
			to = q.shown + 1 + p.chance.IntN(to-q.shown)
		}
		p.follow(k, to)
		p.await(k)
	})
}

// follow updates a cache to a position in the log, and enqueues the groups of the
// changes. The cache never shows the states in between.
func (p *process) follow(k kind, to int) {
	q := &p.watches[k]
	if to-q.shown > 1 {
		p.report.Faults[statesUnobserved]++
	}
	if k == ofLeases {
		p.unshown = append(p.unshown, p.logs[k][q.shown:to]...)
	}
	for _, c := range newest(p.logs[k][q.shown:to]) {
		p.show(k, c)
	}
	for _, c := range p.logs[k][q.shown:to] {
		p.enqueue(c.group)
		q.version = c.version
	}
	q.shown = to
	p.showUpTo(k, q.version)
	for _, s := range p.sights {
		switch k {
		case ofPods:
			s.served.allPods(q.version)
		case ofZones:
			s.served.zones = max(s.served.zones, q.version)
		case ofLeases, kinds:
		}
	}
}

// newest returns the last change of each object.
func newest(changes []change) []change {
	if len(changes) == 1 {
		return changes
	}
	seen := map[[3]int]bool{}
	var last []change
	for _, c := range slices.Backward(changes) {
		if object := [3]int{c.group, c.zone, c.ordinal}; !seen[object] {
			seen[object] = true
			last = append(last, c)
		}
	}
	slices.Reverse(last)
	return last
}

// served has the versions up to which the API server has shown a group: for all zones,
// for each zone by answers to writes, and for the pods of each zone.
type served struct {
	zones    plan.Version
	answered []plan.Version
	pods     []plan.Version
}

func nothingServed(g *simulatedGroup) served {
	return served{answered: make([]plan.Version, len(g.zones)), pods: make([]plan.Version, len(g.zones))}
}

// zone returns the version up to which a zone was shown.
func (s served) zone(n int) plan.Version { return max(s.zones, s.answered[n]) }

func (s *served) allPods(at plan.Version) {
	for n := range s.pods {
		s.pods[n] = max(s.pods[n], at)
	}
}

// with returns what was shown, including a live read.
func (s served) with(g *simulatedGroup, look group.Snapshot) served {
	next := served{max(s.zones, look.ZonesAt), slices.Clone(s.answered), slices.Clone(s.pods)}
	for n := range next.pods {
		next.pods[n] = max(next.pods[n], podsAt(look, g.zones[n].Name))
	}
	return next
}

// and returns what was shown, including what was shown otherwise.
func (s served) and(other served) served {
	next := served{max(s.zones, other.zones), slices.Clone(s.answered), slices.Clone(s.pods)}
	for n := range next.pods {
		next.answered[n] = max(next.answered[n], other.answered[n])
		next.pods[n] = max(next.pods[n], other.pods[n])
	}
	return next
}

// podsAt returns the version at which a live read listed the pods of a zone.
func podsAt(look group.Snapshot, zone string) plan.Version {
	if z, present := look.Zone(zone); present {
		return z.PodsAt
	}
	for _, z := range look.Left {
		if z.Name == zone {
			return z.PodsAt
		}
	}
	return 0
}

// shown returns what the API server has shown of a group in this life so far.
func (p *process) shown(g *simulatedGroup) served {
	s := p.sights[g.no].served
	return served{s.zones, slices.Clone(s.answered), slices.Clone(s.pods)}
}

// answered adds the answers that this process has received to its own writes since.
func (p *process) answered(g *simulatedGroup, s served) served {
	s.answered = slices.Clone(p.sights[g.no].served.answered)
	return s
}

// byLook returns what a live read alone has shown.
func byLook(g *simulatedGroup, look group.Snapshot) served {
	return nothingServed(g).with(g, look)
}

// byCaches returns what the caches alone have shown.
func (p *process) byCaches(g *simulatedGroup) served {
	s := nothingServed(g)
	s.zones = p.watches[ofZones].version
	s.allPods(p.watches[ofPods].version)
	return s
}

// looked remembers what a live read has shown.
func (p *process) looked(g *simulatedGroup, live group.Snapshot) {
	p.fresh.ReadLive(&live)
	s := p.sights[g.no]
	s.served = s.served.with(g, live)
}

// cached returns a group as the caches show it.
func (p *process) cached(g *simulatedGroup) group.Snapshot {
	p.catchUp()
	s := p.observer.Cached(g.key)
	s.Hold = p.dated(s.Hold)
	return p.shows(g, s)
}

// shows returns a snapshot as the process uses it, after comparing it if a test requires
// that.
func (p *process) shows(g *simulatedGroup, s group.Snapshot) group.Snapshot {
	if p.compare != nil {
		p.compare(p, g, s)
	}
	if p.schedule.Rules.Blind {
		s.Left = nil
	}
	return s
}

// lead makes the process believe that it leads.
func (p *process) lead() {
	if p.leads || p.dead {
		return
	}
	p.tell(p.name, "leads")
	p.leads = true
	for no := range p.sights {
		p.enqueue(no)
	}
}

// resign ends the leader's work. The webhooks of the process continue, and it keeps its
// knowledge.
func (p *process) resign() {
	if !p.leads {
		return
	}
	p.tell(p.name, "leads no more")
	p.leads = false
	p.term++
	for _, s := range p.sights {
		s.worker = worker{}
	}
}
