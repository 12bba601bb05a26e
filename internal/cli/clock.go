package cli

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// clock returns the time of the API server, from the Date header of its responses. A user's own clock
// may be fast, and would then end the pauses and holds of others too early.
type clock struct {
	next http.RoundTripper

	mu       sync.Mutex
	date     time.Time // the last Date, in whole seconds, rounded down; zero: none
	received time.Time // the local time of that response
}

// RoundTrip implements http.RoundTripper.
func (c *clock) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	if date, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.date, c.received = date, time.Now()
	}
	return answer, nil
}

// now returns the least possible time of the API server.
func (c *clock) now() (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.date.IsZero() {
		return time.Time{}, errors.New("read the time of the API server: its responses have no Date header; accepted: responses with one")
	}
	return c.date.Add(time.Since(c.received)), nil
}
