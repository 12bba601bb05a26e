// Package clock tells the time of the API server. Objects are dated by it and by the
// controllers beside it, so whatever is compared with such a date, or written down as
// one, goes by its clock and not by that of the machine that lockstep runs on.
package clock

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Clock goes by the Date of the API server's answers, and by the clock of this machine
// as long as that agrees with them or nothing else is known. From one answer to the
// next it goes on steadily, whatever becomes of this machine's date. A nil Clock goes by
// this machine.
type Clock struct{ last atomic.Pointer[reading] }

const (
	// ordinary is by how much this machine's clock may be off and agrees all the same:
	// the clocks of two machines that are kept right differ by some milliseconds.
	ordinary = 100 * time.Millisecond
	// believedAfter is for how long this machine's clock has to agree with all answers
	// once it did not: one of another pace agrees in passing.
	believedAfter = time.Minute
	// hurries is for how long without an answer a steady clock may go at twice its pace
	// that is not to be believed. One that does so for longer gets ahead.
	hurries = 4 * time.Second
)

// reading is what an answer told at a time of this machine, which has a steady clock's
// reading.
type reading struct {
	at     time.Time
	least  time.Time     // which time it was at the least: a date has no fractions
	slowBy time.Duration // by how much this machine's clock was slow, at the least
	wrong  time.Time     // when this machine's clock disagreed last; zero: it never did
}

// New returns a Clock that goes by this machine.
func New() *Clock { return new(Clock) }

// Now returns the time. Where this machine's clock is not to be believed it is rather
// early than late, so that nobody's time is over too soon that others have noted.
func (c *Clock) Now() time.Time {
	local := time.Now()
	if c == nil {
		return local.Round(0)
	}
	r := c.last.Load()
	if r == nil {
		return local.Round(0)
	}
	return r.now(local).Round(0) // a date, of which no steady clock knows
}

// now returns the time at a later time of this machine.
func (r *reading) now(local time.Time) time.Time {
	if r.wrong.IsZero() || r.at.Sub(r.wrong) >= believedAfter {
		return r.at.Add(local.Sub(r.at))
	}
	return r.atLeast(local)
}

// atLeast returns which time it is at the least, by a steady clock that may hurry.
func (r *reading) atLeast(local time.Time) time.Time {
	passed := local.Sub(r.at)
	return r.least.Add(passed - min(passed, hurries)/2)
}

// Offset is by how much this machine's clock was slow at the last answer; less than a
// second is never noticed.
func (c *Clock) Offset() time.Duration {
	if r := c.last.Load(); r != nil {
		return r.slowBy
	}
	return 0
}

// Watch returns a transport that sets the clock. It changes neither request nor
// answer.
func (c *Clock) Watch(next http.RoundTripper) http.RoundTripper { return timed{next, c} }

// learn is told that an answer was dated between two readings of this machine's
// clock. A date has no fractions, so it stands for a whole second.
func (c *Clock) learn(sent, received, date time.Time) {
	next := &reading{at: received, least: date}
	possible := span{least: date.Sub(received), most: date.Add(time.Second).Sub(sent)}
	if !possible.has(0, ordinary) {
		next.slowBy = possible.least
	}
	if last := c.last.Load(); last != nil {
		if received.Sub(sent) > time.Second && possible.has(last.slowBy, 0) {
			next.slowBy = last.slowBy // it says less than is known
		}
		if known := last.atLeast(received); known.After(date) && possible.has(known.Sub(received), 0) {
			next.least = known
		}
		next.wrong = last.wrong
	}
	if next.slowBy != 0 {
		next.wrong = received
	}
	c.last.Store(next)
}

// span is by how much this machine's clock may be slow, by an answer.
type span struct{ least, most time.Duration }

func (s span) has(slowBy, give time.Duration) bool {
	return s.least-give <= slowBy && slowBy <= s.most+give
}

type timed struct {
	next  http.RoundTripper
	clock *Clock
}

// RoundTrip implements http.RoundTripper.
func (t timed) RoundTrip(r *http.Request) (*http.Response, error) {
	sent := time.Now()
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	if answer.StatusCode >= http.StatusInternalServerError {
		return answer, nil // who stands before the API server may say so
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		t.clock.learn(sent, sent.Add(time.Since(sent)), date) // this machine's date may have been set meanwhile
	}
	return answer, nil
}

// WrappedRoundTripper lets client-go find the transport behind.
func (t timed) WrappedRoundTripper() http.RoundTripper { return t.next }
