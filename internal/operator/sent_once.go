package operator

import "net/http"

// sendWritesOnce returns a transport for clients of client-go that do not repeat writes. By default they repeat a
// request up to ten times if the answer has the header Retry-After, as answers of an API server that cannot keep up
// and of webhooks have. Seconds later the write may no longer be wanted (ADR 33). Reads are repeated.
func sendWritesOnce(next http.RoundTripper) http.RoundTripper { return writesOnce{next} }

type writesOnce struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w writesOnce) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := w.next.RoundTrip(q)
	if err == nil && q.Method != http.MethodGet {
		r.Header.Del("Retry-After")
	}
	return r, err
}

// WrappedRoundTripper returns the transport that sends the requests, for client-go.
func (w writesOnce) WrappedRoundTripper() http.RoundTripper { return w.next }
