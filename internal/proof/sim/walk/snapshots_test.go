package walk

import (
	"cmp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// The test uses this many drawn schedules, and schedules with rare cases: a zone that returns during a
// live read, and a deleted pod that no zone wants.
const drawnSchedules = 20

var rareSchedules = []uint64{1, 4, 7, 9, 10, 11, 12, 14, 18, 26, 28, 29, 35, 36}

// The test compares each zone and each pod of every snapshot, from caches and live, with the objects that the
// API server had stored at the versions in the snapshot. The only field that it ignores is the
// time at which the process saw a pod (Pod.Seen), because the API server does not know it. A
// snapshot from caches is compared if the caches show something new of its group.
func TestSnapshotsMatchStoredObjects(t *testing.T) {
	first := envNumber(t, "LOCKSTEP_SEED", uint64(time.Now().UnixNano()%1_000_000))
	t.Logf("seeds %d to %d", first, first+drawnSchedules-1)
	seeds, shown := slices.Clone(rareSchedules), map[string]int{}
	for n := range uint64(drawnSchedules) {
		seeds = append(seeds, first+n)
	}
	for _, seed := range seeds {
		if t.Failed() {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			w := newWalk(t.Context(), Draw(seed))
			past := &changeHistory{walk: w, compared: map[[2]int]state{}}
			w.compare = func(p *process, g *simulatedGroup, s group.Snapshot) {
				if t.Failed() {
					return
				}
				c := comparison{T: t, changeHistory: past.read(), group: g, snapshot: s, shown: shown}
				switch {
				case s.Live:
					c.live()
				case c.changed(p):
					c.cached()
				}
				if t.Failed() {
					t.Errorf("LOCKSTEP_SEED=%d: %s has this snapshot of group %d, live: %t", seed, p.name, g.no, s.Live)
				}
			}
			w.run()
		})
	}
	for _, what := range []string{
		"zone live", "zone from caches", "zone without its label live", "zone without its label from caches",
		"zone of orphans live", "zone of orphans from caches", "zone that returned live", "pod that is not adopted yet live", "terminating pod live", "downscale live", "unwanted pods live",
		"released pod from caches", "released pod live", "bare pod that is not shown live", "adopted bare pod live", "bare pod with the name of a recorded pod",
	} {
		if shown[what] == 0 {
			t.Errorf("no snapshot contains: %s", what)
		}
	}
	t.Log(shown)
}

// changeHistory has the stored changes of each group.
type changeHistory struct {
	*walk

	changes     [allKinds][][]change
	entriesRead [allKinds]int    // number of log entries that were read
	compared    map[[2]int]state // by process and group: the last state of the caches
}

// state is the state of a group in the caches: the number of its changes, and the version of its hold.
type state struct {
	changes [allKinds]int
	hold    plan.Version
}

func (h *changeHistory) read() *changeHistory {
	for k := range allKinds {
		if h.changes[k] == nil {
			h.changes[k] = make([][]change, len(h.groups))
		}
		for _, c := range h.logs[k][h.entriesRead[k]:] {
			h.changes[k][c.group] = append(h.changes[k][c.group], c)
		}
		h.entriesRead[k] = len(h.logs[k])
	}
	return h
}

// comparison compares a snapshot of a group with what was stored.
type comparison struct {
	*testing.T
	*changeHistory

	group    *simulatedGroup
	snapshot group.Snapshot
	shown    map[string]int // number of snapshots with each case
}

// changed reports whether the caches of a process show another state than before.
func (c comparison) changed(p *process) bool {
	next := state{hold: c.snapshot.Hold.Version}
	next.changes[zoneKind], next.changes[podKind] = len(c.until(zoneKind, c.snapshot.ZonesAt)), len(c.until(podKind, c.snapshot.PodsAt))
	at := [2]int{p.no, c.group.no}
	former, is := c.compared[at]
	c.compared[at] = next
	return !is || next != former
}

// until returns the changes of the group up to a version.
func (c comparison) until(k kind, at plan.Version) []change {
	all := c.changes[k][c.group.no]
	end, _ := slices.BinarySearchFunc(all, at+1, func(c change, v plan.Version) int { return cmp.Compare(c.version, v) })
	return all[:end]
}

