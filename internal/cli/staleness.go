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

// hearing stands between the plugin and the API server, and knows since when nothing has
// been heard of what is watched. A watch itself tries again for ever and says nothing.
type hearing struct {
	next http.RoundTripper

	mu sync.Mutex
	of map[string]heard // by path
}

type heard struct {
	last    time.Time // when anything came; zero: nothing ever did
	trouble string    // why nothing comes; empty: it does, as far as is known
}

// followed are the resources from which pictures of groups are made.
var followed = []string{"pods", "statefulsets", "leases", "namespaces", budgets.Resource.Resource}

// RoundTrip implements http.RoundTripper.
func (h *hearing) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := h.next.RoundTrip(r)
	if r.Method != http.MethodGet || !slices.Contains(followed, path.Base(r.URL.Path)) {
		return answer, err
	}
	switch about := r.URL.Path; {
	case err != nil && r.Context().Err() != nil: // nobody wants to hear it
	case err != nil:
		h.fails(about, err.Error())
	case saysNothing(answer.StatusCode):
		h.fails(about, http.StatusText(answer.StatusCode))
	default:
		h.hears(about)
		answer.Body = &listening{answer.Body, func() { h.hears(about) }}
	}
	return answer, err
}

func saysNothing(code int) bool {
	return code == http.StatusUnauthorized || code == http.StatusForbidden || code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
}

func (h *hearing) fails(about, trouble string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[about] = heard{h.of[about].last, trouble}
}

func (h *hearing) hears(about string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.of[about] = heard{last: time.Now()}
}

// listening is the body of an answer, of which every part is heard, and its proper end.
type listening struct {
	io.ReadCloser
	heard func()
}

// Read implements io.Reader.
func (l *listening) Read(into []byte) (int, error) {
	n, err := l.ReadCloser.Read(into)
	if n > 0 || errors.Is(err, io.EOF) {
		l.heard()
	}
	return n, err
}

// silence says of what nothing is heard any more, since when and why; "" where all is
// heard.
func (h *hearing) silence() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var names []string
	var first heard
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
	return "Nothing is known since " + screen.Clock(first.last) + " of " + strings.Join(slices.Compact(names), ", ") + ": " + first.trouble
}
