package reference_test

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func numbered(apiGroup string, i int) group.Reference {
	return group.Reference{APIGroup: apiGroup, Kind: fmt.Sprint("Kind", i), Name: "web"}
}

// withKinds returns a server with n kinds, and an object of each in every namespace.
func withKinds(n int, namespaces ...string) *server {
	s := newServer()
	var kinds []metav1.APIResource
	for i := range n {
		kinds = append(kinds, scaled(fmt.Sprint("Kind", i), fmt.Sprint("kind", i))...)
		for _, namespace := range namespaces {
			s.put(fmt.Sprint("/apis/example.com/v1/kind", i, "/", namespace, "/web"), object{uid: "first", replicas: 1})
		}
	}
	s.install([]string{"v1"}, kinds...)
	return s
}

func TestNumberOfWatchedKindsIsLimited(t *testing.T) {
	home := func(i int) string { return fmt.Sprint("team", i/20) }
	inRunning(t, "", withKinds(51, "team0", "team1", "team2"), func(d *running) {
		for i := range 51 {
			d.Want(home(i), numbered(apiGroup, i), true)
			synctest.Wait()
		}
		got, _ := d.Scale(home(50), numbered(apiGroup, 50))
		if want := (plan.Refusal{Code: reason.ReferenceKindUnknown, Detail: "Kind50.example.com: 50 other kinds are watched, which is the maximum"}); got.Trouble != want || len(d.watched()) != 50 {
			d.t.Fatalf("%d kinds are watched, the last one: %v", len(d.watched()), got.Trouble)
		}
		d.Want(home(0), numbered(apiGroup, 0), false)
		time.Sleep(31 * time.Second)
		if got, _ := d.Scale(home(50), numbered(apiGroup, 50)); got.Replicas != 1 {
			d.t.Errorf("with room for it: %+v", got)
		}
		if len(d.watched()) != 50 {
			d.t.Errorf("%d kinds are watched", len(d.watched()))
		}
	})
}

func TestNumberOfKindsOfANamespaceIsLimited(t *testing.T) {
	const why = "Kind20.example.com: its namespace names 20 other kinds, which is the maximum"
	last := numbered(apiGroup, 20)
	for sentence, tc := range map[string]struct {
		then   func(*running)
		within time.Duration
	}{
		"until one of them is dropped": {func(d *running) { d.Want("team", numbered(apiGroup, 7), false) }, 61 * time.Second},
		"but may share another's":      {func(d *running) { d.Want("elsewhere", last, true) }, time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			inRunning(t, "", withKinds(21, "team", "elsewhere"), func(d *running) {
				for i := range 21 {
					d.Want("team", numbered(apiGroup, i), true)
					synctest.Wait()
				}
				d.wantReplicas(numbered(apiGroup, 19), 1)
				d.wantTrouble(last, reason.ReferenceKindUnknown, why)
				time.Sleep(time.Hour)
				d.wantTrouble(last, reason.ReferenceKindUnknown, why)
				d.notifications()
				tc.then(d)
				time.Sleep(tc.within)
				d.wantReplicas(last, 1)
				if len(d.notifications()) == 0 {
					d.t.Error("no notification")
				}
			})
		})
	}
}

func TestKindIsKeptWhenItsFirstNamespaceDropsIt(t *testing.T) {
	inRunning(t, "", withKinds(22, "team", "elsewhere"), func(d *running) {
		for i := range 20 {
			d.Want("team", numbered(apiGroup, i), true)
		}
		d.Want("elsewhere", numbered(apiGroup, 20), true)
		d.Want("team", numbered(apiGroup, 20), true)
		d.wantReplicas(numbered(apiGroup, 20), 1)
		d.Want("elsewhere", numbered(apiGroup, 20), false)
		time.Sleep(time.Hour)
		d.wantReplicas(numbered(apiGroup, 20), 1)
		for i := range 21 {
			d.Want("team", numbered(apiGroup, i), false)
		}
		time.Sleep(2 * time.Minute)
		if watched := d.watched(); len(watched) > 0 {
			d.t.Errorf("still watched: %s", watched)
		}
		for i := range 20 {
			d.Want("team", numbered(apiGroup, i), true)
		}
		time.Sleep(time.Second)
		d.wantReplicas(numbered(apiGroup, 19), 1)
	})
}