func (c comparison) equal(what string, want, got any) {
	c.Helper()
	if diff := gocmp.Diff(want, got, cmpopts.IgnoreFields(plan.Pod{}, "Seen"), cmpopts.EquateEmpty()); diff != "" {
		c.Errorf("%s (-stored +seen):\n%s", what, diff)
	}
}

// cached checks that zones and pods match the logs at the versions of the caches.
func (c comparison) cached() {
	var zones []group.Zone
	for n := range c.group.zones {
		if z := c.zoneAt(n, c.snapshot.ZonesAt); z.absence == inGroup {
			c.shown["zone from caches"]++
			zones = append(zones, c.cachedZone(n, z))
		}
	}
	c.equal("zones from caches", zones, c.snapshot.Zones)
	var left []group.FormerZone
	for _, m := range c.absent() {
		n := zoneNumber(m.Zone)
		switch z := c.zoneAt(n, c.snapshot.ZonesAt); z.absence {
		case unlabelled:
			c.shown["zone without its label from caches"]++
			left = append(left, group.FormerZone{
				Zone: c.cachedZone(n, z), Exists: true, Orphaned: c.orphaned(n, c.snapshot.PodsAt),
			})
		default:
			c.shown["zone of orphans from caches"]++
			left = append(left, group.FormerZone{
				Zone: group.Zone{Name: m.Zone, UID: m.UID, Pods: c.podsAt(n, c.snapshot.PodsAt, ofAnyOwner)}, Orphaned: c.orphanedAny(n, c.snapshot.PodsAt),
			})
		}
	}
	c.equal("zones that left, from caches", left, c.snapshot.FormerZones)
	c.equal("strays from caches", c.strays(c.snapshot.PodsAt), c.snapshot.Strays)
}

// cachedZone returns a stored zone as a snapshot from caches should show it.
func (c comparison) cachedZone(n int, stored *zone) group.Zone {
	z := c.expected(n, stored, 0, c.podsAt(n, c.snapshot.PodsAt, ownedBy(stored.UID, "")))
	z.Orphans = c.podsAt(n, c.snapshot.PodsAt, (*pod).released)
	if len(z.Orphans) > 0 {
		c.shown["released pod from caches"]++
	}
	return z
}

// live checks that zones match the log at ZonesAt or, if they were read by name, at a later version.
// Pods must match the log at the version of their own list. If the result depends on a deleted pod, the
// read must have confirmed it.
func (c comparison) live() {
	oldest := ^plan.Version(0)
	for _, z := range c.snapshot.Zones {
		n := zoneNumber(z.Name)
		stored := c.zoneAt(n, z.Version)
		if at := c.zoneAt(n, c.snapshot.ZonesAt); at.absence == inGroup {
			stored = at
		} else if stored.Version < c.snapshot.ZonesAt {
			c.Errorf("%s is shown as of version %d, but had left the group at %d", z.Name, z.Version, c.snapshot.ZonesAt)
		} else {
			c.shown["zone that returned live"]++
		}
		c.shown["zone live"]++
		c.equal("zone", c.expected(n, stored, z.PodsAt, c.podsAt(n, z.PodsAt, listedFor(z.UID))), c.withoutMislabelled(n, z))
		if len(c.podsAt(n, z.PodsAt, func(p *pod) bool { return p.inZone() && p.owner != z.UID })) > 0 {
			c.shown["pod that is not adopted yet live"]++
		}
		if len(c.podsAt(n, z.PodsAt, (*pod).bare)) > 0 {
			c.shown["bare pod that is not shown live"]++
		}
		if len(c.podsAt(n, z.PodsAt, func(p *pod) bool { return p.userCreated && p.owner == z.UID })) > 0 {
			c.shown["adopted bare pod live"]++
		}
		if !c.snapshot.Hold.Downscale.None() {
			if c.shown["downscale live"]++; z.PodsAt < c.snapshot.ZonesAt {
				c.Errorf("a downscale is recorded, but pods of %s were listed at %d, before zones at %d", z.Name, z.PodsAt, c.snapshot.ZonesAt)
			}
		}
		oldest = min(oldest, z.PodsAt)
	}
	c.equal("version of the oldest list of pods", oldest, c.snapshot.PodsAt)
	for n, z := range c.group.zones {
		if _, is := c.snapshot.Zone(z.Name); !is && c.zoneAt(n, c.snapshot.ZonesAt).absence == inGroup {
			c.Errorf("%s was in the group at version %d, but is not shown", z.Name, c.snapshot.ZonesAt)
		}
	}
	c.liveLeft()
	c.confirmed()
}

