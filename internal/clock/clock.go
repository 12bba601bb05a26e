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

// reading is by how much this machine's clock was slow at a time, which has a steady
// clock's reading.
type reading struct {
	at     time.Time
	slowBy time.Duration
}

// New returns a Clock that goes by this machine.
func New() *Clock { return new(Clock) }

// Now returns the time.
func (c *Clock) Now() time.Time {
	if c == nil {
		return time.Now().Round(0)
	}
	r := c.last.Load()
	if r == nil {
		return time.Now().Round(0)
	}
	return r.at.Add(r.slowBy + time.Since(r.at)).Round(0) // a date, of which no steady clock knows
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
// clock. A date has no fractions, so it stands for a whole second. Earlier answers would
// tell which part of it, if the pace of this machine's clocks could be trusted.
func (c *Clock) learn(sent, received, date time.Time) {
	if took := received.Sub(sent); took > time.Second && c.last.Load() != nil {
		if now := c.Now(); !now.Before(date) && now.Before(date.Add(time.Second+took)) {
			return // it says less than is known
		}
	}
	r := reading{at: received}
	if least, most := date.Sub(received), date.Add(time.Second).Sub(sent); least > 0 || most < 0 {
		r.slowBy = least // rather early than late: nobody's time is over too soon
	}
	c.last.Store(&r)
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
