package access

import (
	"context"
	"net/http"
)

// Alarm is raised when the API server refuses a request for lack of a permission. Alarms that
// are raised before the next wait count as one.
type Alarm struct{ raised chan struct{} }

// NewAlarm returns an Alarm that is not raised.
func NewAlarm() *Alarm { return &Alarm{raised: make(chan struct{}, 1)} }

// Watch returns a transport that raises the alarm for every response 403. It changes neither
// requests nor responses.
func (a *Alarm) Watch(next http.RoundTripper) http.RoundTripper { return alarmTransport{next, a} }

func (a *Alarm) raise() {
	select {
	case a.raised <- struct{}{}:
	default: // the alarm is raised already
	}
}

// wait returns true when the alarm is raised, and false if ctx ends first.
func (a *Alarm) wait(ctx context.Context) bool {
	select {
	case <-a.raised:
		return true
	case <-ctx.Done():
		return false
	}
}

type alarmTransport struct {
	next  http.RoundTripper
	alarm *Alarm
}

// RoundTrip implements http.RoundTripper.
func (l alarmTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.next.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusForbidden {
		l.alarm.raise()
	}
	return answer, err
}

// WrappedRoundTripper returns the inner transport, for client-go.
func (l alarmTransport) WrappedRoundTripper() http.RoundTripper { return l.next }