// liveLeft checks the zones that left in a live snapshot.
func (c comparison) liveLeft() {
	absent := c.absent()
	if len(absent) != len(c.snapshot.FormerZones) {
		c.Errorf("%d zones that left are shown, want %d", len(c.snapshot.FormerZones), len(absent))
		return
	}
	for i, m := range absent {
		left, n := c.snapshot.FormerZones[i], zoneNumber(m.Zone)
		want := group.FormerZone{Zone: group.Zone{Name: m.Zone, UID: m.UID}, Orphaned: c.orphanedAny(n, left.PodsAt)}
		if left.Exists {
			c.shown["zone without its label live"]++
			z := c.zoneAt(n, left.Version)
			if z.absence == inGroup {
				c.Errorf("%s is shown as a zone that left, but was in the group at version %d", m.Zone, left.Version)
			}
			want.Exists, want.Orphaned, want.Zone = true, c.orphaned(n, left.PodsAt), c.expected(n, z, left.PodsAt, c.podsAt(n, left.PodsAt, listedFor(z.UID)))
		} else {
			c.shown["zone of orphans live"]++
			want.Pods, want.PodsAt = c.podsAt(n, left.PodsAt, ofAnyOwner), left.PodsAt
		}
		shown := left
		shown.Zone = c.withoutMislabelled(n, left.Zone)
		c.equal("zone that left", want, shown)
		if left.PodsAt < c.snapshot.ZonesAt || left.Version > left.PodsAt {
			c.Errorf("pods of %s, which left, were listed at %d, before the read found that it had left", m.Zone, left.PodsAt)
		}
	}
}

// withoutMislabelled returns a zone of a live snapshot without pods with the labels of another zone. A live read finds
// those that the StatefulSet still controls only if it lists the pods of the other zone by the same key. It reads
// released ones by name, if the caches show them.
func (c comparison) withoutMislabelled(n int, z group.Zone) group.Zone {
	for _, seen := range z.Orphans {
		c.shown["released pod live"]++
		c.equal("orphan", c.podsAt(n, seen.Version, func(p *pod) bool { return p.Ordinal == seen.Ordinal && p.owner == "" }), []plan.Pod{seen})
	}
	z.Orphans = nil
	z.Pods = slices.DeleteFunc(slices.Clone(z.Pods), func(seen plan.Pod) bool {
		return len(c.podsAt(n, z.PodsAt, func(p *pod) bool { return p.UID == seen.UID && p.mislabelled != nil && p.owner != "" })) > 0
	})
	return z
}

// confirmed checks that at some version from the list of pods on no zone wants a pod that the read
// treats as deleted and unwanted.
func (c comparison) confirmed() {
	deleted := c.snapshot.DeletedAndUnwanted()
	if len(deleted) == 0 {
		return
	}
	c.shown["unwanted pods live"]++
	at := []plan.Version{c.snapshot.PodsAt}
	for _, change := range c.changes[zoneKind][c.group.no][len(c.until(zoneKind, c.snapshot.PodsAt)):] {
		at = append(at, change.version)
	}
	if !slices.ContainsFunc(at, func(v plan.Version) bool { return !group.WantAgain(deleted, c.zonesAt(v)) }) {
		c.Errorf("zones at %d do not want %v, which did not exist at %d, but zones at every later version do", c.snapshot.ZonesAt, deleted, c.snapshot.PodsAt)
	}
}

// absent returns the zones that the hold remembers and that the snapshot does not show in the
// group.
func (c comparison) absent() []group.Member {
	return slices.DeleteFunc(slices.Clone(c.snapshot.Hold.Members), func(m group.Member) bool {
		_, is := c.snapshot.Zone(m.Zone)
		return is
	})
}

