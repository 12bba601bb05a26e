package podcalls_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
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

var store = plan.Key{Namespace: "team", Name: "store"}

// office is a Messages with a channel for its notifications of answers.
type office struct {
	*podcalls.Messages
	answers chan plan.Key
	stop    func() // stops Run and waits for its end
}

func newOffice(t *testing.T, c *podcalls.Caller, o podcalls.MessageOptions) office {
	t.Helper()
	f := office{answers: make(chan plan.Key, 1000)}
	o.Answered = func(key plan.Key) { f.answers <- key }
	f.Messages = podcalls.NewMessages(c, o)
	f.work(t)
	return f
}

// Fill fills zones of a group whose hold is empty.
func (f office) Fill(key plan.Key, zones []group.Zone) {
	f.Messages.Fill(group.Snapshot{Key: key, Zones: zones, Now: time.Now()})
}

func (f *office) work(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); f.Run(ctx) }()
	f.stop = func() { cancel(); <-ended }
	t.Cleanup(f.stop)
}

// delayed returns a zone with a delay and pods whose addresses begin at number first.
func delayed(name string, first, pods int) group.Zone {
	z := group.Zone{Name: name, Delay: group.Delay{For: time.Hour, Call: group.Call{Port: 80, Path: "/delay?x=y", Service: "ingester"}}}
	for i := range pods {
		pod := plan.PodName(name, i)
		z.Pods = append(z.Pods, plan.Pod{Name: pod, Ordinal: i, UID: "uid of " + pod, IP: podAddress(first + i)})
	}
	return z
}

// latest waits until no call to a group is pending, and returns the notifications of its
// zone by pod.
func (f office) latest(t *testing.T, key plan.Key, zone group.Zone) map[string]group.Notification {
	t.Helper()
	for {
		zones := []group.Zone{zone}
		f.Fill(key, zones)
		all, busy := map[string]group.Notification{}, false
		for _, pod := range zone.Pods {
			if notified, known := zones[0].Notifications[pod.UID]; known {
				all[pod.Name], busy = notified, busy || notified.Underway
			}
		}
		if !busy {
			return all
		}
		select {
		case <-f.answers:
		case <-time.After(10 * time.Second):
			t.Fatalf("no listener was notified that pods have answered: %v", all)
		}
	}
}

func TestAPodAnswersSinceWhenItIsReadyAndAPodThatStaysIsNotifiedAgain(t *testing.T) {
	var mu sync.Mutex
	var called []string
	httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		called = append(called, r.Method+" "+calledAt(r)+r.RequestURI)
		_, _ = io.WriteString(w, ` {"timestamp": 1767614400, "state": "preparing"} `)
	}, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{StayEvery: time.Hour})
	zone := delayed("zone-a", 0, 3)
	began := time.Now()
	f.Notify(store, zone, group.Stay, zone.Pods[:1])
	f.Notify(store, zone, group.Leave, zone.Pods[1:])
	f.Notify(store, zone, group.Leave, zone.Pods[1:]) // calls to them are in progress
	got := f.latest(t, store, zone)

	for name, notified := range got {
		if notified.At.Before(began) || notified.At.After(time.Now()) {
			t.Errorf("%s has answered at %s", name, notified.At)
		}
		if stays := notified.Message == group.Stay; stays && !notified.Again.Equal(notified.At.Add(time.Hour)) || !stays && !notified.Again.IsZero() {
			t.Errorf("%s is notified again at %s, having answered at %s", name, notified.Again, notified.At)
		}
		notified.At, notified.Again, notified.Call = time.Time{}, time.Time{}, group.Call{}
		got[name] = notified
	}
	since := time.Unix(1767614400, 0).UTC()
	want := map[string]group.Notification{
		"zone-a-0": {Message: group.Stay}, "zone-a-1": {Message: group.Leave, Since: since}, "zone-a-2": {Message: group.Leave, Since: since},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	slices.Sort(called)
	if diff := cmp.Diff([]string{"DELETE 10.244.0.1/delay?x=y", "POST 10.244.0.2/delay?x=y", "POST 10.244.0.3/delay?x=y"}, called); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestOnlyAnIntegerOfSecondsIsATimestamp(t *testing.T) {
	var body string
	status := 200
	httpLand(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); _, _ = io.WriteString(w, body) }, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{})
	zone := delayed("zone-a", 0, 1)
	const none = "did not say since when it is ready to leave with status "
	for i, tc := range []struct {
		status    int
		body, why string
	}{
		{200, `{"timestamp":1}`, ""},
		{202, `{"timestamp":253402300799,"more":[1]}`, ""},
		{299, `{"timestamp":1` + strings.Repeat(" ", 60000) + "}", ""},
		{200, `{"timestamp":0}`, none + "200"},
		{200, `{"timestamp":-1}`, none + "200"},
		{200, `{"timestamp":253402300800}`, none + "200"},
		{200, `{"timestamp":1.5}`, none + "200"},
		{200, `{"timestamp":1e9}`, none + "200"},
		{200, `{"timestamp":"1"}`, none + "200"},
		{200, `{"timestamp":null}`, none + "200"},
		{200, `{"timestamp":99999999999999999999}`, none + "200"},
		{200, `{}`, none + "200"},
		{200, `[1]`, none + "200"},
		{200, `{"timestamp":1} x`, none + "200"},
		{200, `{"timestamp":1` + strings.Repeat(" ", 70000) + "}", none + "200"},
		{200, ``, none + "200"},
		{204, ``, none + "204"},
		{302, `{"timestamp":1}`, "declined with status 302"},
		{503, `{"timestamp":1}`, "declined with status 503"},
	} {
		status, body = tc.status, tc.body
		zone.Pods[0].UID = fmt.Sprint(i)
		f.Notify(store, zone, group.Leave, zone.Pods)
		got := f.latest(t, store, zone)["zone-a-0"]
		if got.Failed != (tc.why != "") || got.Why != tc.why || got.Failed != got.Since.IsZero() {
			t.Errorf("%d %.40s: got %+v, want %q", tc.status, tc.body, got, tc.why)
		}
	}
}

