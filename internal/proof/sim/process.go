package sim

// operator is a process of lockstep: what it sees, what it remembers, and the progress of
// its round.
type operator struct {
	leads  bool // begins rounds
	pods   pods
	zones  zones
	known  lease  // the newest record that it knows
	own    bool   // it wrote that record
	before slots  // down when it joined the hold, and ever since
	memory memory // of what its caches do not show yet

	podsOnTheWay  pods  // what the cache of pods will show next, if caches trickle
	zonesOnTheWay zones // the same for zones

	at       place // of its round
	look     look  // what the live read has read so far
	steps    [maxSteps]step
	count    uint8 // of remaining steps
	record   lease // what a write step writes, with the version that it requires
	claims   bool  // once it is written, the operator knows the record as its own
	evidence evidence
}

// evidence is what the sender of a disruption could know when it decided. The judge
// excuses other pods that are down.
type evidence struct {
	shown  slots // pods that are not down in the view of the decision
	before slots // down in that view, or when this process joined the hold, and ever since
}

// place is the progress of an operator's round.
type place uint8

const (
	idle    place = iota
	looking       // a live read has begun, under the known record
	zonesRead
	podsRead
	leftRead   // both were read; the zones that left will be read
	confirming // both were read; the zones will be read once more
	acting
)

// look is the part of a live read that was read so far.
type look struct {
	zones zones // at zonesRead, leftRead and confirming
	pods  pods  // at podsRead, leftRead and confirming
	down  slots // in this read, and ever since
	over  slots // grants that no API server could carry out any more before the read began

	moved bool  // the process knows a newer record than the one under which it reads
	under lease // the record under which it reads, if moved
	own   bool
}

// All pods touched or deleted, the Lease written, all zones adopted.
const maxSteps = maxSlots + 1 + maxZones

// step is a request that an operator is going to send.
type step struct {
	kind    stepKind
	target  uint8 // slot, or zone for adopt, void and size
	born    uint8 // or the revision for adopt, or the replicas for size
	version uint8
	up      bool
}

type stepKind uint8

const (
	touch stepKind = iota + 1
	write
	remove
	adopt
	void
	size
)

// request is a step on its way, with everything that its result depends on.
type request struct {
	step
	record   lease // for write
	evidence evidence
}

// request returns the request of a step.
func (o *operator) request(i int) request {
	r := request{step: o.steps[i]}
	switch r.kind {
	case write:
		r.record = o.record
	case remove, size:
		r.evidence = o.evidence
	case touch, adopt, void:
	}
	return r
}

// ready returns how many of the first steps can be sent now. Deletes are concurrent; all
// other requests are sent one by one.
func (o *operator) ready() int {
	n := 0
	for n < int(o.count) && o.steps[n].kind == remove {
		n++
	}
	return max(n, min(1, int(o.count)))
}

// drop removes a step from the list.
func (o *operator) drop(i int) {
	copy(o.steps[i:], o.steps[i+1:])
	o.steps[maxSteps-1] = step{}
	if o.count--; o.count == 0 {
		o.rest()
	}
}

// rest ends the round.
func (o *operator) rest() {
	o.at, o.look, o.steps, o.count = idle, look{}, [maxSteps]step{}, 0
	o.record, o.claims, o.evidence = lease{}, false, evidence{}
}

// resolve makes the operator carry out a decision.
func (o *operator) resolve(d *decision, joined, broken slots) {
	o.at, o.look = acting, look{}
	o.count = uint8(copy(o.steps[:], d.steps))
	if d.joins {
		o.before = joined
	}
	o.record, o.claims, o.evidence = d.record, d.claims, o.seeing(d.shown, broken)
}

// seeing returns the evidence for a decision on a view in which the pods of shown are not
// down.
func (o *operator) seeing(shown, broken slots) evidence {
	return evidence{shown: shown, before: (o.before | ^shown) & broken}
}

// learn takes over a record that was read from the Lease or its cache.
func (o *operator) learn(l lease) {
	o.knows(l, o.own && o.known.version == l.version)
}

// knows takes over a record; own means that the process wrote it.
func (o *operator) knows(l lease, own bool) {
	if looks := o.at == looking || o.at == zonesRead || o.at == podsRead || o.at == leftRead || o.at == confirming; looks && !o.look.moved && o.known.version != l.version {
		o.look.moved, o.look.under, o.look.own = true, o.known, o.own
	}
	o.known, o.own = l, own
}

// underlying returns the record under which a live read began, and whether the process
// wrote it. A write in its place fails if another record has replaced it.
func (o *operator) underlying() (l lease, own bool) {
	if o.look.moved {
		return o.look.under.asOf(o.look.over), o.look.own
	}
	return o.known.asOf(o.look.over), o.own
}
