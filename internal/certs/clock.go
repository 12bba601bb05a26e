package certs

import (
	"net/http"
	"sync/atomic"
	"time"
)

// Clock tells the time of the API server, which is what certificates are
// verified by. It goes by the Date of its answers, and by the clock of this
// machine as long as that agrees with them or nothing else is known.
type Clock struct{ offset atomic.Int64 }

// NewClock returns a Clock that goes by this machine.
func NewClock() *Clock { return new(Clock) }

// Now returns the time.
func (c *Clock) Now() time.Time { return time.Now().Add(c.Offset()) }

// Offset is by how much this machine's clock is slow; less than a second is
// never noticed.
func (c *Clock) Offset() time.Duration { return time.Duration(c.offset.Load()) }

// Watch returns a transport that sets the clock. It changes neither request nor
// answer.
func (c *Clock) Watch(next http.RoundTripper) http.RoundTripper { return timed{next, c} }

// learn is told that an answer was dated between two readings of this machine's
// clock. A date has no fractions, so it stands for a whole second.
func (c *Clock) learn(sent, received, date time.Time) {
	least, most := date.Sub(received), date.Add(time.Second).Sub(sent)
	c.offset.Store(int64(min(max(0, least), most)))
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
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		t.clock.learn(sent, time.Now(), date)
	}
	return answer, nil
}

// WrappedRoundTripper lets client-go find the transport behind.
func (t timed) WrappedRoundTripper() http.RoundTripper { return t.next }
