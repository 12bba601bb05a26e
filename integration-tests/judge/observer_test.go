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

// unreliableServer is an API server whose pod watches end as a test determines: each watch sends some
// events, and may fail to start.
type unreliableServer struct {
	mu        sync.Mutex
	watches   []func(*watch.RaceFreeFakeWatcher) error
	versions  []string // the requested resourceVersions
	exhausted chan struct{}
}

func (b *unreliableServer) client() *fake.Clientset {
	client := fake.NewClientset()
	client.PrependWatchReactor("pods", func(action clienttesting.Action) (bool, watch.Interface, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		watchAction, _ := action.(clienttesting.WatchActionImpl)
		b.versions = append(b.versions, watchAction.ListOptions.ResourceVersion)
		events := watch.NewRaceFreeFake()
		if len(b.watches) == 0 {
			close(b.exhausted)
			b.exhausted = make(chan struct{})
			return true, events, nil
		}
		next := b.watches[0]
		b.watches = b.watches[1:]
		return true, events, next(events)
	})
	return client
}

func sendPods(w *watch.RaceFreeFakeWatcher, versions ...string) {
	for _, version := range versions {
		w.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "a-0", ResourceVersion: version}})
	}
}

func TestObserverResumesWatch(t *testing.T) {
	t.Parallel()
	unavailable := apierrors.NewServiceUnavailable("away").Status()
	b := &unreliableServer{exhausted: make(chan struct{}), watches: []func(*watch.RaceFreeFakeWatcher) error{
		func(w *watch.RaceFreeFakeWatcher) error { sendPods(w, "3", "5"); w.Stop(); return nil },
		func(*watch.RaceFreeFakeWatcher) error { return errors.New("connection refused") },
		func(w *watch.RaceFreeFakeWatcher) error { w.Stop(); return nil },
		func(w *watch.RaceFreeFakeWatcher) error {
			sendPods(w, "7")
			w.Error(&unavailable)
			return nil
		},
	}}
	over := b.exhausted
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	observer, err := Watch(ctx, b.client(), nil, "n")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Fatal("the watch was not resumed")
	}
	events, err := observer.Events()
	if err != nil || len(events) != 3 {
		t.Errorf("%d events, want 3: %v", len(events), err)
	}
	if want := []string{"", "5", "5", "5", "7"}; !slices.Equal(b.versions, want) {
		t.Errorf("watches started at %q, want %q", b.versions, want)
	}
}

func TestObserverFailsWhenWatchExpires(t *testing.T) {
	t.Parallel()
	expired := apierrors.NewResourceExpired("too old").Status()
	for name, end := range map[string]func(*watch.RaceFreeFakeWatcher) error{
		"refused": func(*watch.RaceFreeFakeWatcher) error { return apierrors.NewResourceExpired("too old") },
		"event": func(w *watch.RaceFreeFakeWatcher) error {
			w.Error(&expired)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := &unreliableServer{exhausted: make(chan struct{}), watches: []func(*watch.RaceFreeFakeWatcher) error{
				func(w *watch.RaceFreeFakeWatcher) error { sendPods(w, "3"); w.Stop(); return nil }, end,
			}}
			observer, err := Watch(t.Context(), b.client(), nil, "n")
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if _, err := observer.Events(); err != nil {
					return
				}
				if time.Now().After(deadline) {
					t.Fatal("got no error after a lost watch")
				}
			}
		})
	}
}
