package judge

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// broken is an API server whose watches of pods end as a test says: each of them in
// turn tells some events, and may refuse to begin.
type broken struct {
	mu      sync.Mutex
	watches []func(*watch.RaceFreeFakeWatcher) error
	from    []string // resourceVersions that were asked for
	over    chan struct{}
}

func (b *broken) client() *fake.Clientset {
	client := fake.NewClientset()
	client.PrependWatchReactor("pods", func(action clienttesting.Action) (bool, watch.Interface, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		asked, _ := action.(clienttesting.WatchActionImpl)
		b.from = append(b.from, asked.ListOptions.ResourceVersion)
		events := watch.NewRaceFreeFake()
		if len(b.watches) == 0 {
			close(b.over)
			b.over = make(chan struct{})
			return true, events, nil
		}
		next := b.watches[0]
		b.watches = b.watches[1:]
		return true, events, next(events)
	})
	return client
}

func tells(w *watch.RaceFreeFakeWatcher, versions ...string) {
	for _, version := range versions {
		w.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a-0", ResourceVersion: version}})
	}
}

func TestAWatchIsResumedWhereItStopped(t *testing.T) {
	t.Parallel()
	unavailable := apierrors.NewServiceUnavailable("away").Status()
	b := &broken{over: make(chan struct{}), watches: []func(*watch.RaceFreeFakeWatcher) error{
		func(w *watch.RaceFreeFakeWatcher) error { tells(w, "3", "5"); w.Stop(); return nil },
		func(*watch.RaceFreeFakeWatcher) error { return errors.New("nobody listens") },
		func(w *watch.RaceFreeFakeWatcher) error { w.Stop(); return nil },
		func(w *watch.RaceFreeFakeWatcher) error {
			tells(w, "7")
			w.Error(&unavailable)
			return nil
		},
	}}
	over := b.over
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	witness, err := Watch(ctx, b.client(), nil, "n")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Fatal("the watch is not resumed")
	}
	facts, err := witness.Facts()
	if err != nil || len(facts) != 3 {
		t.Errorf("%d facts, want 3: %v", len(facts), err)
	}
	if want := []string{"", "5", "5", "5", "7"}; !slices.Equal(b.from, want) {
		t.Errorf("watches were begun at %q, want %q", b.from, want)
	}
}

func TestAWatchThatCannotBeResumedIsNoWitness(t *testing.T) {
	t.Parallel()
	gone := apierrors.NewResourceExpired("too old").Status()
	for name, end := range map[string]func(*watch.RaceFreeFakeWatcher) error{
		"refused": func(*watch.RaceFreeFakeWatcher) error { return apierrors.NewResourceExpired("too old") },
		"told": func(w *watch.RaceFreeFakeWatcher) error {
			w.Error(&gone)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &broken{over: make(chan struct{}), watches: []func(*watch.RaceFreeFakeWatcher) error{
				func(w *watch.RaceFreeFakeWatcher) error { tells(w, "3"); w.Stop(); return nil }, end,
			}}
			witness, err := Watch(t.Context(), b.client(), nil, "n")
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if _, err := witness.Facts(); err != nil {
					return
				}
				if time.Now().After(deadline) {
					t.Fatal("it goes on as if nothing had been missed")
				}
			}
		})
	}
}
