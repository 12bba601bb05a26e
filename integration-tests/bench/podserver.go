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

// podPort is the port of the pods of delayed zones.
const podPort = "8080"

// podCall is a request to a pod.
type podCall struct {
	at          time.Time // when it was answered
	method, pod string
}

// podServer answers for all pods, each at its own address. It answers POST with the time since which
// the pod is ready to be removed, and DELETE with OK.
type podServer struct {
	mu    sync.Mutex
	calls []podCall
	ready map[string]time.Time // by pod, since the first POST after a DELETE
}

// startPodServer answers for pods until the returned function is called.
func startPodServer(ctx context.Context) (*podServer, func() error, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+podPort)
	if err != nil {
		return nil, nil, fmt.Errorf("answer for pods: %w", err)
	}
	r := &podServer{ready: map[string]time.Time{}}
	server := &http.Server{Handler: r, ReadHeaderTimeout: stallTimeout}
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

// ServeHTTP answers for the pod in the Host header.
func (r *podServer) ServeHTTP(w http.ResponseWriter, q *http.Request) {
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

// since returns the calls after this number of earlier ones.
func (r *podServer) since(earlier int) []podCall {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls[earlier:])
}

// transition is a change of the delayed downscale that every affected pod must receive once.
type transition struct {
	what   string
	method string
	pods   []string // the affected pods
	began  time.Time

	calls  []podCall // of all pods of the group, until the next transition
	leases int       // writes of the group's Lease during the transition
}

// perPod returns the mean number of calls for each affected pod.
func (t transition) perPod() float64 { return float64(len(t.calls)) / float64(max(len(t.pods), 1)) }

// isExact reports whether every affected pod was called once, and no other pod.
func (t transition) isExact() bool {
	calls := map[string]int{}
	for _, c := range t.calls {
		if c.method != t.method {
			return false
		}
		calls[c.pod]++
	}
	for _, pod := range t.pods {
		if calls[pod] != 1 {
			return false
		}
	}
	return len(calls) == len(t.pods)
}

// lastCall returns the time until the last pod was called.
func (t transition) lastCall() time.Duration {
	if len(t.calls) == 0 {
		return 0
	}
	return slices.MaxFunc(t.calls, func(a, b podCall) int { return a.at.Compare(b.at) }).at.Sub(t.began)
}
