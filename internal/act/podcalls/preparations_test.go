package podcalls_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/act/podcalls"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// desk is a Preparations with channels for its callbacks.
type desk struct {
	*podcalls.Preparations
	t         *testing.T
	answered  chan plan.Key
	abandoned chan group.Downscale
	stop      func() // stops Run and waits for its end

	mu    sync.Mutex
	calls []string
	reply func(method, pod string) int

	replyAt func(path string) int // replaces reply, unless it is nil
}

// newDesk returns a desk whose pods answer with 200 unless reply returns another status.
func newDesk(t *testing.T, reply func(method, pod string) int) *desk {
	t.Helper()
	d := &desk{t: t, answered: make(chan plan.Key, 100), abandoned: make(chan group.Downscale, 100), reply: reply}
	httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		pod, _, _ := strings.Cut(r.Host, ".")
		switch {
		case d.replyAt != nil:
			status = d.replyAt(r.URL.Path)
		case d.reply != nil:
			status = d.reply(r.Method, pod)
		}
		d.mu.Lock()
		d.calls = append(d.calls, r.Method+" "+pod)
		d.mu.Unlock()
		w.WriteHeader(status)
	}, 80)
	d.Preparations = podcalls.NewPreparations(podcalls.Zones{Caller: podcalls.New(podcalls.Options{})}, podcalls.PreparationOptions{
		Answered:  func(key plan.Key) { d.answered <- key },
		Abandoned: func(_ context.Context, _ plan.Key, a group.Downscale) { d.abandoned <- a },
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); d.Run(ctx) }()
	d.stop = func() { cancel(); <-ended }
	t.Cleanup(d.stop)
	for d.prepares(); len(d.lastCall().UIDs) == 0; d.prepares() { // until Run permits calls
		time.Sleep(time.Millisecond)
	}
	d.ends()
	d.Forget(store)
	d.calls = nil
	return d
}

var leaving = group.Downscale{
	Zone: "zone-a", UID: "uid of zone-a", Version: 10, From: 3, To: 1, Stage: group.Preparing, Ours: true,
	Call: group.Call{Port: 80, Path: "/prepare", Service: "ingester"},
}

func zoneToCall() group.Zone {
	z := delayed("zone-a", 0, 3)
	z.Call = leaving.Call
	return z
}

func (d *desk) prepares() { d.preparesFor(leaving) }

func (d *desk) preparesFor(downscale group.Downscale) {
	z := zoneToCall()
	d.Ask(store, z, downscale, z.Pods[1:], 10*time.Second)
}

func (d *desk) lastCall() group.PodCall {
	s := group.Snapshot{Key: store, Now: time.Now(), Zones: []group.Zone{zoneToCall()}}
	d.Fill(&s)
	return s.Called
}

// ends waits until no call is in progress, and returns the result.
func (d *desk) ends() group.PodCall {
	d.t.Helper()
	select {
	case <-d.answered:
	case <-time.After(10 * time.Second):
		d.t.Fatalf("no listener was notified that pods have answered: %+v, calls %v", d.lastCall(), d.called())
	}
	return d.lastCall()
}

func (d *desk) called() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	calls := slices.Clone(d.calls)
	slices.Sort(calls)
	return calls
}

func undoing() group.Downscale { return leaving.TakenBack(time.Now()) }

