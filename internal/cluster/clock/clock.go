// Package clock returns the time of the API server. The API server and the controllers next to
// it set the times in objects. So every time that lockstep compares with them, or writes into
// objects, comes from this clock and not from the clock of the machine that lockstep runs on.
package clock

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Clock uses the Date header of the API server's responses. While the machine's clock agrees
// with them, or if there was no response, it uses the machine's clock. Between two responses it
// advances steadily, even if the machine's clock is changed. A nil Clock uses the machine's
// clock.
type Clock struct{ last atomic.Pointer[response] }

const (
	// tolerance is the difference up to which the machine's clock agrees. The clocks of two
	// synchronized machines differ by some milliseconds.
	tolerance = 100 * time.Millisecond
	// trustAfter is how long the machine's clock must agree with all responses after it
	// disagreed. A clock that runs too fast or too slow agrees for a moment, too.
	trustAfter = time.Minute
	// maxDrift is how long, without a response, a monotonic clock may run at twice its speed
	// if it is not trusted. If it does so for longer, Clock is ahead.
	maxDrift = 4 * time.Second
)

// response is the result of a response. at includes a reading of the monotonic clock.
type response struct {
	at        time.Time
	least     time.Time     // the least possible time of the API server: a Date has no fractions
	delay     time.Duration // the least possible delay of the machine's clock
	disagreed time.Time     // when the machine's clock last disagreed; zero: never
}

// New returns a Clock that has seen no response.
func New() *Clock { return new(Clock) }

// Now returns the time. If the machine's clock is not trusted, Now is rather too early than too
// late, so that no deadline that others have written passes too soon.
func (c *Clock) Now() time.Time {
	local := time.Now()
	if c == nil {
		return local.Round(0)
	}
	r := c.last.Load()
	if r == nil {
		return local.Round(0)
	}
	return r.now(local).Round(0) // without a reading of the monotonic clock
}

// now returns the time at a later time of the machine's clock.
func (r *response) now(local time.Time) time.Time {
	if r.disagreed.IsZero() || r.at.Sub(r.disagreed) >= trustAfter {
		return r.at.Add(local.Sub(r.at))
	}
	return r.atLeast(local)
}

// atLeast returns the least possible time if the monotonic clock may be too fast.
func (r *response) atLeast(local time.Time) time.Time {
	passed := local.Sub(r.at)
	return r.least.Add(passed - min(passed, maxDrift)/2)
}

// Offset returns by how much the machine's clock was slow at the last response. A difference of
// less than a second is not detected.
func (c *Clock) Offset() time.Duration {
	if r := c.last.Load(); r != nil {
		return r.delay
	}
	return 0
}

// Watch returns a transport that sets the clock. It changes neither requests nor responses.
func (c *Clock) Watch(next http.RoundTripper) http.RoundTripper { return timed{next, c} }

// observe handles a response whose Date lies between two readings of the machine's clock. A Date
// has no fractions, so it stands for a whole second.
func (c *Clock) observe(sent, received, date time.Time) {
	next := &response{at: received, least: date}
	possible := span{least: date.Sub(received), most: date.Add(time.Second).Sub(sent)}
	if !possible.has(0, tolerance) {
		next.delay = possible.least
	}
	if last := c.last.Load(); last != nil {
		if received.Sub(sent) > time.Second && possible.has(last.delay, 0) {
			next.delay = last.delay // a slow response gives a worse bound
		}
		if known := last.atLeast(received); known.After(date) && possible.has(known.Sub(received), 0) {
			next.least = known
		}
		next.disagreed = last.disagreed
	}
	if next.delay != 0 {
		next.disagreed = received
	}
	c.last.Store(next)
}

// span contains the bounds of the machine clock's delay, from a response.
type span struct{ least, most time.Duration }

func (s span) has(delay, give time.Duration) bool {
	return s.least-give <= delay && delay <= s.most+give
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
		return answer, nil // it may come from a proxy in front of the API server
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		t.clock.observe(sent, sent.Add(time.Since(sent)), date) // the machine's clock may have been changed in between
	}
	return answer, nil
}

// WrappedRoundTripper returns the inner transport, for client-go.
func (t timed) WrappedRoundTripper() http.RoundTripper { return t.next }