// For this message the body is read, so it can be too long, too slow or missing.
func TestMalformedTimestampsTakeLittleTimeAndAreNoAcknowledgement(t *testing.T) {
	const limit = 300 * time.Millisecond
	for name, pod := range map[string]func(context.Context, net.Conn){
		"a body without an end":  forever(ok+"\r\n", megabyte, 0),
		"a body that drips":      forever(ok+"\r\n", " ", 10*time.Millisecond),
		"a body that never ends": say(ok + "Content-Length: 100\r\n\r\n{\"timestamp\":1}"),
		"chunks without an end":  forever(ok+"Transfer-Encoding: chunked\r\n\r\n", "10000\r\n"+megabyte[:1<<16]+"\r\n", 0),
		"chunks of one byte":     forever(ok+"Transfer-Encoding: chunked\r\n\r\n", "1;"+megabyte[:1000]+"\r\nx\r\n", 0),
		"a gigabyte":             forever(ok+"Content-Length: 1073741824\r\n\r\n", megabyte, 0),
		"an upgrade":             say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n{\"timestamp\":1}"),
		"deep JSON":              say(ok + "Content-Length: 60000\r\n\r\n" + strings.Repeat("[", 60000)),
	} {
		t.Run(name, func(t *testing.T) {
			listen(t, pod, 80)
			f := newOffice(t, podcalls.New(podcalls.Options{CallLimit: limit}), podcalls.MessageOptions{})
			zone := delayed("zone-a", 0, 1)
			began := time.Now()
			f.Notify(store, zone, group.Leave, zone.Pods)
			if got := f.latest(t, store, zone)["zone-a-0"]; !got.Failed || got.Why == "" || !got.Since.IsZero() {
				t.Errorf("got %+v", got)
			}
			if took := time.Since(began); took > 10*limit {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestAPodWithoutACallToStayStays(t *testing.T) {
	var status int
	httpLand(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{})
	zone := delayed("zone-a", 0, 1)
	for code, fails := range map[int]bool{200: false, 204: false, 404: false, 405: false, 409: false, 501: false, 302: true, 403: true, 500: true, 503: true} {
		status = code
		zone.Pods[0].UID = fmt.Sprint(code)
		f.Notify(store, zone, group.Stay, zone.Pods)
		if got := f.latest(t, store, zone)["zone-a-0"]; got.Failed != fails {
			t.Errorf("%d: got %+v, want that it failed: %t", code, got, fails)
		}
	}
}

func TestAClockThatIsSetBackDelaysNoEvent(t *testing.T) {
	httpLand(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{Now: func() time.Time { return time.Now().Add(time.Hour) }})
	zone := delayed("zone-a", 0, 1)
	f.Notify(store, zone, group.Leave, zone.Pods)
	if rest := time.Until(f.latest(t, store, zone)["zone-a-0"].Again); rest > 5*time.Second {
		t.Errorf("notified again in %v, want 5 s", rest)
	}
}

// A record with a time far ahead would not be trusted until that time.
func TestAnAnswerIsNotDatedFarAheadOfTheClock(t *testing.T) {
	httpLand(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"timestamp": 1767614400}`) }, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{Now: func() time.Time { return time.Now().Add(2 * group.FarAhead) }})
	zone := delayed("zone-a", 0, 1)
	f.Notify(store, zone, group.Leave, zone.Pods)
	if ahead := time.Until(f.latest(t, store, zone)["zone-a-0"].At); ahead > 0 {
		t.Errorf("answered in %v", ahead)
	}
}

func TestFailedNotificationsAreRepeatedWithBackOff(t *testing.T) {
	httpLand(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 80)
	for message, want := range map[group.Message][]time.Duration{
		group.Leave: {5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute, time.Minute},
		group.Stay:  {5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 100 * time.Second, 100 * time.Second},
	} {
		f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{StayEvery: 100 * time.Second})
		zone := delayed("zone-a", 0, 1)
		for i, pause := range want {
			f.Notify(store, zone, message, zone.Pods)
			got := f.latest(t, store, zone)["zone-a-0"]
			if !got.Failed || got.Again.Sub(got.At) != pause {
				t.Errorf("%s after failure %d: notified again after %s, want %s", message, i, got.Again.Sub(got.At), pause)
			}
		}
	}
}

func TestAPodThatMayNotBeCalledDoesNotAcknowledgeAndMayStay(t *testing.T) {
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{})
	zone := delayed("zone-a", 0, 2)
	zone.Pods[0].OnHost, zone.Pods[1].OnHost = true, true
	f.Notify(store, zone, group.Leave, zone.Pods[:1])
	f.Notify(store, zone, group.Stay, zone.Pods[1:])
	got := f.latest(t, store, zone)
	if leave := got["zone-a-0"]; !leave.Failed || !strings.Contains(leave.Why, "hostNetwork") {
		t.Errorf("the pod that is to be removed: %+v", leave)
	}
	if stay := got["zone-a-1"]; stay.Failed || stay.Underway {
		t.Errorf("the pod that stays: %+v", stay)
	}
}

// If a pod is notified that it stays during a call that announces its removal, the second
// call waits for the first.
func TestTheNewestMessageWinsAndCallsDoNotOverlap(t *testing.T) {
	arrived, goOn := make(chan string, 10), make(chan bool)
	httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.Method
		<-goOn
		_, _ = io.WriteString(w, `{"timestamp":1}`)
	}, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{})
	zone := delayed("zone-a", 0, 1)
	f.Notify(store, zone, group.Leave, zone.Pods)
	order := []string{<-arrived}
	f.Notify(store, zone, group.Stay, zone.Pods)
	f.Notify(store, zone, group.Leave, zone.Pods)
	f.Notify(store, zone, group.Stay, zone.Pods)
	select {
	case method := <-arrived:
		t.Errorf("%s during another call", method)
	case <-time.After(50 * time.Millisecond):
	}
	goOn <- true
	order = append(order, <-arrived)
	goOn <- true
	if got := f.latest(t, store, zone)["zone-a-0"]; got.Message != group.Stay || got.Failed || !got.Since.IsZero() {
		t.Errorf("the last notification is %+v", got)
	}
	if diff := cmp.Diff([]string{"POST", "DELETE"}, order); diff != "" || len(arrived) > 0 {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestSilentPodsOfOneGroupDelayNoOtherGroup(t *testing.T) {
	l := listen(t, func(ctx context.Context, c net.Conn) {
		if where := addressPort(c.LocalAddr()); where < "10.244.9" {
			<-ctx.Done() // never answers
			return
		}
		_, _ = io.ReadFull(c, make([]byte, 4))
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"timestamp\":1}")
	}, 80)
	const limit = time.Minute // the limit of a call; waiting for the silent pods would take that long
	f := newOffice(t, podcalls.New(podcalls.Options{CallLimit: limit}), podcalls.MessageOptions{})
	for i, key := range []plan.Key{{Namespace: "team", Name: "silent"}, {Namespace: "other", Name: "silent"}, {Namespace: "third", Name: "silent"}} {
		zone := delayed("zone-s", 300*i, 300)
		f.Notify(key, zone, group.Leave, zone.Pods)
	}
	for i, key := range []plan.Key{store, {Namespace: "fourth", Name: "store"}} {
		began, zone := time.Now(), delayed("zone-a", 9*200+10*i, 10)
		f.Notify(key, zone, group.Leave, zone.Pods)
		for name, notified := range f.latest(t, key, zone) {
			if notified.Failed || notified.Underway {
				t.Errorf("%s: %s: %+v", key, name, notified)
			}
		}
		if took := time.Since(began); took > limit/2 {
			t.Errorf("%s was notified after %s", key, took)
		}
	}
	if got := len(l.connections()); got > 64+20 {
		t.Errorf("%d pods were called, want at most the free slots and the 20 that answered", got)
	}
}

func TestSilentGroupsOfANamespaceMakeItsOtherGroupsWaitForNothing(t *testing.T) {
	over := make(chan struct{})
	silent := make(chan bool, 1000)
	httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/silent" {
			silent <- true
			<-over
			return
		}
		_, _ = io.WriteString(w, `{"timestamp":1}`)
	}, 80)
	defer close(over)         // before Run waits for the calls in progress
	const limit = time.Minute // the limit of a call; waiting for the silent pods would take that long
	f := newOffice(t, podcalls.New(podcalls.Options{CallLimit: limit}), podcalls.MessageOptions{})
	for i, name := range []string{"silent", "as silent"} {
		zone := delayed(fmt.Sprint("zone-s", i), 100*i, 100) // with equal names, one pod would wait for the other
		zone.Delay.Call.Path = "/silent"
		f.Notify(plan.Key{Namespace: store.Namespace, Name: name}, zone, group.Leave, zone.Pods)
	}
	for range 28 { // the most calls that these two groups may have
		<-silent
	}
	began, zone := time.Now(), delayed("zone-a", 1000, 10)
	f.Notify(store, zone, group.Leave, zone.Pods)
	for name, notified := range f.latest(t, store, zone) {
		if notified.Failed || notified.Underway {
			t.Errorf("%s: %+v", name, notified)
		}
	}
	if took := time.Since(began); took > limit/2 {
		t.Errorf("the third group was notified after %s", took)
	}
	f.ForgetNamespace(store.Namespace)
}

func TestPodsThatFailedWaitForTheOthersOfTheirGroup(t *testing.T) {
	arrived, goOn := make(chan string, 100), make(chan bool)
	httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- calledAt(r)
		<-goOn
		w.WriteHeader(http.StatusServiceUnavailable)
	}, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{PerGroup: 1})
	zone := delayed("zone-a", 0, 4)
	f.Notify(store, zone, group.Stay, zone.Pods[:2])
	for range 2 {
		<-arrived
		goOn <- true
	}
	f.latest(t, store, zone)
	f.Notify(store, zone, group.Stay, zone.Pods[:2]) // the first one is called now, and the other one waits
	order := []string{<-arrived}
	f.Notify(store, zone, group.Stay, zone.Pods[2:])
	for range 3 {
		goOn <- true
		order = append(order, <-arrived)
	}
	goOn <- true
	f.latest(t, store, zone)
	if diff := cmp.Diff([]string{podAddress(0), podAddress(2), podAddress(3), podAddress(1)}, order); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAnswersOfAGroupAreGathered(t *testing.T) {
	httpLand(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"timestamp":1}`) }, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{Gather: time.Minute})
	zone := delayed("zone-a", 0, 100)
	f.Notify(store, zone, group.Leave, zone.Pods)
	<-f.answers
	if got := f.latest(t, store, zone); len(got) != 100 || len(f.answers) > 0 {
		t.Errorf("%d have answered, and the pod is notified another %d times", len(got), len(f.answers))
	}
}

func TestAnswersAreKnownAlthoughOthersAreSilent(t *testing.T) {
	httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		if calledAt(r) == podAddress(0) {
			<-r.Context().Done()
			return
		}
		_, _ = io.WriteString(w, `{"timestamp":1}`)
	}, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{CallLimit: time.Minute}), podcalls.MessageOptions{Gather: time.Millisecond})
	zone := delayed("zone-a", 0, 5)
	f.Notify(store, zone, group.Leave, zone.Pods)
	for answers := 0; answers < 4; {
		<-f.answers
		zones := []group.Zone{zone}
		f.Fill(store, zones)
		answers = 0
		for _, notified := range zones[0].Notifications {
			if !notified.Underway {
				answers++
			}
		}
	}
}

