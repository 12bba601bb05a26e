package access

import (
	"context"
	"net/http"
)

// Alarm is raised by requests that the API server refuses for lack of
// permission. Several alarms that nobody has heard yet are one.
type Alarm struct{ raised chan struct{} }

// NewAlarm returns an Alarm that is not raised.
func NewAlarm() *Alarm { return &Alarm{raised: make(chan struct{}, 1)} }

// Watch returns a transport that raises the alarm for every answer 403. It
// changes neither request nor answer.
func (a *Alarm) Watch(next http.RoundTripper) http.RoundTripper { return listening{next, a} }

func (a *Alarm) raise() {
	select {
	case a.raised <- struct{}{}:
	default: // it is
	}
}

// wait returns whether the alarm was raised before ctx ended.
func (a *Alarm) wait(ctx context.Context) bool {
	select {
	case <-a.raised:
		return true
	case <-ctx.Done():
		return false
	}
}

type listening struct {
	next  http.RoundTripper
	alarm *Alarm
}

// RoundTrip implements http.RoundTripper.
func (l listening) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusForbidden {
		l.alarm.raise()
	}
	return answer, err
}

// WrappedRoundTripper lets client-go find the transport behind.
func (l listening) WrappedRoundTripper() http.RoundTripper { return l.next }
