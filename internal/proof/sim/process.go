package sim

// operator is a process of ours: what it sees, what it remembers, and where in
// its round it is.
type operator struct {
	leads  bool // begins rounds
	pods   pods
	zones  zones
	known  lease  // the newest record it knows of
	own    bool   // it wrote that record
	before slots  // down when it joined the hold, and ever since
	memory memory // of what its caches do not show yet

	podsOnTheWay  pods  // what the cache of pods will show next, where caches trickle
	zonesOnTheWay zones // the same of zones

	at       place // of its round
	look     look  // what the live look has read so far
	steps    [maxSteps]step
	count    uint8 // of steps left
	record   lease // what a write step writes, with the version it requires
	claims   bool  // knows that record as its own once it is written
	evidence evidence
}

// evidence is what can be said for somebody whose takedown turns out to be one too
// many.
type evidence struct {
	shown  slots // in order in the view that was decided on
	before slots // down in that view, or when this process joined the hold, and ever since
}

// place is where in its round an operator is.
type place uint8

const (
	idle    place = iota
	looking       // a live look has begun, under the record that is known
	zonesRead
	podsRead
	leftRead   // both are read, and the zones that left will be
	confirming // both are read, and the zones will be once more
	acting
)

// look is the part of a live look that was read first.
type look struct {
	zones zones // at zonesRead, leftRead and confirming
	pods  pods  // at podsRead, leftRead and confirming
	down  slots // among these, and ever since
	over  slots // whose granted evictions nobody could carry out any more before it began

	moved bool  // the process knows of a newer record than the one under which it looks
	under lease // that one, then
	own   bool
}

// All pods touched or deleted, the Lease written, all zones adopted.
const maxSteps = maxSlots + 1 + maxZones

// step is one request that an operator is going to send.
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

// request is a step on its way, with all that its fate depends on.
type request struct {
	step
	record   lease // for write
	evidence evidence
}

// request returns the one that is made of a step.
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

// ready returns how many of the first steps can be sent now: deletes go
// together, everything else goes one after the other.
func (o *operator) ready() int {
	n := 0
	for n < int(o.count) && o.steps[n].kind == remove {
		n++
	}
	return max(n, min(1, int(o.count)))
}

// drop strikes a step off the list.
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

// resolve makes a decision the operator's own.
func (o *operator) resolve(d *decision, joined, broken slots) {
	o.at, o.look = acting, look{}
	o.count = uint8(copy(o.steps[:], d.steps))
	if d.joins {
		o.before = joined
	}
	o.record, o.claims, o.evidence = d.record, d.claims, o.seeing(d.shown, broken)
}

// seeing returns what can be said for whoever decides now on a view that shows these
// pods in order.
func (o *operator) seeing(shown, broken slots) evidence {
	return evidence{shown: shown, before: (o.before | ^shown) & broken}
}

// learn takes over a record from the Lease itself or its cache.
func (o *operator) learn(l lease) {
	o.knows(l, o.own && o.known.version == l.version)
}

// knows takes over a record, which it wrote or not.
func (o *operator) knows(l lease, own bool) {
	if looks := o.at == looking || o.at == zonesRead || o.at == podsRead || o.at == leftRead || o.at == confirming; looks && !o.look.moved && o.known.version != l.version {
		o.look.moved, o.look.under, o.look.own = true, o.known, o.own
	}
	o.known, o.own = l, own
}

// underlying returns the record under which a look was begun, and whether the process
// wrote it: a write in its place fails where it has been replaced.
func (o *operator) underlying() (l lease, own bool) {
	if o.look.moved {
		return o.look.under.asOf(o.look.over), o.look.own
	}
	return o.known.asOf(o.look.over), o.own
}
