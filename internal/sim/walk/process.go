package walk

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/freshness"
	"github.com/lockstep-dev/lockstep/internal/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// process is a replica of the operator: it watches, answers webhooks and, while it
// believes to lead, works.
type process struct {
	*walk
	no    int
	name  string
	clock clock

	life    int     // counts its beginnings: what an earlier life waited for is lost
	dead    bool    // until it begins again
	asleep  instant // until then
	leads   bool
	term    int // counts how often leadership was lost
	watches [kinds]watch
	sights  []*sight
	fresh   *freshness.Log
	living  *life
	leases  *lease.Store
	unshown []change // of Leases, which their cache shows once somebody asks
	turns   *admission.GroupLocks
}

// watch is how far a process has followed the log of one kind.
type watch struct {
	shown   int // of the log
	version plan.Version
	pending bool
	stuck   instant // until then nothing comes
}

// sight is what a process knows of one group.
type sight struct {
	pods   [][]*plan.Pod
	zones  []plan.Zone // with those pods, or with none since they have changed
	away   []absence   // of these
	shown  []plan.Zone // a copy for snapshots, of those in the group; nil since something has changed
	served served
	worker worker
}

// begin starts a life with caches that have followed the logs so far.
func (p *process) begin(shown [kinds]int) {
	p.life++
	p.term++
	p.dead, p.leads = false, false
	p.fresh = freshness.NewLog()
	p.living, p.leases, p.turns = newLife(p.ctx), p.newLeases(), &admission.GroupLocks{}
	p.unshown = nil
	p.sights = p.sights[:0]
	for _, g := range p.groups {
		p.sights = append(p.sights, &sight{
			zones: make([]plan.Zone, len(g.zones)), away: make([]absence, len(g.zones)), pods: emptyPods(len(g.zones)),
			served: nothingServed(g),
		})
	}
	for k := range kinds {
		p.watches[k] = watch{stuck: p.watches[k].stuck}
		p.follow(k, shown[k])
		p.await(k)
	}
}

func emptyPods(zones int) [][]*plan.Pod {
	pods := make([][]*plan.Pod, zones)
	for n := range pods {
		pods[n] = make([]*plan.Pod, mostPods)
	}
	return pods
}

// after lets something happen in this life of the process, once it is awake.
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

// await lets a watch show what is new some time later.
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

// follow brings a cache up to some place of the log, and wakes whom it is about. What
// was in between is never seen.
func (p *process) follow(k kind, to int) {
	q := &p.watches[k]
	if to-q.shown > 1 {
		p.report.Faults[statesUnobserved]++
	}
	if k == ofLeases {
		p.unshown = append(p.unshown, p.logs[k][q.shown:to]...)
	}
	for _, c := range p.logs[k][q.shown:to] {
		s := p.sights[c.group]
		switch k {
		case ofPods:
			s.pods[c.zone][c.ordinal] = c.pod
			s.zones[c.zone].Pods, s.shown = nil, nil
		case ofZones:
			pods := s.zones[c.zone].Pods
			s.zones[c.zone], s.away[c.zone], s.shown = *c.set, c.away, nil
			s.zones[c.zone].Pods = pods
		case ofLeases, kinds:
		}
		p.enqueue(c.group)
		q.version = c.version
	}
	q.shown = to
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

// served is up to which versions the API server has shown a group: all zones, each by
// its answers to what was written on it, and the pods of each.
type served struct {
	zones    plan.Version
	answered []plan.Version
	pods     []plan.Version
}

func nothingServed(g *group) served {
	return served{answered: make([]plan.Version, len(g.zones)), pods: make([]plan.Version, len(g.zones))}
}

// zone returns up to which version a zone was shown.
func (s served) zone(n int) plan.Version { return max(s.zones, s.answered[n]) }

func (s *served) allPods(at plan.Version) {
	for n := range s.pods {
		s.pods[n] = max(s.pods[n], at)
	}
}

// with returns what was shown once a live look was, too.
func (s served) with(look plan.Snapshot) served {
	next := served{max(s.zones, look.ZonesAt), slices.Clone(s.answered), slices.Clone(s.pods)}
	for n := range next.pods {
		next.pods[n] = max(next.pods[n], podsAt(look, n))
	}
	return next
}

// podsAt returns when a look listed the pods of a zone.
func podsAt(look plan.Snapshot, n int) plan.Version {
	if z, present := look.Zone(zoneNames[n]); present {
		return z.PodsAt
	}
	for _, z := range look.Left {
		if z.Name == zoneNames[n] {
			return z.PodsAt
		}
	}
	return 0
}

// shown is what the API server has shown this life of a group so far.
func (p *process) shown(g *group) served {
	s := p.sights[g.no].served
	return served{s.zones, slices.Clone(s.answered), slices.Clone(s.pods)}
}

// answered adds what the answers to this process' own writes have shown meanwhile.
func (p *process) answered(g *group, s served) served {
	s.answered = slices.Clone(p.sights[g.no].served.answered)
	return s
}

// byLook is what a live look alone has shown.
func byLook(g *group, look plan.Snapshot) served {
	return nothingServed(g).with(look)
}

// byCaches is what the caches alone have shown.
func (p *process) byCaches(g *group) served {
	s := nothingServed(g)
	s.zones = p.watches[ofZones].version
	s.allPods(p.watches[ofPods].version)
	return s
}

// looked remembers what a live look has shown.
func (p *process) looked(g *group, live plan.Snapshot) {
	p.fresh.Looked(live)
	s := p.sights[g.no]
	s.served = s.served.with(live)
}

// cached returns a group as the caches show it.
func (p *process) cached(g *group) plan.Snapshot {
	s := plan.Snapshot{
		Key: g.key, Now: p.wallNow(), Hold: p.hold(g), Budgets: g.budgets, Zones: p.sights[g.no].snapshot(),
		ZonesAt: p.watches[ofZones].version, PodsAt: p.watches[ofPods].version,
	}
	for _, m := range p.schedule.Rules.absent(s) {
		n := zoneNumber(m.Zone)
		s.Left = append(s.Left, leftZone(m, p.sights[g.no].away[n], p.sights[g.no].zones[n]))
	}
	s.Strays = strays(s, func(zone, ordinal int) *plan.Pod { return p.sights[g.no].pods[zone][ordinal] })
	return s
}

// snapshot returns the zones as they are known. Whoever plans leaves them as they are,
// so they are put together once for all who look before something changes.
func (s *sight) snapshot() []plan.Zone {
	if s.shown != nil {
		return s.shown
	}
	for n := range s.zones {
		if z := &s.zones[n]; z.Pods == nil {
			z.Pods = present(s.pods[n])
		}
	}
	s.shown = make([]plan.Zone, 0, len(s.zones))
	for n, z := range s.zones {
		if s.away[n] == inGroup {
			s.shown = append(s.shown, z)
		}
	}
	return s.shown
}

// present returns the pods that exist, by ascending ordinal.
func present(pods []*plan.Pod) []plan.Pod {
	all := make([]plan.Pod, 0, mostPods)
	for _, p := range pods {
		if p != nil {
			all = append(all, *p)
		}
	}
	return all
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

// resign ends what the process does as the leader. Its webhooks go on, and what it knows
// stays known.
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
