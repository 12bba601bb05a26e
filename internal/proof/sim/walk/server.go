package walk

import (
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// server is the simulated API server: one counter of versions for all objects, a log of
// changes for each kind, and the current objects of each group.
type server struct {
	version plan.Version
	logs    [allKinds][]change
	groups  []*simulatedGroup

	leaseNames map[string]*simulatedGroup // by namespace and name of its Lease

	overwriting bool // Deviations.Overwriting
}

// kind is a kind of objects. Each kind has its own watch.
type kind int

const (
	podKind kind = iota
	zoneKind
	leaseKind
	allKinds
)

// change is one write, as watches show it.
type change struct {
	version plan.Version
	group   int
	zone    int
	ordinal int
	pod     *pod                  // nil: the pod was removed
	set     *zone                 // of zones
	lease   *coordinationv1.Lease // nil: the Lease was deleted
}

// simulatedGroup has the stored objects of a group. The index of a pod is its ordinal; nil: the pod does
// not exist. Stored objects are replaced, never modified.
type simulatedGroup struct {
	no     int
	key    plan.Key
	zones  []*zone
	pods   [][]*pod
	stored *coordinationv1.Lease
	lease  *group.Hold // the record in the stored Lease

	budgets      []group.DisruptionBudget
	badRevisions map[string]bool // revisions whose pods never become Ready
	history      groupHistory

	absenceChanged  []plan.Version // by zone: the version at which the zone last left or returned
	podNames        [][]podName    // by zone and ordinal
	sizeRequests    []int          // by zone: number of user requests for another size
	forced          []bool         // by zone: a user forces its replicas
	pendingRequests int            // user requests that are in flight or will be retried
}

// zone is a StatefulSet, with the part of its spec that its status does not show yet.
type zone struct {
	group.Zone

	template  string
	absence   absence
	apiObject *appsv1.StatefulSet // nil until it is first read
}

// The number of ordinals of each zone. In a few groups it is maxWideOrdinals, so that a rollout needs
// several steps.
const (
	maxOrdinals     = 6
	maxWideOrdinals = 18
)

// ordinals returns the number of ordinals of each zone.
func (g *simulatedGroup) ordinals() int { return len(g.pods[0]) }

// groupsOf returns the groups of a namespace.
func (s *server) groupsOf(namespace string) iter.Seq[*simulatedGroup] {
	return func(yield func(*simulatedGroup) bool) {
		for _, g := range s.groups {
			if g.key.Namespace == namespace && !yield(g) {
				return
			}
		}
	}
}

func (s *server) next() plan.Version {
	s.version++
	return s.version
}

// putPod stores a pod with a new version.
func (s *server) putPod(g *simulatedGroup, zone, ordinal int, next pod) {
	next.Version, next.apiObject = s.next(), nil
	s.logPod(g, zone, ordinal, &next)
}

func (s *server) removePod(g *simulatedGroup, zone, ordinal int) {
	s.next()
	s.logPod(g, zone, ordinal, nil)
}

// logPod makes a pod, or nil, the current one at the current version.
func (s *server) logPod(g *simulatedGroup, zone, ordinal int, next *pod) {
	if g.pods[zone][ordinal].bare() || next.bare() {
		g.podNames[zone][ordinal].barePodChanged = s.version
	}
	g.pods[zone][ordinal] = next
	s.logs[podKind] = append(s.logs[podKind], change{version: s.version, group: g.no, zone: zone, ordinal: ordinal, pod: next})
}

// putZone stores a changed zone with a new version.
func (s *server) putZone(g *simulatedGroup, n int, changed func(*zone)) {
	z := *g.zones[n]
	changed(&z)
	z.Version, z.apiObject = s.next(), nil
	g.zones[n] = &z
	s.logs[zoneKind] = append(s.logs[zoneKind], change{version: z.Version, group: g.no, zone: n, set: &z})
}

// putSpec is putZone for changes of the spec.
func (s *server) putSpec(g *simulatedGroup, n int, changed func(*zone)) {
	s.putZone(g, n, func(z *zone) {
		changed(z)
		z.Generation++
		z.Observed = false
	})
}

// putLease stores a Lease if its UID and version are those of the current one.
func (s *server) putLease(g *simulatedGroup, next *coordinationv1.Lease) error {
	now := g.stored
	next = next.DeepCopy()
	switch {
	case s.overwriting && now != nil:
		next.UID = now.UID
	case s.overwriting:
		next.UID = ""
	case now == nil && next.UID != "":
		return apierrors.NewNotFound(coordinationv1.Resource("leases"), next.Name)
	case now != nil && next.UID == "":
		return apierrors.NewAlreadyExists(coordinationv1.Resource("leases"), next.Name)
	case now != nil && (now.UID != next.UID || now.ResourceVersion != next.ResourceVersion):
		return conflictError(next.Name)
	}
	version := s.next()
	next.ResourceVersion = version.String()
	if next.UID == "" {
		next.UID = types.UID("lease-" + next.ResourceVersion)
	}
	if next.Spec.RenewTime != nil {
		next.Spec.RenewTime = asWritten(next.Spec.RenewTime)
	}
	if next.Spec.AcquireTime != nil {
		next.Spec.AcquireTime = asWritten(next.Spec.AcquireTime)
	}
	g.stored = next
	s.logs[leaseKind] = append(s.logs[leaseKind], change{version: version, group: g.no, lease: next})
	return nil
}

// asWritten returns a time with the precision of its text.
func asWritten(t *metav1.MicroTime) *metav1.MicroTime {
	return &metav1.MicroTime{Time: t.Truncate(time.Microsecond)}
}

func conflictError(name string) error {
	return apierrors.NewConflict(coordinationv1.Resource("leases"), name, errors.New("the object has been modified"))
}

// deleteLease deletes the Lease with that UID and version.
func (s *server) deleteLease(g *simulatedGroup, only metav1.Preconditions) error {
	name := hold.LeaseName(g.key)
	switch now := g.stored; {
	case now == nil:
		return apierrors.NewNotFound(coordinationv1.Resource("leases"), name)
	case now.UID != *only.UID || now.ResourceVersion != *only.ResourceVersion:
		return conflictError(name)
	}
	g.stored = nil
	s.logs[leaseKind] = append(s.logs[leaseKind], change{version: s.next(), group: g.no})
	return nil
}

// podIndex returns the zone and the ordinal of a pod.
func podIndex(zone, pod string) (n, ordinal int) {
	ordinal, ok := plan.OrdinalOf(zone, pod)
	if !ok || ordinal >= maxWideOrdinals {
		panic("walk: the planner returns the unknown pod " + pod)
	}
	return zoneNumber(zone), ordinal
}

// zoneNames are the suffixes of the names of the zones of every group.
var zoneNames = []string{"zone-a", "zone-b", "zone-c"}

func zoneName(group string, n int) string { return group + "-" + zoneNames[n] }

func zoneNumber(name string) int {
	n := slices.IndexFunc(zoneNames, func(end string) bool { return strings.HasSuffix(name, "-"+end) })
	if n < 0 {
		panic("walk: the planner returns the unknown zone " + name)
	}
	return n
}

// wanted reports whether the spec of a zone includes an ordinal. A StatefulSet that was deleted with
// all of its pods wants none.
func (g *simulatedGroup) wanted(zone, ordinal int) bool {
	return ordinal < g.zones[zone].Replicas && !g.goneWithPods(zone)
}

// hasSurplus reports whether a zone has surplus pods.
func (g *simulatedGroup) hasSurplus(zone int) bool {
	return slices.ContainsFunc(g.pods[zone][g.zones[zone].Replicas:], (*pod).inZone)
}
