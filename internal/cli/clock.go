package cli

import (
	"errors"
	"net/http"
	"sync"
	"time"
)

// clock is that of the API server, as its answers tell it: people's own clocks differ,
// and whoever's is fast would see others' time over too soon.
type clock struct {
	next http.RoundTripper

	mu    sync.Mutex
	told  time.Time // by the last answer, in whole seconds, rounded down; zero: by none
	heard time.Time // when that came
}

// RoundTrip implements http.RoundTripper.
func (c *clock) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := c.next.RoundTrip(r)
	if err != nil {
		return answer, err
	}
	if told, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.told, c.heard = told, time.Now()
	}
	return answer, nil
}

// now returns what the API server's clock shows at least.
func (c *clock) now() (time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told.IsZero() {
		return time.Time{}, errors.New("no answer of the API server says what time it is, so nobody knows when anything is over; accepted are answers with Date")
	}
	return c.told.Add(time.Since(c.heard)), nil
}
