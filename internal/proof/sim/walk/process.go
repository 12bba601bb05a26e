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

	incarnation   int     // number of starts; events of an earlier incarnation are dropped
	dead          bool    // until it restarts
	asleepUntil   instant // until then
	leads         bool
	term          int // counts lost leaderships
	watches       [allKinds]watch
	progress      []*groupProgress
	fresh         *freshness.Log
	lifetime      *lifetime
	leases        *lease.Store
	pendingLeases []change // changes of Leases that their cache does not show yet; it is updated before each read

	observer *observe.Observer

	turns *admission.GroupLocks
}

// watch is the position of a process in the log of one kind.
type watch struct {
	shown      int // entries of the log
	version    plan.Version
	pending    bool
	stuckUntil instant // until then it shows no changes
}

// groupProgress has the versions of one group that a process was shown, and its work on the group.
type groupProgress struct {
	shown  shownVersions
	worker *worker // while the process leads
}

// start starts the process with caches at these positions in the logs.
func (p *process) start(shown [allKinds]int) {
	p.incarnation++
	p.term++
	p.dead, p.leads = false, false
	p.lifetime, p.leases, p.turns = newLifetime(p.ctx), p.newLeaseStore(), &admission.GroupLocks{}
	p.fresh = freshness.NewLog(p.leases)
	if p.schedule.Deviations.OwnRecordKept {
		p.fresh = freshness.NewLog()
	}
	p.pendingLeases, p.observer = nil, p.newObserver()
	p.progress = p.progress[:0]
	for _, g := range p.groups {
		p.progress = append(p.progress, &groupProgress{shown: nothingShown(g)})
	}
	for k := range allKinds {
		p.watches[k] = watch{stuckUntil: p.watches[k].stuckUntil}
		p.advanceWatch(k, shown[k])
		p.scheduleWatch(k)
	}
}

// perOrdinal returns a zero value for each zone and ordinal.
func perOrdinal[T any](zones, ordinals int) [][]T {
	places := make([][]T, zones)
	for n := range places {
		places[n] = make([]T, ordinals)
	}
	return places
}

// after runs do later, once the process is awake, unless the process dies before.
func (p *process) after(d time.Duration, do func()) {
	p.agenda.put(event{at: p.now + max(d, 0), run: do, process: p, incarnation: p.incarnation})
}

// runAwake runs do now, or once the process is awake; never if this incarnation has ended.
func (p *process) runAwake(incarnation int, do func()) {
	switch {
	case p.incarnation != incarnation || p.dead:
	case p.asleepUntil > p.now:
		p.agenda.put(event{at: p.asleepUntil + p.between(0, 100*time.Millisecond), run: do, process: p, incarnation: incarnation})
	default:
		do()
	}
}

func (p *process) wallNow() time.Time { return p.clock.wall(p.now) }

// scheduleWatch makes a watch show new changes some time later.
func (p *process) scheduleWatch(k kind) {
	watch := &p.watches[k]
	if watch.pending || p.dead || watch.shown == len(p.logs[k]) {
		return
	}
	watch.pending = true
	p.after(max(p.watchLag(), watch.stuckUntil-p.now), func() {
		watch.pending = false
		if watch.stuckUntil > p.now {
			p.scheduleWatch(k)
			return
		}
		to := len(p.logs[k])
		if p.chance.IntN(3) == 0 {
			to = watch.shown + 1 + p.chance.IntN(to-watch.shown)
		}
		p.advanceWatch(k, to)
		p.scheduleWatch(k)
	})
}

