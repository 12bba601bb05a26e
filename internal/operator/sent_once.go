package operator

import (
	"errors"
	"io"
	"net/http"
)

// sendWritesOnce returns a transport for clients of client-go that do not repeat writes. Seconds after a write was
// refused it may no longer be wanted (ADR 33). Reads are repeated.
//
// By default client-go repeats a request up to ten times if the answer has the header Retry-After, as answers of an API
// server that cannot keep up and of webhooks have. net/http repeats a request whose connection or HTTP/2 stream the
// server refused: at once, and then for up to half a minute, each time with a new body.
func sendWritesOnce(next http.RoundTripper) http.RoundTripper { return writesOnce{next} }

type writesOnce struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w writesOnce) RoundTrip(q *http.Request) (*http.Response, error) {
	if q.Method == http.MethodGet {
		return w.next.RoundTrip(q)
	}
	r, err := w.next.RoundTrip(withOneMoreBody(q))
	if err == nil {
		r.Header.Del("Retry-After")
	}
	return r, err
}

var errSentTwice = errors.New("the write is not sent a third time")

// withOneMoreBody returns a request that net/http can repeat at once, and not again.
func withOneMoreBody(q *http.Request) *http.Request {
	if q.GetBody == nil {
		return q
	}
	once, repeated := *q, false
	once.GetBody = func() (io.ReadCloser, error) {
		if repeated {
			return nil, errSentTwice
		}
		repeated = true
		return q.GetBody()
	}
	return &once
}

// WrappedRoundTripper returns the transport that sends the requests, for client-go.
func (w writesOnce) WrappedRoundTripper() http.RoundTripper { return w.next }