func TestKindsOfOneAPIGroupShareADiscovery(t *testing.T) {
	inRunning(t, "", withKinds(20, "team"), func(d *running) {
		for i := range 20 {
			d.Want("team", numbered(apiGroup, i), true)
		}
		synctest.Wait()
		requested := map[string]int{}
		for _, q := range d.questions() {
			requested[q]++
		}
		if n := requested["get /apis/example.com/v1/kind19"]; n != 1 {
			d.t.Errorf("the last kind was listed %d times", n)
		}
		for _, q := range []string{"get /apis/example.com", "get /apis/example.com/v1"} {
			if n := requested[q]; n < 1 || n > 3 { // the event of a CRD may cause one more request
				d.t.Errorf("%s: %d times", q, n)
			}
		}
	})
}

// A user keeps naming new kinds that do not exist.
func TestNamespaceWithManyKindsDelaysNoOther(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		for second := range 60 {
			for i := range 100 {
				if second > 0 {
					d.Want("evil", numbered(fmt.Sprint("nowhere", i%7, ".com"), 100*(second-1)+i), false)
				}
				d.Want("evil", numbered(fmt.Sprint("nowhere", i%7, ".com"), 100*second+i), true)
			}
			time.Sleep(time.Second)
		}
		d.refuse("get "+templates, http.StatusServiceUnavailable, "")
		d.Want("team", theWeb, true)
		time.Sleep(time.Second)
		d.refuse("get "+templates, 0, "")
		time.Sleep(2 * time.Second)
		d.wantReplicas(theWeb, 3)
		time.Sleep(10 * time.Minute)
		d.questions()
		time.Sleep(time.Minute)
		if n := d.counted("get "); n > 3*20 {
			d.t.Errorf("%d requests in a minute", n)
		}
	})
}

func TestSlowAPIGroupDelaysNoOther(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.slow = map[string]chan struct{}{}
		for i := range 19 {
			d.slow[fmt.Sprint("get /apis/hung", i, ".com")] = make(chan struct{})
		}
		for i := range 19 {
			d.Want("team", numbered(fmt.Sprint("hung", i, ".com"), 0), true)
		}
		synctest.Wait()
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		time.Sleep(11 * time.Second)
		d.wantTrouble(numbered("hung0.com", 0), reason.RequestFailing, "discovery")
	})
}

func TestNamespacesTakeTurnsInReads(t *testing.T) {
	s := withTemplates()
	s.takes = 10 * time.Millisecond
	many := func(i int) string { return fmt.Sprint(templates, "/evil/web", i) }
	for i := range 1000 {
		s.put(many(i), object{uid: "x", replicas: 1})
	}
	inRunning(t, "", s, func(d *running) {
		for i := range 1000 {
			d.Want("evil", group.Reference{APIGroup: apiGroup, Kind: "Template", Name: fmt.Sprint("web", i)}, true)
		}
		d.Want("team", theWeb, true)
		time.Sleep(time.Minute)
		d.wantReplicas(theWeb, 3)
		for i := range 1000 {
			d.put(many(i), object{uid: "x", replicas: 2})
		}
		d.put(web, object{uid: "first", replicas: 5})
		time.Sleep(50 * time.Millisecond)
		d.wantReplicas(theWeb, 5)
	})
}

// An annotation that is set and removed repeatedly costs little.
func TestRepeatedWantIsReadAtALimitedRate(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.questions()
		for range 100 {
			d.Want("team", theWeb, false)
			synctest.Wait()
			d.Want("team", theWeb, true)
			synctest.Wait()
		}
		if requested := d.questions(); len(requested) > 5 {
			d.t.Errorf("%d requests: %s", len(requested), requested)
		}
		time.Sleep(time.Minute)
		d.wantReplicas(theWeb, 3)
	})
}

func TestFailedKindKeepsItsBackOffWhenWantedAgain(t *testing.T) {
	inRunning(t, "", newServer(), func(d *running) {
		for range 1000 {
			d.Want("team", theWeb, true)
			time.Sleep(10 * time.Millisecond)
			d.Want("team", theWeb, false)
			time.Sleep(10 * time.Millisecond)
		}
		if n := d.counted("get /apis/example.com"); n > 10 {
			d.t.Errorf("%d requests in twenty seconds", n)
		}
	})
}
