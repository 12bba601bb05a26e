package sim

import (
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/freshness"
	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

var (
	zoneNames = [maxZones]string{"zone-a", "zone-b", "zone-c"}
	podNames  = namePods()
	numbers   = nameNumbers()
	group     = plan.Key{Namespace: "world", Group: "g"}
	today     = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
)

func namePods() (names [maxSlots]string) {
	for slot := range names {
		names[slot] = plan.PodName(zoneNames[zoneOf(slot)], ordinalOf(slot))
	}
	return names
}

func nameNumbers() (names [64]string) {
	for n := range names {
		names[n] = strconv.Itoa(n)
	}
	return names
}

// view is all that an operator's decision depends on.
type view struct {
	pods  pods
	zones zones
	hold  lease
	own   bool
	live  bool
}

// unseen is added to the versions of a pod that are newer than the view; the
// view as a whole stands at that number. So what is compared across pods, that
// is a view with an intent, comes out as it would with one counter for all.
const unseen = 1000

func (v *view) version(slot int, version uint8) plan.Version {
	if version > v.pods[slot].version {
		return plan.Version(version) + unseen
	}
	return plan.Version(version)
}

// snapshot says the view in the planner's words.
func (v *view) snapshot(c Config) plan.Snapshot {
	s := plan.Snapshot{Key: group, Now: today, Live: v.live, ZonesAt: unseen, PodsAt: unseen, Hold: v.record()}
	for n := range c.Zones {
		s.Zones = append(s.Zones, v.zone(n, c))
	}
	return s
}

func (v *view) zone(n int, c Config) plan.Zone {
	z := v.zones[n]
	out := plan.Zone{
		Name: zoneNames[n], UID: zoneNames[n], Version: plan.Version(z.version), Replicas: int(z.replicas),
		UpdateRevision: numbers[z.seenRevision], CurrentRevision: numbers[z.current], Observed: z.observed,
		OnDelete: true, Paused: z.paused, MaxUnavailable: plan.Budget{Pods: c.Budget},
	}
	for slot := n * maxPods; slot < (n+1)*maxPods; slot++ {
		if p := v.pods[slot]; p.exists() {
			out.Pods = append(out.Pods, plan.Pod{
				Name: podNames[slot], Ordinal: ordinalOf(slot), UID: numbers[p.born], Version: v.version(slot, p.version),
				Revision: numbers[p.revision], Phase: plan.Phase(p.phase),
			})
		}
	}
	return out
}

func (v *view) record() plan.Hold {
	h := plan.Hold{Exists: v.hold.version > 0, Own: v.own}
	if !h.Exists {
		return h
	}
	h.Duration, h.Renewed = hold.Duration, today
	if v.hold.expired {
		h.Renewed = today.Add(-hold.Duration - time.Minute)
	}
	if v.hold.holder > 0 {
		h.Holder = plan.Rollout.For(zoneNames[v.hold.holder-1])
	}
	for slot, i := range v.hold.intents {
		if i.born > 0 {
			h.Intents = append(h.Intents, plan.Intent{
				Zone: zoneNames[zoneOf(slot)], Pod: podNames[slot], UID: numbers[i.born], Version: v.version(slot, i.version),
			})
		}
	}
	return h
}

// behind asks the real log whether the operator's caches lack a write of its own.
func (o *operator) behind(s plan.Snapshot, v *view) bool {
	if o.moved == [maxSlots]uint8{} && o.written == [maxZones]uint8{} {
		return false
	}
	log := freshness.NewLog()
	for slot, version := range o.moved {
		if version > 0 {
			log.PodMoved(group, podNames[slot], v.version(slot, version))
		}
	}
	for n, version := range o.written {
		if version > 0 {
			log.ZoneWritten(group, zoneNames[n], plan.Version(version))
		}
	}
	missing, _ := log.Behind(s)
	return missing != ""
}

// forget drops from the memory of own writes what the caches show now.
func (o *operator) forget(c Config) {
	if o.moved == [maxSlots]uint8{} && o.written == [maxZones]uint8{} {
		return
	}
	v := view{pods: o.pods, zones: o.zones}
	s := v.snapshot(c)
	for slot := range o.moved {
		only := operator{}
		only.moved[slot] = o.moved[slot]
		if !only.behind(s, &v) {
			o.moved[slot] = 0
		}
	}
	for n := range o.written {
		only := operator{}
		only.written[n] = o.written[n]
		if !only.behind(s, &v) {
			o.written[n] = 0
		}
	}
}

// decision is what an operator does about a view.
type decision struct {
	look   bool
	steps  []step
	record lease
	claims bool  // the record is the operator's own from then on
	joins  bool  // and was not before, or was about another zone
	shown  slots // in order in the view
	broken string
	rule   string
	notes  string // the plan, for people
}

func (e *explorer) decide(v view) *decision {
	if d, ok := e.decisions[v]; ok {
		return d
	}
	d := e.ponder(&v)
	e.decisions[v] = d
	return d
}

func (e *explorer) ponder(v *view) *decision {
	s := e.rules.see(v.snapshot(e.config))
	actions := e.rules.plan(s)
	covered := e.rules.cover(s, actions)
	d := &decision{shown: ^down(&v.pods, &v.zones), notes: plan.Notation(actions)}
	if broken := e.rules.check(s, actions, covered); broken != nil {
		d.rule, d.broken = broken.Name, "the plan breaks it: "+broken.Detail
		return d
	}
	if covered.Verdict == hold.Look {
		d.look = true
		return d
	}
	d.steps = v.requests(actions, covered, e.rules.NotedLate)
	if covered.Verdict == hold.Write {
		d.record = v.written(covered.Record)
		d.claims = covered.Record.Own
		d.joins = d.claims && d.record.holder > 0 && (!v.own || v.hold.holder != d.record.holder)
	}
	return d
}

// requests puts a plan in the order in which it is carried out: withdrawals,
// the Lease, deletes, adoptions.
func (v *view) requests(actions []plan.Action, covered hold.Decision, late bool) []step {
	var touches, writes, deletes, adoptions []step
	for _, action := range actions {
		switch a := action.(type) {
		case plan.Withdraw:
			touches = append(touches, v.request(touch, a.Intent.Pod, a.Intent.UID, a.Intent.Version, false))
		case plan.DeletePod:
			deletes = append(deletes, v.request(remove, a.Pod, a.UID, a.Version, a.Up))
		case plan.AdoptRevision:
			adoptions = append(adoptions, step{
				kind: adopt, target: uint8(zoneNumber(a.Zone)), born: number(a.Revision), version: uint8(a.Version),
			})
		case plan.Release, plan.Wait:
		}
	}
	if covered.Verdict == hold.Write {
		writes = append(writes, step{kind: write})
	}
	all := append(touches, writes...)
	if late {
		all = append(touches, deletes...)
		deletes = writes
	}
	return append(append(all, deletes...), adoptions...)
}

func (v *view) request(kind stepKind, name, uid string, version plan.Version, up bool) step {
	return step{kind: kind, target: uint8(slotNumber(name)), born: number(uid), version: seen(version), up: up}
}

// written turns a record of the planner's into what is stored.
func (v *view) written(h plan.Hold) lease {
	l := lease{version: v.hold.version}
	if !h.Holder.Free() {
		l.holder = uint8(zoneNumber(h.Holder.Zone())) + 1
	}
	for _, i := range h.Intents {
		l.intents[slotNumber(i.Pod)] = intent{born: number(i.UID), version: seen(i.Version)}
	}
	return l
}

func seen(version plan.Version) uint8 { return uint8(version % unseen) }

func number(name string) uint8 {
	n, err := strconv.ParseUint(name, 10, 6)
	if err != nil {
		panic("explore: the planner made up the name " + name)
	}
	return uint8(n)
}

func zoneNumber(name string) int {
	for n, known := range zoneNames {
		if known == name {
			return n
		}
	}
	panic("explore: the planner made up zone " + name)
}

func slotNumber(name string) int {
	for n, known := range podNames {
		if known == name {
			return n
		}
	}
	panic("explore: the planner made up pod " + name)
}