func TestTheResultOfACallIsKnownWhenAllPodsHaveAnswered(t *testing.T) {
	d := newDesk(t, nil)
	d.Recorded(store, leaving, group.Downscale{})
	d.prepares()
	got := d.ends()
	if want := (group.PodCall{Downscale: leaving, UIDs: []string{"uid of zone-a-1", "uid of zone-a-2"}, Delivered: true}); !cmp.Equal(got, want) {
		t.Errorf("-want +got:\n%s", cmp.Diff(want, got))
	}
	d.preparesFor(undoing())
	if got := d.ends(); got.Failed != "" || got.Underway || got.Downscale.Stage != group.Undoing {
		t.Errorf("undone: %+v", got)
	}
	if diff := cmp.Diff([]string{"DELETE zone-a-1", "DELETE zone-a-2", "POST zone-a-1", "POST zone-a-2"}, d.called()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestAPodThatDeclinesIsNamedAndItsCallWasDelivered(t *testing.T) {
	d := newDesk(t, func(_, pod string) int {
		if pod == "zone-a-2" {
			return http.StatusServiceUnavailable
		}
		return http.StatusOK
	})
	d.Recorded(store, leaving, group.Downscale{})
	d.prepares()
	if got := d.ends(); !got.Delivered || !strings.Contains(got.Failed, "zone-a-2") || got.Again.IsZero() {
		t.Errorf("got %+v, want that zone-a-2 declined", got)
	}
}

// A downscale must be undone only if a pod may have received a call about it.
func TestOnlyTheProcessThatRecordedADownscaleKnowsThatNoPodWasCalled(t *testing.T) {
	unreachable := leaving
	unreachable.Call.Port = 81
	another := unreachable
	another.Version++
	undone := another.TakenBack(time.Now())
	others := undone
	others.Ours = false
	for sentence, tc := range map[string]struct {
		before    func(*desk)
		delivered bool
	}{
		"recorded here, and no pod listens": {func(d *desk) { d.Recorded(store, unreachable, group.Downscale{}) }, false},
		"recorded by another process":       {func(*desk) {}, true},
		"recorded here, after pods were called": {func(d *desk) {
			d.Recorded(store, unreachable, group.Downscale{})
			d.preparesFor(withPort(unreachable, 80))
			d.ends()
		}, true},
		"recorded again after a pod was called": {func(d *desk) {
			d.Recorded(store, leaving, group.Downscale{})
			d.prepares()
			d.ends()
			d.Recorded(store, unreachable, leaving)
		}, true},
		"in place of a record of another process":                       {func(d *desk) { d.Recorded(store, unreachable, undone) }, true},
		"in place of a record of this process, before pods were called": {func(d *desk) { d.Recorded(store, another, group.Downscale{}); d.Recorded(store, unreachable, undone) }, false},
		"in place of another process's record of the same call, after this process's record ended": {func(d *desk) {
			d.Recorded(store, another, group.Downscale{})
			d.Recorded(store, unreachable, others)
		}, true},
		"after a record of another process that is in effect":   {func(d *desk) { d.Recorded(store, unreachable, another) }, false},
		"the record of this process is not the one in the call": {func(d *desk) { d.Recorded(store, another, group.Downscale{}) }, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := newDesk(t, nil)
			tc.before(d)
			d.preparesFor(unreachable)
			if got := d.ends(); got.Delivered != tc.delivered || got.Failed == "" {
				t.Errorf("got %+v, want delivered %t", got, tc.delivered)
			}
		})
	}
}

func withPort(d group.Downscale, port int) group.Downscale {
	d.Call.Port = port
	return d
}

func TestAPreparationIsUndoneByTheCallAsItWasCorrected(t *testing.T) {
	d := newDesk(t, nil)
	d.preparesFor(withPort(undoing(), 81))
	if got := d.ends(); got.Failed != "" {
		t.Errorf("got %+v, want that all pods were notified", got)
	}
	if diff := cmp.Diff([]string{"DELETE zone-a-1", "DELETE zone-a-2"}, d.called()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestAPodThatDeclinedIsNotNotifiedByACallWithoutContent(t *testing.T) {
	for sentence, present := range map[string]group.Call{
		"no call any more":                   {},
		"an invalid call":                    {Port: 80, Path: "/prepare", Service: "ingester", Invalid: "port is missing"},
		"no service any more":                {Port: 80, Path: "/corrected"},
		"a call that the pod does not serve": {Port: 80, Path: "/corrected", Service: "ingester"},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := newDesk(t, nil)
			d.replyAt = func(path string) int {
				if path == "/prepare" {
					return http.StatusServiceUnavailable
				}
				return http.StatusNotFound
			}
			z := zoneToCall()
			z.Call = present
			d.Ask(store, z, undoing(), z.Pods[1:], 10*time.Second)
			if got := d.ends(); got.Failed == "" {
				t.Errorf("got %+v, want that the pods were not notified", got)
			}
		})
	}
}

func TestCallsToPodsThatDoNotAnswerAreRepeatedWithBackOff(t *testing.T) {
	d := newDesk(t, func(string, string) int { return http.StatusServiceUnavailable })
	var rests []time.Duration
	about := undoing()
	for range 6 {
		d.preparesFor(about)
		rests = append(rests, time.Until(d.ends().Again).Round(time.Second))
	}
	about.Version++ // another downscale
	d.preparesFor(about)
	rests = append(rests, time.Until(d.ends().Again).Round(time.Second))
	want := []time.Duration{5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute, 5 * time.Second}
	if diff := cmp.Diff(want, rests); diff != "" {
		t.Errorf("rests (-want +got):\n%s", diff)
	}
}

func TestPodsThatAcceptedTheFormerCallDoNotReceiveTheCorrectedOne(t *testing.T) {
	d := newDesk(t, func(_, pod string) int {
		if pod == "zone-a-1" {
			return http.StatusOK
		}
		return http.StatusServiceUnavailable
	})
	z := zoneToCall()
	z.Call.Path = "/corrected"
	d.Ask(store, z, undoing(), z.Pods[1:], 10*time.Second)
	d.ends()
	if diff := cmp.Diff([]string{"DELETE zone-a-1", "DELETE zone-a-2", "DELETE zone-a-2"}, d.called()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// The caches may no longer show a StatefulSet under the key of its group although a live read does.
func TestAViewWithoutTheZoneForgetsNoAnswer(t *testing.T) {
	d := newDesk(t, nil)
	d.preparesFor(undoing())
	d.ends()
	s := group.Snapshot{Key: store, Now: time.Now()}
	d.Fill(&s)
	if got := d.lastCall(); len(got.UIDs) == 0 {
		t.Errorf("got %+v, want that all have answered", got)
	}
}

// If the calls overlapped, the notification that a pod stays could arrive before the call to prepare.
func TestACallWaitsForEarlierCalls(t *testing.T) {
	var posts sync.WaitGroup
	posts.Add(2)
	goOn := make(chan struct{})
	var early bool
	d := newDesk(t, nil)
	d.reply = func(method, _ string) int {
		switch method {
		case http.MethodPost:
			posts.Done()
			<-goOn
		default:
			select {
			case <-goOn:
			default:
				early = true
			}
		}
		return http.StatusOK
	}
	d.prepares()
	posts.Wait()
	d.preparesFor(undoing())
	if got := d.lastCall(); !got.Underway || got.Downscale.Stage != group.Undoing {
		t.Errorf("got %+v, want that it is being undone", got)
	}
	time.AfterFunc(50*time.Millisecond, func() { close(goOn) })
	if got := d.ends(); got.Failed != "" || early {
		t.Errorf("got %+v; notified to stay during the call to prepare: %t", got, early)
	}
}

func TestPreparationsInProgressAreReportedAtTheEndOfTheProcess(t *testing.T) {
	var called sync.WaitGroup
	called.Add(2)
	goOn := make(chan struct{})
	d := newDesk(t, nil)
	d.reply = func(_, _ string) int {
		called.Done()
		<-goOn
		return http.StatusOK
	}
	d.prepares()
	called.Wait()
	d.stop()
	close(goOn)
	select {
	case got := <-d.abandoned:
		if got != leaving {
			t.Errorf("got %s", got)
		}
	default:
		t.Error("the abandoned preparation was not reported")
	}
	d.prepares()
	if got := d.lastCall(); len(got.UIDs) > 0 {
		t.Errorf("after the end of the work: %+v", got)
	}
}

func TestCallsToDeletedPodsAreForgotten(t *testing.T) {
	d := newDesk(t, nil)
	d.prepares()
	d.ends()
	s := group.Snapshot{Key: store, Now: time.Now(), Zones: []group.Zone{zoneToCall()}}
	s.Zones[0].Pods = s.Zones[0].Pods[:1]
	d.Fill(&s)
	if got := d.lastCall(); len(s.Called.UIDs) > 0 || len(got.UIDs) > 0 {
		t.Errorf("got %+v, later %+v", s.Called, got)
	}
}

func TestPodsOfAForgottenNamespaceAreNotCalled(t *testing.T) {
	first := make(chan struct{}, 2)
	goOn := make(chan struct{})
	d := newDesk(t, nil)
	d.reply = func(_, _ string) int {
		first <- struct{}{}
		<-goOn
		return http.StatusOK
	}
	d.prepares()
	<-first
	d.preparesFor(undoing()) // waits for the previous calls
	d.ForgetNamespace(store.Namespace)
	close(goOn)
	d.stop()
	if got := d.lastCall(); len(got.UIDs) > 0 {
		t.Errorf("got %+v, want no known call", got)
	}
	if calls := d.called(); slices.ContainsFunc(calls, func(c string) bool { return strings.HasPrefix(c, http.MethodDelete) }) {
		t.Errorf("calls: %v", calls)
	}
}
