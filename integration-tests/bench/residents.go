package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// podPort is where the pods of delayed zones answer.
const podPort = "8080"

// podCall is a request that a pod got.
type podCall struct {
	at          time.Time // when it was answered
	method, pod string
}

// residents answer for all pods, each at its own address: a POST with the time
// from which the pod is ready to leave, a DELETE with OK.
type residents struct {
	mu    sync.Mutex
	calls []podCall
	ready map[string]time.Time // by pod, since the first POST after a DELETE
}

// settleIn lets pods answer until the returned function is called.
func settleIn(ctx context.Context) (*residents, func() error, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+podPort)
	if err != nil {
		return nil, nil, fmt.Errorf("answer for pods: %w", err)
	}
	r := &residents{ready: map[string]time.Time{}}
	server := &http.Server{Handler: r, ReadHeaderTimeout: patience}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return r, func() error {
		err := errors.Join(server.Close(), <-ended)
		if errors.Is(err, http.ErrServerClosed) {
			return nil
		}
		return err
	}, nil
}

// ServeHTTP answers for the pod that the Host header names.
func (r *residents) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	pod, _, _ := strings.Cut(q.Host, ".")
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, podCall{now, q.Method, pod})
	if q.Method != http.MethodPost {
		delete(r.ready, pod)
		return
	}
	if _, known := r.ready[pod]; !known {
		r.ready[pod] = now
	}
	fmt.Fprintf(w, `{"timestamp":%d}`, r.ready[pod].Unix())
}

// since returns the calls after so many earlier ones.
func (r *residents) since(earlier int) []podCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls[earlier:])
}

// transition is a change of what becomes of some pods, of which each has to hear
// once.
type transition struct {
	what   string
	method string
	due    []string // the pods
	began  time.Time

	calls  []podCall // of the whole group, until the next transition
	leases int       // writes of the group's Lease meanwhile
}

// perPod is how many calls a pod's change cost.
func (t transition) perPod() float64 { return float64(len(t.calls)) / float64(max(len(t.due), 1)) }

// exact reports whether every pod heard of it once and nobody anything else.
func (t transition) exact() bool {
	heard := map[string]int{}
	for _, c := range t.calls {
		if c.method != t.method {
			return false
		}
		heard[c.pod]++
	}
	for _, pod := range t.due {
		if heard[pod] != 1 {
			return false
		}
	}
	return len(heard) == len(t.due)
}

// told is how long it took until the last pod had heard of it.
func (t transition) told() time.Duration {
	if len(t.calls) == 0 {
		return 0
	}
	return slices.MaxFunc(t.calls, func(a, b podCall) int { return a.at.Compare(b.at) }).at.Sub(t.began)
}
