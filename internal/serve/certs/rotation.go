package certs

import (
	"fmt"
	"strings"
	"time"
)

// deed is what is to be done with a record, as a whole and by one write.
type deed int

const (
	nothing deed = iota
	replace      // nothing can be served: a new CA and certificate, served at once
	prepare      // a new pair beside the one that is served, its CA in the bundle
	mark         // a wait begins
	turn         // the new pair is served from now on
	drop         // the CA that nobody needs any more leaves the bundle
)

// String returns the deed for logs.
func (d deed) String() string {
	switch d {
	case nothing:
		return "nothing to do"
	case replace:
		return "made anew"
	case prepare:
		return "rotation begun"
	case mark:
		return "rotation waits"
	case turn:
		return "new certificate served"
	case drop:
		return "rotation ended"
	}
	return fmt.Sprintf("deed %d", int(d))
}

// Times are how long certificates and rotations last.
type Times struct {
	// Propagation is how long it takes until everybody acts on what was published:
	// API servers on a new bundle, replicas on a new certificate.
	Propagation time.Duration
	// Unseen tells that nobody knows when the bundle has been published, so that it
	// is waited for as long as for the slowest replica.
	Unseen bool
}

// slowest is by how much the slowest replica is slower than what is usual.
const slowest = 3

// step is what is to be done now, or else when to look again.
type step struct {
	deed    deed
	because string
	wait    time.Time // with nothing to do: look again then

	held bool // something else has to come first
}

// namesAgain is how long names that are not known yet are waited for.
const namesAgain = time.Second

// situation is everything that decides on the next step.
type situation struct {
	record      Record
	found       findings // judge(record, now)
	now         time.Time
	names       []string
	unnamed     error // why names are not all; nil: they are
	unpublished error // who does not have the bundle of the record; nil: everybody has
	lost        error // set by rescued: why the Secret's own content is of no use
}

// rescued is the situation with what this replica still serves in place of a
// record that has nothing to serve. The CA of the former is what clients trust, so
// a rotation may begin there instead of everything being made anew.
func (s situation) rescued(kept Record) situation {
	if s.found.serving != nil || s.found.next != nil {
		return s
	}
	found := judge(kept, s.now)
	if found.serving == nil {
		return s
	}
	s.lost, s.found = s.found.wrong, found
	s.record.CA, s.record.Serving, s.record.Next = kept.CA, kept.Serving, Pair{}
	return s
}

// next is what is to be done. A certificate is made when it is known what it must
// be valid for: another one for a forgotten name would take its time.
func (t Times) next(s situation) step {
	due := t.rotation(s)
	if makes := due.deed == replace || due.deed == prepare; makes && s.unnamed != nil {
		return step{because: "a certificate waits: " + s.unnamed.Error(), wait: s.now.Add(namesAgain), held: true}
	}
	return due
}

// rotation is the whole of it.
func (t Times) rotation(s situation) step {
	switch {
	case s.lost != nil:
		return step{deed: prepare, because: s.lost.Error() + "; what was served until now is served for a while"}
	case s.found.serving == nil && s.found.next != nil:
		return step{deed: turn, because: s.found.wrong.Error()}
	case s.found.serving == nil:
		return step{deed: replace, because: s.found.wrong.Error()}
	case len(s.record.Next.Cert) == 0 && len(s.found.authorities) == 1:
		return steady(s)
	case len(s.record.Next.Cert) == 0:
		return t.wait(s, slowest*t.Propagation, drop, "no replica serves what it verified")
	case s.found.next == nil:
		return step{deed: prepare, because: "what was prepared is unusable: " + s.found.nextWrong.Error()}
	case s.unpublished != nil:
		return step{because: "the rotation waits: " + s.unpublished.Error(), wait: s.now.Add(t.Propagation), held: true}
	case t.Unseen:
		return t.wait(s, slowest*t.Propagation, turn, "its CA has had time to arrive")
	}
	return t.wait(s, t.Propagation, turn, "its CA is known everywhere")
}

// steady says whether a rotation should begin.
func steady(s situation) step {
	leaf := s.found.serving.Leaf
	renew := leaf.NotAfter.Add(-leaf.NotAfter.Sub(leaf.NotBefore) / 3)
	missing := lacks(leaf, s.names)
	switch {
	case s.record.Asked != "" && s.record.Asked != s.record.Answered:
		return step{deed: prepare, because: "somebody asked for it"}
	case len(missing) > 0:
		return step{deed: prepare, because: "the certificate is not valid for " + strings.Join(missing, ", ")}
	case !s.now.Before(renew):
		return step{deed: prepare, because: "two thirds of its life are over"}
	}
	return step{wait: renew}
}

// wait leads to a deed after a time that is counted from the record's mark, or
// sets that mark.
func (t Times) wait(s situation, long time.Duration, then deed, because string) step {
	since := s.record.Since
	if since.IsZero() || since.After(s.now.Add(t.Propagation)) { // from a clock that was wrong
		return step{deed: mark, because: fmt.Sprintf("in %v: %s", long, then)}
	}
	if due := since.Add(long); s.now.Before(due) {
		return step{wait: due}
	}
	return step{deed: then, because: because}
}

// carryOut returns the record after a deed.
func carryOut(d deed, s situation, o Order) (Record, error) {
	r := s.record
	switch d {
	case nothing:
	case replace:
		made, err := issue(o, s.now)
		if err != nil {
			return r, err
		}
		r = Record{CA: made.ca, Serving: made.Pair, Asked: r.Asked, Answered: r.Asked}
	case prepare:
		made, err := issue(o, s.now)
		if err != nil {
			return r, err
		}
		r.CA = append(made.ca, signerOf(r.Serving, s.found.authorities, s.now)...)
		r.Next, r.Since, r.Answered = made.Pair, time.Time{}, r.Asked
	case mark:
		r.Since = s.now
	case turn:
		r.Serving, r.Next, r.Since = r.Next, Pair{}, s.now
	case drop:
		r.CA, r.Since = signerOf(r.Serving, s.found.authorities, s.now), time.Time{}
	}
	return r, nil
}
