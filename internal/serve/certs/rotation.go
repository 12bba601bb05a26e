package certs

import (
	"fmt"
	"strings"
	"time"
)

// transition is a change of the record that one write makes.
type transition int

const (
	noTransition transition = iota
	replace                 // no certificate can be served: issue a CA and a certificate, and serve it at once
	prepare                 // issue a new pair next to the served one, and add its CA to the bundle
	startWait               // record the start of a wait
	switchOver              // serve the new pair
	dropCA                  // remove the CA that is no longer needed from the bundle
)

// String returns the transition for logs.
func (d transition) String() string {
	switch d {
	case noTransition:
		return "none"
	case replace:
		return "certificate replaced"
	case prepare:
		return "rotation started"
	case startWait:
		return "wait started"
	case switchOver:
		return "new certificate served"
	case dropCA:
		return "rotation finished"
	}
	return fmt.Sprintf("transition %d", int(d))
}

// Times are the waits of a rotation.
type Times struct {
	// Propagation is the time that a published change needs: a new bundle to reach all API
	// servers, a new certificate to reach all replicas.
	Propagation time.Duration
	// PublicationUnknown means that lockstep cannot see when the bundle has been published. The
	// rotation then waits for the bundle as long as for the slowest replica.
	PublicationUnknown bool
}

// slowestFactor is the factor by which the slowest replica exceeds the usual propagation time.
const slowestFactor = 3

// step is the due transition, or the time of the next reconcile.
type step struct {
	transition transition
	because    string
	wait       time.Time // if no transition is due: the time of the next reconcile

	blocked bool // the transition waits for something that because names
}

// namesRetry is the retry interval while not all names are known.
const namesRetry = time.Second

// state contains everything that the next step depends on.
type state struct {
	record     Record
	found      findings // the result of inspect(record, now)
	now        time.Time
	names      []string
	namesErr   error // why not all names are known, or nil
	publishErr error // names a webhook configuration without the bundle, or nil
	lostErr    error // set by withServed: why the Secret's own certificate cannot be served
}

// withServed returns s with the record that this replica still serves, if the Secret has no
// certificate that can be served. Clients trust the CA of that record, so a rotation can
// start from it and no certificate is replaced at once.
func (s state) withServed(kept Record) state {
	if s.found.serving != nil || s.found.next != nil {
		return s
	}
	found := inspect(kept, s.now)
	if found.serving == nil {
		return s
	}
	s.lostErr, s.found = s.found.servingErr, found
	s.record.CA, s.record.Serving, s.record.Next = kept.CA, kept.Serving, Pair{}
	return s
}

// next returns the next step. It delays a new certificate until all names are known,
// because a second certificate for a missing name would take another rotation.
func (t Times) next(s state) step {
	due := t.rotation(s)
	if makes := due.transition == replace || due.transition == prepare; makes && s.namesErr != nil {
		return step{because: "the new certificate is delayed: " + s.namesErr.Error(), wait: s.now.Add(namesRetry), blocked: true}
	}
	return due
}

// rotation returns the next step, without regard to names that are not known yet.
func (t Times) rotation(s state) step {
	switch {
	case s.lostErr != nil:
		return step{transition: prepare, because: s.lostErr.Error() + "; the previous certificate is still served"}
	case s.found.serving == nil && s.found.next != nil:
		return step{transition: switchOver, because: s.found.servingErr.Error()}
	case s.found.serving == nil:
		return step{transition: replace, because: s.found.servingErr.Error()}
	case len(s.record.Next.Cert) == 0 && len(s.found.authorities) == 1:
		return steady(s)
	case len(s.record.Next.Cert) == 0:
		return t.wait(s, slowestFactor*t.Propagation, dropCA, "no replica serves a certificate that the old CA signed")
	case s.found.next == nil:
		return step{transition: prepare, because: "the prepared certificate is unusable: " + s.found.nextErr.Error()}
	case s.publishErr != nil:
		return step{because: "the rotation is delayed: " + s.publishErr.Error(), wait: s.now.Add(t.Propagation), blocked: true}
	case t.PublicationUnknown:
		return t.wait(s, slowestFactor*t.Propagation, switchOver, "the new CA has had time to reach all API servers")
	}
	return t.wait(s, t.Propagation, switchOver, "all API servers know the new CA")
}

// steady returns the step while no rotation is in progress.
func steady(s state) step {
	leaf := s.found.serving.Leaf
	renew := leaf.NotAfter.Add(-leaf.NotAfter.Sub(leaf.NotBefore) / 3)
	missing := missingNames(leaf, s.names)
	switch {
	case s.record.Asked != "" && s.record.Asked != s.record.Answered:
		return step{transition: prepare, because: "a user requested it"}
	case len(missing) > 0:
		return step{transition: prepare, because: "the certificate is not valid for " + strings.Join(missing, ", ")}
	case !s.now.Before(renew):
		return step{transition: prepare, because: "two thirds of its lifetime are over"}
	}
	return step{wait: renew}
}

// wait returns the transition then once the time long has passed since the record's start
// of the wait. If the record has none, wait returns the transition that records it.
func (t Times) wait(s state, long time.Duration, then transition, because string) step {
	since := s.record.Since
	if since.IsZero() || since.After(s.now.Add(t.Propagation)) { // a time in the future comes from a wrong clock
		return step{transition: startWait, because: fmt.Sprintf("in %v: %s", long, then)}
	}
	if due := since.Add(long); s.now.Before(due) {
		return step{wait: due}
	}
	return step{transition: then, because: because}
}

// apply returns the record after a transition.
func apply(d transition, s state, o Order) (Record, error) {
	r := s.record
	switch d {
	case noTransition:
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
	case startWait:
		r.Since = s.now
	case switchOver:
		r.Serving, r.Next, r.Since = r.Next, Pair{}, s.now
	case dropCA:
		r.CA, r.Since = signerOf(r.Serving, s.found.authorities, s.now), time.Time{}
	}
	return r, nil
}