// strays returns the recorded pods that were stored but that no zone of the snapshot shows.
func (c comparison) strays(at plan.Version) []plan.Pod {
	var all []plan.Pod
	s := c.snapshot
	s.Strays = nil
	for _, i := range s.Hold.Intents {
		if _, is := s.Pod(i.Pod); !is {
			n, ordinal := podIndex(i.Zone, i.Pod)
			all = append(all, c.podsAt(n, at, func(p *pod) bool { return p.Ordinal == ordinal })...)
			if len(c.podsAt(n, at, func(p *pod) bool { return p.Ordinal == ordinal && p.bare() })) > 0 {
				c.shown["bare pod with the name of a recorded pod"]++
			}
		}
	}
	return all
}

// expected returns a stored zone as a snapshot should show it.
func (c comparison) expected(n int, stored *zone, at plan.Version, pods []plan.Pod) group.Zone {
	z := stored.Zone
	z.Selector, z.PodsAt, z.Pods = c.group.selectorKey(n)+"="+z.Name, at, pods
	z.Counting = z.Counting && z.UpdateRevision != z.CurrentRevision && z.Replicas > 0
	z.Downscaled.Time = z.Downscaled.Time.Truncate(time.Second)
	return z
}

// zoneAt returns a zone as it was stored at a version.
func (c comparison) zoneAt(n int, at plan.Version) *zone {
	var last *zone
	for _, change := range c.until(zoneKind, at) {
		if change.zone == n {
			last = change.set
		}
	}
	return last
}

// zonesAt returns the zones that were in the group at a version.
func (c comparison) zonesAt(at plan.Version) []group.Zone {
	var all []group.Zone
	for n := range c.group.zones {
		if z := c.zoneAt(n, at); z != nil && z.absence == inGroup {
			all = append(all, z.Zone)
		}
	}
	return all
}

// podsAt returns the chosen pods of a zone as they were stored at a version.
func (c comparison) podsAt(n int, at plan.Version, which func(*pod) bool) []plan.Pod {
	last := make([]*pod, c.group.ordinals())
	for _, change := range c.until(podKind, at) {
		if change.zone == n {
			last[change.ordinal] = change.pod
		}
	}
	var all []plan.Pod
	for _, p := range last {
		if p == nil || !which(p) {
			continue
		}
		if p.Phase == plan.Terminating && c.snapshot.Live {
			c.shown["terminating pod live"]++
		}
		all = append(all, c.asShown(n, p))
	}
	return all
}

// asShown returns a stored pod as a snapshot should show it. Of a bare pod it has only the fields that
// can end an intent.
func (c comparison) asShown(n int, p *pod) plan.Pod {
	seen := p.Pod
	if p.bare() && !p.released() {
		seen = plan.Pod{Name: p.Name, UID: p.UID, Version: p.Version}
		if p.Phase == plan.Ready || p.Phase == plan.Terminating {
			seen.Phase = p.Phase
		}
		return seen
	}
	seen.Labels, seen.Unadopted = plan.LabelsOf(p.labels(c.group, n)), p.owner == ""
	return seen
}

// orphaned reports whether one of the pods of a zone had no owner.
func (c comparison) orphaned(n int, at plan.Version) bool {
	return len(c.podsAt(n, at, ownedBy(""))) > 0
}

// orphanedAny is orphaned for a deleted StatefulSet, for which released pods count, too.
func (c comparison) orphanedAny(n int, at plan.Version) bool {
	return c.orphaned(n, at) || len(c.podsAt(n, at, (*pod).released)) > 0
}

// ofAnyOwner chooses the pods of a deleted StatefulSet: pods of every StatefulSet with its name
// count, if they have the pod-name label.
func ofAnyOwner(p *pod) bool { return !p.userCreated }

// listedFor chooses the pods of a StatefulSet that every list by its selector contains.
func listedFor(uid string) func(*pod) bool {
	return func(p *pod) bool { return ownedBy(uid, "")(p) && p.mislabelled == nil }
}

// ownedBy chooses the pods of a zone that one of these StatefulSets controls; "" chooses orphans.
func ownedBy(owners ...string) func(*pod) bool {
	return func(p *pod) bool { return p.inZone() && slices.Contains(owners, p.owner) }
}