// advanceWatch advances a cache to a position in the log, and enqueues the groups of the changes. The
// cache never shows the states in between.
func (p *process) advanceWatch(k kind, to int) {
	watch := &p.watches[k]
	if to-watch.shown > 1 {
		p.report.Faults[statesUnobserved]++
	}
	if k == leaseKind {
		p.pendingLeases = append(p.pendingLeases, p.logs[k][watch.shown:to]...)
	}
	for _, c := range newest(p.logs[k][watch.shown:to]) {
		p.show(k, c)
	}
	for _, c := range p.logs[k][watch.shown:to] {
		p.enqueue(c.group)
		watch.version = c.version
	}
	watch.shown = to
	p.showUpTo(k, watch.version)
	for _, s := range p.progress {
		switch k {
		case podKind:
			s.shown.allPods(watch.version)
		case zoneKind:
			s.shown.zones = max(s.shown.zones, watch.version)
		case leaseKind, allKinds:
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

// shownVersions has the versions up to which the API server has shown a group: for all zones,
// for each zone by answers to writes, and for the pods of each zone.
type shownVersions struct {
	zones    plan.Version
	answered []plan.Version
	pods     []plan.Version
}

func nothingShown(g *simulatedGroup) shownVersions {
	return shownVersions{answered: make([]plan.Version, len(g.zones)), pods: make([]plan.Version, len(g.zones))}
}

// zone returns the version up to which a zone was shown.
func (s shownVersions) zone(n int) plan.Version { return max(s.zones, s.answered[n]) }

func (s *shownVersions) allPods(at plan.Version) {
	for n := range s.pods {
		s.pods[n] = max(s.pods[n], at)
	}
}

// withLiveRead returns the versions that were shown, including those of a live read.
func (s shownVersions) withLiveRead(g *simulatedGroup, live group.Snapshot) shownVersions {
	next := shownVersions{max(s.zones, live.ZonesAt), slices.Clone(s.answered), slices.Clone(s.pods)}
	for n := range next.pods {
		next.pods[n] = max(next.pods[n], podsAt(live, g.zones[n].Name))
	}
	return next
}

// merge returns the newer of both versions for each part.
func (s shownVersions) merge(other shownVersions) shownVersions {
	next := shownVersions{max(s.zones, other.zones), slices.Clone(s.answered), slices.Clone(s.pods)}
	for n := range next.pods {
		next.answered[n] = max(next.answered[n], other.answered[n])
		next.pods[n] = max(next.pods[n], other.pods[n])
	}
	return next
}

// podsAt returns the version at which a live read listed the pods of a zone.
func podsAt(live group.Snapshot, zone string) plan.Version {
	if z, present := live.Zone(zone); present {
		return z.PodsAt
	}
	for _, z := range live.FormerZones {
		if z.Name == zone {
			return z.PodsAt
		}
	}
	return 0
}

// shownOf returns the versions of a group that the API server has shown since the start of the process.
func (p *process) shownOf(g *simulatedGroup) shownVersions {
	s := p.progress[g.no].shown
	return shownVersions{s.zones, slices.Clone(s.answered), slices.Clone(s.pods)}
}

// withAnswers adds the versions in the answers to later writes of this process.
func (p *process) withAnswers(g *simulatedGroup, s shownVersions) shownVersions {
	s.answered = slices.Clone(p.progress[g.no].shown.answered)
	return s
}

// shownByLiveRead returns the versions that a live read has shown.
func shownByLiveRead(g *simulatedGroup, live group.Snapshot) shownVersions {
	return nothingShown(g).withLiveRead(g, live)
}

// shownByCaches returns the versions that the caches show.
func (p *process) shownByCaches(g *simulatedGroup) shownVersions {
	s := nothingShown(g)
	s.zones = p.watches[zoneKind].version
	s.allPods(p.watches[podKind].version)
	return s
}

// recordLiveRead records that the process was shown a live read.
func (p *process) recordLiveRead(g *simulatedGroup, live group.Snapshot) {
	p.fresh.ReadLive(&live)
	s := p.progress[g.no]
	s.shown = s.shown.withLiveRead(g, live)
}

// cached returns a group as the caches show it.
func (p *process) cached(g *simulatedGroup) group.Snapshot {
	p.catchUp()
	s := p.observer.Cached(g.key)
	s.Hold = p.withProcessDurations(s.Hold)
	return p.checkSnapshot(g, s)
}

// checkSnapshot returns the snapshot that the process uses. If a test compares snapshots, it passes the
// snapshot to the test first.
func (p *process) checkSnapshot(g *simulatedGroup, s group.Snapshot) group.Snapshot {
	if p.compare != nil {
		p.compare(p, g, s)
	}
	if p.schedule.Deviations.AbsentZonesIgnored {
		s.FormerZones = nil
	}
	return s
}

// lead makes the process believe that it leads.
func (p *process) lead() {
	if p.leads || p.dead {
		return
	}
	p.traceAll(p.name, "leads")
	p.leads = true
	for no, s := range p.progress {
		s.worker = p.newWorker(func() { p.reconcile(p.groups[no]) })
		p.enqueue(no)
	}
}

// resign ends the work of a leader. The webhooks of the process continue, and it keeps its knowledge.
func (p *process) resign() {
	if !p.leads {
		return
	}
	p.traceAll(p.name, "stops leading")
	p.leads = false
	p.term++
	for no, s := range p.progress {
		s.worker = nil
		p.forgetUnled(p.groups[no])
	}
}
