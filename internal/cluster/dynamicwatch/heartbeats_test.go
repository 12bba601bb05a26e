package dynamicwatch_test

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/lockstep-dev/lockstep/internal/cluster/dynamicwatch"
)

// listener counts heartbeats, and reads the events that are forwarded.
type listener struct {
	t *testing.T
	*watch.FakeWatcher
	forwarded          watch.Interface
	listed, heartbeats int
	passed             int
}

func listen(t *testing.T, o metav1.ListOptions, test func(*listener)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		l := &listener{t: t, FakeWatcher: watch.NewFake()}
		l.forwarded = dynamicwatch.WithHeartbeats(l.FakeWatcher, o, func() { l.listed++ }, func() { l.heartbeats++ })
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range l.forwarded.ResultChan() {
				l.passed++
			}
		}()
		test(l)
		l.forwarded.Stop()
		<-done
	})
}

// want checks the numbers of complete lists, heartbeats and events so far.
func (l *listener) want(all, sign, passed int) {
	l.t.Helper()
	synctest.Wait()
	if l.listed != all || l.heartbeats != sign || l.passed != passed {
		l.t.Errorf("%d complete lists, %d heartbeats, %d events; want %d, %d, %d", l.listed, l.heartbeats, l.passed, all, sign, passed)
	}
}

func bookmark(annotations map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: annotations}}
}

var endOfTheBeginning = map[string]string{metav1.InitialEventsAnnotationKey: "true"}

func TestEventsAndAnOpenWatchAreHeartbeats(t *testing.T) {
	listen(t, metav1.ListOptions{}, func(l *listener) {
		l.want(0, 0, 0)
		l.Add(bookmark(nil))
		l.want(0, 1, 1)
		l.Action(watch.Bookmark, bookmark(nil))
		l.want(0, 2, 2)
		l.Error(&metav1.Status{})
		l.want(0, 2, 3)
		time.Sleep(2 * time.Second)
		l.want(0, 3, 3)
		time.Sleep(time.Minute)
		l.want(0, 3, 3)
	})
}

func TestNoHeartbeatBeforeTheInitialEventsEnd(t *testing.T) {
	initialEvents := true
	listen(t, metav1.ListOptions{SendInitialEvents: &initialEvents}, func(l *listener) {
		l.Add(bookmark(nil))
		l.Action(watch.Bookmark, bookmark(nil))
		l.Add(bookmark(endOfTheBeginning)) // a tenant's annotation
		time.Sleep(time.Minute)
		l.want(0, 0, 3)
		l.Action(watch.Bookmark, bookmark(endOfTheBeginning))
		l.want(1, 0, 4)
		l.Modify(bookmark(nil))
		l.want(1, 1, 5)
	})
}

func TestWatchEndsEvenIfTheAPIServerKeepsItOpen(t *testing.T) {
	asked := dynamicwatch.ShortWatch(metav1.ListOptions{})
	listen(t, asked, func(l *listener) {
		limit := time.Duration(*asked.TimeoutSeconds) * time.Second
		time.Sleep(limit)
		synctest.Wait()
		if l.IsStopped() {
			l.t.Error("it was ended before the API server could")
		}
		time.Sleep(limit)
		synctest.Wait()
		if !l.IsStopped() {
			l.t.Error("the watch continues")
		}
	})
}
