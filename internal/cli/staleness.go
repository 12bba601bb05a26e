package cli

import (
	"errors"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/cluster/budgets"
)

// staleness is a transport that records since when the API server has sent no data about watched
// resources. A watch itself retries for ever without reporting it.
type staleness struct {
	next http.RoundTripper

	mu sync.Mutex
	of map[string]heartbeat // by path
}

type heartbeat struct {
	last    time.Time // of the last data; zero: none
	trouble string    // why no data arrives; empty: it arrives, as far as is known
}

// watchedResources are the resources that snapshots of groups are made from.
var watchedResources = []string{"pods", "statefulsets", "leases", "namespaces", budgets.Resource.Resource}

// RoundTrip implements http.RoundTripper.
func (h *staleness) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := h.next.RoundTrip(r)
	if r.Method != http.MethodGet || !slices.Contains(watchedResources, path.Base(r.URL.Path)) {
		return answer, err
	}
	switch about := r.URL.Path; {
	case err != nil && r.Context().Err() != nil: // the request was cancelled
	case err != nil:
		h.failed(about, err.Error())
	case isFailure(answer.StatusCode):
		h.failed(about, http.StatusText(answer.StatusCode))
	default:
		h.received(about)
		answer.Body = &monitoredBody{answer.Body, func() { h.received(about) }}
	}
	return answer, err
}

func isFailure(code int) bool {
	return code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
}

func (h *staleness) failed(about, trouble string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[about] = heartbeat{h.of[about].last, trouble}
}

func (h *staleness) received(about string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[about] = heartbeat{last: time.Now()}
}

// monitoredBody is the body of a response. It calls heartbeat for every read, and at the regular end.
type monitoredBody struct {
	io.ReadCloser
	heartbeat func()
}

// Read implements io.Reader.
func (l *monitoredBody) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	if n > 0 || errors.Is(err, io.EOF) {
		l.heartbeat()
	}
	return n, err
}

// report returns which resources have sent no data, since when and why. It returns "" if all
// resources send data.
func (h *staleness) report() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	var first heartbeat
	for about, is := range h.of {
		if is.trouble == "" || is.last.IsZero() {
			continue
		}
		names = append(names, path.Base(about))
		if first.trouble == "" || is.last.Before(first.last) || (is.last.Equal(first.last) && is.trouble < first.trouble) {
			first = is
		}
	}
	if len(names) == 0 {
		return ""
	}
	slices.Sort(names)
	return "No data since " + screen.Clock(first.last) + " about " + strings.Join(slices.Compact(names), ", ") + ": " + first.trouble
}