// A pod that no longer exists is not called any more, because another pod may have its address.
func TestMessagesToDeletedPodsAreDropped(t *testing.T) {
	for how, drop := range map[string]func(office, group.Zone){
		"the pods":      func(f office, z group.Zone) { z.Pods = z.Pods[:1]; f.Fill(store, []group.Zone{z}) },
		"the zone":      func(f office, _ group.Zone) { f.Fill(store, nil) },
		"the delay":     func(f office, z group.Zone) { z.Delay = group.Delay{}; f.Fill(store, []group.Zone{z}) },
		"the group":     func(f office, _ group.Zone) { f.Forget(store) },
		"the namespace": func(f office, _ group.Zone) { f.ForgetNamespace("team") },
		"the work":      func(f office, _ group.Zone) { f.stop() },
	} {
		t.Run(how, func(t *testing.T) {
			arrived, goOn := make(chan bool, 100), make(chan bool)
			l := httpLand(t, func(_ http.ResponseWriter, r *http.Request) {
				arrived <- true
				select {
				case <-goOn:
				case <-r.Context().Done():
				}
			}, 80)
			f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{PerGroup: 1})
			zone := delayed("zone-a", 0, 10)
			f.Notify(store, zone, group.Stay, zone.Pods)
			<-arrived
			drop(f, zone)
			close(goOn)
			time.Sleep(20 * time.Millisecond) // no pod may be called in this time
			if got := l.connections(); len(got) != 1 {
				t.Errorf("called %v", got)
			}
			zones := []group.Zone{zone}
			if f.Fill(store, zones); how != "the pods" && len(zones[0].Notifications) > 0 {
				t.Errorf("something is known of %v", zones[0].Notifications)
			}
			if how == "the work" {
				f.work(t)
			}
			f.Notify(store, zone, group.Stay, zone.Pods[5:6]) // it still works
			<-arrived
		})
	}
}

