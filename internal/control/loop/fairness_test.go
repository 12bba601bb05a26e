package loop_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
)

// quietOne is the only group of a namespace that others must not delay.
var quietOne = key{"quiet", "only"}

// waits measures how long a key waits for a worker.
type waits struct {
	mu    sync.Mutex
	asked time.Time
	all   []time.Duration
	done  chan struct{}
}

func newWaits() *waits { return &waits{done: make(chan struct{}, 1)} }

// request adds the key and returns after its reconcile.
func (w *waits) request(l *loop.Loop[key], k key) {
	w.mu.Lock()
	w.asked = time.Now()
	w.mu.Unlock()
	l.Add(k)
	<-w.done
}

// served is called at the beginning and at the end of the key's reconcile.
func (w *waits) served() (end func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, time.Since(w.asked))
	return func() { w.done <- struct{}{} }
}

// quantile returns a quantile by the nearest rank.
func (w *waits) quantile(q float64) time.Duration {
	slices.Sort(w.all)
	return w.all[min(int(q*float64(len(w.all))), len(w.all)-1)]
}

func TestBusyNamespaceDoesNotDelayAQuietOne(t *testing.T) {
	for sentence, busy := range map[string][]string{
		"one namespace with a thousand keys": {"busy"},
		"three of them":                      {"busy-a", "busy-b", "busy-c"},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const workers = 8
				random := rand.New(rand.NewPCG(1, 2))
				var mu sync.Mutex
				working := map[string]int{}
				most := 0
				w := newWaits()
				b := run(t, func(_ context.Context, k key) (loop.Outcome, error) {
					if k == quietOne {
						end := w.served()
						time.Sleep(time.Millisecond)
						end()
						return loop.Done(), nil
					}
					mu.Lock()
					working[k.namespace]++
					most = max(most, working[k.namespace])
					took := time.Duration(1+random.IntN(50)) * time.Millisecond
					mu.Unlock()
					time.Sleep(took)
					mu.Lock()
					working[k.namespace]--
					mu.Unlock()
					return loop.Now(), nil // this keeps the namespace as busy as possible
				}, func(o *loop.Options[key]) { o.Workers = workers })
				for _, namespace := range busy {
					for n := range 1000 {
						b.Add(key{namespace, fmt.Sprint(n)})
					}
				}
				time.Sleep(100 * time.Millisecond) // each busy namespace has had a turn
				for range 300 {
					time.Sleep(7 * time.Millisecond)
					w.request(b.Loop, quietOne)
				}
				if got := w.quantile(1); got != 0 {
					t.Errorf("waited %v at most, %v as median, want not at all", got, w.quantile(0.5))
				}
				mu.Lock()
				defer mu.Unlock()
				if len(busy) == 1 && most != workers-1 {
					t.Errorf("the busy namespace had %d workers at most, want all but one", most)
				}
			})
		})
	}
}

func TestAllWorkersWorkWithoutNamespaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, func(context.Context, key) (loop.Outcome, error) {
			time.Sleep(time.Second)
			return loop.Done(), nil
		}, func(o *loop.Options[key]) { o.Workers, o.Namespace = 4, nil })
		for n := range 10 {
			b.Add(key{"n", fmt.Sprint(n)})
		}
		if got := len(b.seen()); got != 4 {
			t.Errorf("%d keys are worked on, want 4", got)
		}
	})
}

// BenchmarkWaitOfAQuietNamespace measures, in real time, how long the key of a quiet namespace
// waits for a worker: alone, and next to a namespace whose thousand keys are always in the queue.
// A reconcile that acts takes milliseconds, nearly all of them for requests to the API server.
func BenchmarkWaitOfAQuietNamespace(b *testing.B) {
	for _, busy := range []int{0, 1000} {
		b.Run(fmt.Sprint("beside ", busy, " busy keys"), func(b *testing.B) {
			w := newWaits()
			l := loop.New(loop.Options[key]{
				Name: "group", Workers: 8, Log: quiet(), Namespace: func(k key) string { return k.namespace },
				Reconcile: func(_ context.Context, k key) (loop.Outcome, error) {
					if k == quietOne {
						defer w.served()()
						time.Sleep(time.Millisecond)
						return loop.Done(), nil
					}
					time.Sleep(5 * time.Millisecond)
					return loop.Now(), nil
				},
			})
			ctx, stop := context.WithCancel(b.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); l.Run(ctx) }()
			for n := range busy {
				l.Add(key{"busy", fmt.Sprint(n)})
			}
			for b.Loop() {
				time.Sleep(3 * time.Millisecond) // its next event
				w.request(l, quietOne)
			}
			stop()
			<-ended
			b.ReportMetric(float64(w.quantile(0.5).Microseconds()), "p50-µs")
			b.ReportMetric(float64(w.quantile(0.99).Microseconds()), "p99-µs")
		})
	}
}
