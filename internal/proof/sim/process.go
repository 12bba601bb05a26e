package sim

// operator is a process of lockstep: what it sees, what it remembers, and the progress of
// its round.
type operator struct {
	leads      bool // begins rounds
	pods       pods
	zones      zones
	known      lease  // the newest record that it knows
	ownRecord  bool   // it wrote that record
	downAtJoin slots  // down when it joined the hold, and ever since
	memory     memory // of what its caches do not show yet

	nextPods  pods  // what the cache of pods will show next, if caches trickle
	nextZones zones // the same for zones

	state         roundState // of its round
	liveRead      liveRead   // what the live read has read so far
	steps         [maxSteps]step
	count         uint8 // of remaining steps
	record        lease // what a write step writes, with the version that it requires
	ownAfterWrite bool  // once it is written, the operator knows the record as its own
	evidence      evidence
}

// evidence is what the sender of a disruption could know when it decided. The judge
// excuses other pods that are down.
type evidence struct {
	notDown   slots // pods that are not down in the view of the decision
	knownDown slots // down in that view, or when this process joined the hold, and ever since
}

// roundState is the progress of an operator's round.
type roundState uint8

const (
	roundIdle    roundState = iota
	roundReading            // a live read has begun, under the known record
	roundZonesRead
	roundPodsRead
	roundLeftRead   // both were read; the zones that left will be read
	roundConfirming // both were read; the zones will be read once more
	roundActing
)

// liveRead is the part of a live read that was read so far.
type liveRead struct {
	zones         zones // at zonesRead, leftRead and confirming
	pods          pods  // at podsRead, leftRead and confirming
	down          slots // in this read, and ever since
	expiredGrants slots // grants that no API server could carry out any more before the read began

	superseded bool  // the process knows a newer record than the one under which it reads
	record     lease // the record under which it reads, if moved
	own        bool
}

// All pods touched or deleted, the Lease written, all zones adopted.
const maxSteps = maxSlots + 1 + maxZones

// step is a request that an operator is going to send.
type step struct {
	kind    stepKind
	target  uint8 // slot, or zone for adopt, void and size
	value   uint8 // or the revision for adopt, or the replicas for size
	version uint8
	up      bool
}

type stepKind uint8

const (
	stepUpdatePod stepKind = iota + 1
	stepWriteLease
	stepDeletePod
	stepAdoptRevision
	stepUpdateZone
	stepSetReplicas
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
	case stepWriteLease:
		r.record = o.record
	case stepDeletePod, stepSetReplicas:
		r.evidence = o.evidence
	case stepUpdatePod, stepAdoptRevision, stepUpdateZone:
	}
	return r
}

// sendable returns how many of the first steps can be sent now. Deletes are concurrent; all
// other requests are sent one by one.
func (o *operator) sendable() int {
	n := 0
	for n < int(o.count) && o.steps[n].kind == stepDeletePod {
		n++
	}
	return max(n, min(1, int(o.count)))
}

// dropStep removes a step from the list.
func (o *operator) dropStep(i int) {
	copy(o.steps[i:], o.steps[i+1:])
	o.steps[maxSteps-1] = step{}
	if o.count--; o.count == 0 {
		o.endRound()
	}
}

// endRound ends the round.
func (o *operator) endRound() {
	o.state, o.liveRead, o.steps, o.count = roundIdle, liveRead{}, [maxSteps]step{}, 0
	o.record, o.ownAfterWrite, o.evidence = lease{}, false, evidence{}
}

// startActing makes the operator carry out a decision.
func (o *operator) startActing(d *decision, joined, broken slots) {
	o.state, o.liveRead = roundActing, liveRead{}
	o.count = uint8(copy(o.steps[:], d.steps))
	if d.joins {
		o.downAtJoin = joined
	}
	o.record, o.ownAfterWrite, o.evidence = d.record, d.ownAfterWrite, o.evidenceFor(d.notDown, broken)
}

// evidenceFor returns the evidence for a decision on a view in which the pods of shown are not
// down.
func (o *operator) evidenceFor(shown, broken slots) evidence {
	return evidence{notDown: shown, knownDown: (o.downAtJoin | ^shown) & broken}
}

// learn takes over a record that was read from the Lease or its cache.
func (o *operator) learn(l lease) {
	o.setKnown(l, o.ownRecord && o.known.version == l.version)
}

// setKnown takes over a record; own means that the process wrote it.
func (o *operator) setKnown(l lease, own bool) {
	if looks := o.state == roundReading || o.state == roundZonesRead || o.state == roundPodsRead || o.state == roundLeftRead || o.state == roundConfirming; looks && !o.liveRead.superseded && o.known.version != l.version {
		o.liveRead.superseded, o.liveRead.record, o.liveRead.own = true, o.known, o.ownRecord
	}
	o.known, o.ownRecord = l, own
}

// recordOfRead returns the record under which a live read began, and whether the process
// wrote it. A write in its place fails if another record has replaced it.
func (o *operator) recordOfRead() (l lease, own bool) {
	if o.liveRead.superseded {
		return o.liveRead.record.withExpired(o.liveRead.expiredGrants), o.liveRead.own
	}
	return o.known.withExpired(o.liveRead.expiredGrants), o.ownRecord
}
