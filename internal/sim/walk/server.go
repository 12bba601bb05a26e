package walk

import (
	"slices"
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// server is the invented API server with what it stores: one counter of versions for
// everything, a log of changes for each kind, and a group's objects as they are now.
type server struct {
	version plan.Version
	logs    [kinds][]change
	groups  []*group

	overwriting bool // Rules.Overwriting
}

// kind is a kind of objects, each of which is watched by itself.
type kind int

const (
	ofPods kind = iota
	ofZones
	ofLeases
	kinds
)

// change is one write, as watches show it.
type change struct {
	version plan.Version
	group   int
	zone    int
	ordinal int
	pod     *plan.Pod  // nil for a pod that is gone
	set     *plan.Zone // of zones
	away    absence    // of zones
	lease   *plan.Hold // nil for a Lease that is gone
}

// group is what is stored of a group. Pods stand at their ordinals; nil: there is none.
// What is stored is never changed, only replaced.
type group struct {
	no    int
	key   plan.Key
	zones []*zone
	pods  [][]*plan.Pod
	lease *plan.Hold

	budgets []plan.DisruptionBudget
	bad     map[string]bool // revisions whose pods never become Ready
	witness witness

	wishes []int  // by zone: counts what users wanted of its size
	forced []bool // zones whose size a person demands
	asking int    // requests of users that are under way or will be made again
}

// zone is a StatefulSet, with what its spec says and its status does not yet.
type zone struct {
	plan.Zone
	template string
	away     absence
}

// mostPods is how many ordinals there are of each zone.
const mostPods = 6

func (s *server) next() plan.Version {
	s.version++
	return s.version
}

// putPod stores a pod under a new version.
func (s *server) putPod(g *group, zone, ordinal int, p plan.Pod) {
	p.Version = s.next()
	g.pods[zone][ordinal] = &p
	s.logs[ofPods] = append(s.logs[ofPods], change{version: p.Version, group: g.no, zone: zone, ordinal: ordinal, pod: &p})
}

func (s *server) removePod(g *group, zone, ordinal int) {
	g.pods[zone][ordinal] = nil
	s.logs[ofPods] = append(s.logs[ofPods], change{version: s.next(), group: g.no, zone: zone, ordinal: ordinal})
}

// putZone stores what was changed of a zone under a new version.
func (s *server) putZone(g *group, n int, changed func(*zone)) {
	z := *g.zones[n]
	changed(&z)
	z.Version = s.next()
	g.zones[n] = &z
	s.logs[ofZones] = append(s.logs[ofZones], change{version: z.Version, group: g.no, zone: n, set: &z.Zone, away: z.away})
}

// respec is putZone for what changes the spec.
func (s *server) respec(g *group, n int, changed func(*zone)) {
	s.putZone(g, n, func(z *zone) {
		changed(z)
		z.Generation++
		z.Observed = false
	})
}

// putLease stores a record in place of the one that it was decided on. It reports whether
// that was still there.
func (s *server) putLease(g *group, record plan.Hold) (plan.Hold, bool) {
	if now := g.lease; s.overwriting {
		record = inPlaceOf(now, record)
	} else if now == nil != (record.UID == "") || now != nil && (now.UID != record.UID || now.Version != record.Version) {
		return plan.Hold{}, false
	}
	taken := g.lease == nil || g.lease.Holder != record.Holder
	record.Version = s.next()
	if record.UID == "" {
		record.UID = "lease-" + strconv.Itoa(int(record.Version))
	}
	if taken && !record.Holder.Free() {
		record.Since = record.Renewed
	}
	if record.Holder.Free() {
		record.Since = time.Time{}
	}
	record.Exists, record.Own = true, false
	record.Intents = slices.Clone(record.Intents)
	for i := range record.Intents {
		record.Intents[i].Known = 0
	}
	g.lease = &record
	s.logs[ofLeases] = append(s.logs[ofLeases], change{version: record.Version, group: g.no, lease: &record})
	return record, true
}

// inPlaceOf returns a record as it would be written whatever there is.
func inPlaceOf(now *plan.Hold, record plan.Hold) plan.Hold {
	record.UID, record.Version = "", 0
	if now != nil {
		record.UID, record.Version = now.UID, now.Version
	}
	return record
}

func (s *server) removeLease(g *group, record plan.Hold) bool {
	if g.lease == nil || g.lease.UID != record.UID || g.lease.Version != record.Version {
		return false
	}
	g.lease = nil
	s.logs[ofLeases] = append(s.logs[ofLeases], change{version: s.next(), group: g.no})
	return true
}

// place returns where a pod of a zone is stored.
func place(zone, pod string) (n, ordinal int) {
	ordinal, ok := plan.OrdinalOf(zone, pod)
	if !ok || ordinal >= mostPods {
		panic("walk: the planner made up pod " + pod)
	}
	return zoneNumber(zone), ordinal
}

// zoneNames are the names of the zones of every group.
var zoneNames = []string{"zone-a", "zone-b", "zone-c"}

func zoneNumber(name string) int {
	n := slices.Index(zoneNames, name)
	if n < 0 {
		panic("walk: the planner made up zone " + name)
	}
	return n
}

// wanted reports whether the spec asks for an ordinal. What is deleted with all of its pods
// asks for none.
func (g *group) wanted(zone, ordinal int) bool {
	return ordinal < g.zones[zone].Replicas && !g.gone(zone)
}

// surplus reports whether a zone has pods that its spec does not ask for.
func (g *group) surplus(zone int) bool {
	return slices.ContainsFunc(g.pods[zone][g.zones[zone].Replicas:], func(p *plan.Pod) bool { return p != nil })
}