// The time since which a pod is Ready shows whether it was restarted after the notification.
func TestANotificationRecordsSinceWhenItsPodWasReady(t *testing.T) {
	httpLand(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"timestamp":1}`) }, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{})
	zone := delayed("zone-a", 0, 1)
	for _, since := range []time.Time{time.Unix(1000, 0), {}, time.Unix(2000, 0)} {
		zone.Pods[0].ReadySince = since
		f.Notify(store, zone, group.Leave, zone.Pods)
		zone.Pods[0].ReadySince = time.Now() // changes during the call
		if got := f.latest(t, store, zone)["zone-a-0"]; !got.Ready.Equal(since) {
			t.Errorf("it was Ready since %s, and %s is known", since, got.Ready)
		}
	}
}

// The same message by another call is another message and must also be delivered.
func TestAChangedCallIsMadeAfterTheFormerOne(t *testing.T) {
	arrived, goOn := make(chan string, 10), make(chan bool)
	httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		arrived <- r.Method + " " + r.RequestURI
		<-goOn
		_, _ = io.WriteString(w, `{"timestamp":1}`)
	}, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{})
	former, zone := delayed("zone-a", 0, 1), delayed("zone-a", 0, 1)
	zone.Delay.Call.Path = "/other"
	f.Notify(store, former, group.Leave, former.Pods)
	order := []string{<-arrived}
	f.Notify(store, zone, group.Leave, zone.Pods)
	goOn <- true
	order = append(order, <-arrived)
	goOn <- true
	if got := f.latest(t, store, zone)["zone-a-0"]; got.Call != zone.Delay.Call || got.Message != group.Leave {
		t.Errorf("the last notification is %+v", got)
	}
	if diff := cmp.Diff([]string{"POST /delay?x=y", "POST /other"}, order); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// If the delay was removed while the hold still has acknowledged pods, the last
// notification of such a pod is kept until it has answered that it stays. No further pod is
// notified of its removal.
func TestAcknowledgedPodsAreNotifiedToStayAfterTheDelayIsRemoved(t *testing.T) {
	arrived, goOn := make(chan string, 10), make(chan bool)
	httpLand(t, func(_ http.ResponseWriter, r *http.Request) { arrived <- r.Method + " " + calledAt(r); <-goOn }, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{PerGroup: 1})
	zone := delayed("zone-a", 0, 3)
	f.Notify(store, zone, group.Stay, zone.Pods[:2])
	f.Notify(store, zone, group.Leave, zone.Pods[2:])
	order := []string{<-arrived}
	zone.Delay = group.Delay{}
	s := group.Snapshot{Key: store, Zones: []group.Zone{zone}, Now: time.Now(), Hold: group.Hold{
		Part: group.Part{
			Acknowledged: map[string]group.DelayRecord{"zone-a": {OrdinalRanges: []group.OrdinalRange{group.OrdinalRangeOf("uid of zone-a-1", 1, time.Now())}, Over: true}},
		},
	}}
	f.Messages.Fill(s)
	goOn <- true
	order = append(order, <-arrived)
	goOn <- true
	for f.Messages.Fill(s); s.Zones[0].Notifications["uid of zone-a-1"].Underway; f.Messages.Fill(s) {
		<-f.answers
	}
	if notified := s.Zones[0].Notifications; len(notified) != 2 || notified["uid of zone-a-1"].Message != group.Stay {
		t.Errorf("known is %v", notified)
	}
	if diff := cmp.Diff([]string{"DELETE " + podAddress(0), "DELETE " + podAddress(1)}, order); diff != "" || len(arrived) > 0 {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestAPodIsCalledAtThePresentAddress(t *testing.T) {
	first, goOn := make(chan bool, 10), make(chan bool)
	l := httpLand(t, func(http.ResponseWriter, *http.Request) { first <- true; <-goOn }, 80)
	f := newOffice(t, podcalls.New(podcalls.Options{}), podcalls.MessageOptions{PerGroup: 1})
	zone := delayed("zone-a", 0, 2)
	f.Notify(store, zone, group.Stay, zone.Pods)
	<-first
	zone.Pods[1].IP = "10.244.7.7"
	f.Fill(store, []group.Zone{zone})
	close(goOn)
	f.latest(t, store, zone)
	if diff := cmp.Diff(map[string]int{"10.244.0.1:80": 1, "10.244.7.7:80": 1}, l.connections()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestACallByHTTPSNeedsACertificateForThePodsName(t *testing.T) {
	for sentence, tc := range map[string]struct {
		name    string
		trusted bool
		why     string
	}{
		"one for its name":                   {"zone-a-0.ingester.team.svc.cluster.local", true, ""},
		"one for another name":               {"zone-a-1.ingester.team.svc.cluster.local", true, "has a certificate that is not valid for its name or whose issuer is not trusted"},
		"a certificate of an unknown issuer": {"zone-a-0.ingester.team.svc.cluster.local", false, "has a certificate that is not valid for its name or whose issuer is not trusted"},
	} {
		t.Run(sentence, func(t *testing.T) {
			certificate, roots := certificateFor(t, tc.name)
			if !tc.trusted {
				roots = x509.NewCertPool()
			}
			listen(t, func(ctx context.Context, c net.Conn) {
				secure := tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
				if secure.HandshakeContext(ctx) == nil {
					_, _ = secure.Read(make([]byte, 4096))
					_, _ = io.WriteString(secure, "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"timestamp\":1}")
				}
			}, 443)
			f := newOffice(t, podcalls.New(podcalls.Options{Roots: roots}), podcalls.MessageOptions{})
			zone := delayed("zone-a", 0, 1)
			zone.Delay.Call.TLS, zone.Delay.Call.Port = true, 443
			f.Notify(store, zone, group.Leave, zone.Pods)
			if got := f.latest(t, store, zone)["zone-a-0"]; got.Why != tc.why || got.Failed != (tc.why != "") {
				t.Errorf("got %+v, want %q", got, tc.why)
			}
		})
	}
}

// certificateFor returns a certificate for a name and the pool that trusts it.
func certificateFor(t *testing.T, name string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	form := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "pod"}, DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	raw, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	issued, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(issued)
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key}, roots
}
