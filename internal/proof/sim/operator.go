package sim

// operator is a process of lockstep: its caches, its memory, and the progress of its round.
type operator struct {
	leads      bool // it leads: it begins rounds
	pods       pods
	zones      zones
	known      lease  // the newest record that it knows
	ownRecord  bool   // it wrote that record
	downAtJoin slots  // down when it joined the hold and ever since
	memory     memory // of writes and live reads that its caches may not show yet

	nextPods  pods  // that the cache of pods will show next, with stepwise caches
	nextZones zones // the same for zones

	state         roundState // of its round
	liveRead      liveRead   // the live read so far
	steps         [maxSteps]step
	count         uint8 // of remaining steps
	record        lease // that stepWriteLease writes, with the version that it requires
	ownAfterWrite bool  // after the write, the operator knows the record as its own
	evidence      evidence
}

// evidence is the part of the view of a decision from which the judge derives which pods the sender
// of a disruption could know to be down. The judge excuses other pods that are down.
type evidence struct {
	notDown   slots // pods that are not down in the view of the decision
	knownDown slots // down ever since that view, or ever since this process joined the hold
}

// roundState is the progress of an operator's round.
type roundState uint8

const (
	roundIdle    roundState = iota
	roundReading            // a live read has begun, under the known record
	roundZonesRead
	roundPodsRead
	roundLeftRead   // both were read; next are the zones that left
	roundConfirming // both were read; next are the zones once more
	roundActing
)

// liveRead is the result of the requests of a live read so far.
type liveRead struct {
	zones         zones // at roundZonesRead, roundLeftRead and roundConfirming
	pods          pods  // at roundPodsRead, roundLeftRead and roundConfirming
	down          slots // in this read and ever since
	expiredGrants slots // grants that had expired before the read began

	superseded bool  // the process knows a newer record than the one under which it reads
	record     lease // the record under which it reads, if superseded
	own        bool
}

// maxSteps is enough to update or delete every pod, to write the Lease and to write every zone.
const maxSteps = maxSlots + 1 + maxZones

// step is a request that an operator is going to send.
type step struct {
	kind    stepKind
	target  uint8 // a slot, or a zone for stepAdoptRevision, stepUpdateZone and stepSetReplicas
	value   uint8 // the UID of the pod, the revision for stepAdoptRevision, or the replicas for stepSetReplicas
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

// request is a step in flight, with the complete input of its result.
type request struct {
	step
	record   lease // for stepWriteLease
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
func (o *operator) startActing(d *decision, downAtJoin, downPods slots) {
	o.state, o.liveRead = roundActing, liveRead{}
	o.count = uint8(copy(o.steps[:], d.steps))
	if d.joins {
		o.downAtJoin = downAtJoin
	}
	o.record, o.ownAfterWrite, o.evidence = d.record, d.ownAfterWrite, o.evidenceFor(d.notDown, downPods)
}

// evidenceFor returns the evidence of a decision on a view in which these pods are not down.
func (o *operator) evidenceFor(shown, downPods slots) evidence {
	return evidence{notDown: shown, knownDown: (o.downAtJoin | ^shown) & downPods}
}

// learn stores a record that was read from the Lease or its cache as the known one.
func (o *operator) learn(l lease) {
	o.setKnown(l, o.ownRecord && o.known.version == l.version)
}

// setKnown stores a record as the known one; own means that the process wrote it.
func (o *operator) setKnown(l lease, own bool) {
	if reading := o.state == roundReading || o.state == roundZonesRead || o.state == roundPodsRead || o.state == roundLeftRead || o.state == roundConfirming; reading && !o.liveRead.superseded && o.known.version != l.version {
		o.liveRead.superseded, o.liveRead.record, o.liveRead.own = true, o.known, o.ownRecord
	}
	o.known, o.ownRecord = l, own
}

// recordOfRead returns the record under which a live read began, and whether the process
// wrote it. A write based on this record fails if another record has replaced it.
func (o *operator) recordOfRead() (l lease, own bool) {
	if o.liveRead.superseded {
		return o.liveRead.record.withExpired(o.liveRead.expiredGrants), o.liveRead.own
	}
	return o.known.withExpired(o.liveRead.expiredGrants), o.ownRecord
}
