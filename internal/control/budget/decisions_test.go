package budget

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// answering is a process that answers evictions.
type answering struct {
	*Decisions
	t      *testing.T
	delays []time.Duration // requested delays of reconciles that have not run
}

var theStore = Name{Namespace: "team", Budget: "store"}

func answers(t *testing.T, w *world) *answering {
	t.Helper()
	c := w.controller(t)
	a := &answering{t: t, Decisions: &Decisions{Cache: w, Managed: w.Managed, Client: c.Client, Log: c.Log, Now: time.Now}}
	a.Soon = func(n Name, after time.Duration) {
		if n != theStore {
			t.Errorf("read budget %s", n)
		}
		a.delays = append(a.delays, after)
	}
	return a
}

func (a *answering) refuse(pod string) {
	a.Take(theStore, Decision{Pod: pod, Reason: "GroupHeld", Message: "not now", Time: metav1.Now(), TraceID: "0af7651916cd43dd8448eb211c80319c"})
}

// write runs the requested reconciles at their times.
func (a *answering) write() {
	a.t.Helper()
	requested := a.delays
	a.delays = nil
	for _, after := range requested {
		time.Sleep(after)
		if outcome, err := a.Reconcile(a.t.Context(), theStore); err != nil || outcome != loop.Done() && outcome != loop.Gone() {
			a.t.Errorf("got %s, %v", outcome, err)
		}
	}
}

func limited() *world {
	return newWorld(group.DisruptionBudget{Limit: 1}, map[string]string{"ingester": twoZones})
}

func TestLastDecisionIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited()
		a := answers(t, w)
		a.refuse("zone-a-0")
		a.write()
		want := map[string]any{"metadata": map[string]any{"uid": "uid"}, "status": map[string]any{"lastDecision": map[string]any{
			"pod": "zone-a-0", "allowed": false, "reason": "GroupHeld", "message": "not now",
			"time": time.Now().UTC().Format(time.RFC3339), "traceID": "0af7651916cd43dd8448eb211c80319c",
		}}}
		if diff := cmp.Diff(want, w.body); diff != "" {
			t.Errorf("written (-want +got):\n%s", diff)
		}
	})
}

func TestDecisionIsNotWrittenToARecreatedBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited()
		a := answers(t, w)
		a.refuse("zone-a-0")
		w.objects[0].UID = "anew"
		if a.write(); len(w.written) > 0 {
			t.Errorf("written %s", w.written)
		}
		time.Sleep(decisionPace)
		a.refuse("zone-a-1")
		if a.write(); len(w.written) != 1 {
			t.Errorf("of the new one it is written %s", w.written)
		}
	})
}

func TestOnlyTheLastOfManyDecisionsIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited()
		a := answers(t, w)
		a.refuse("zone-a-0")
		a.refuse("zone-a-1")
		a.write()
		if got := w.objects[0].Status.LastDecision; len(w.written) != 1 || got.Pod != "zone-a-1" {
			t.Errorf("written %d times, the last one %+v", len(w.written), got)
		}
		for range 1000 {
			time.Sleep(time.Millisecond)
			a.refuse("zone-a-0")
		}
		if diff := cmp.Diff([]time.Duration{decisionPace - time.Millisecond}, a.delays); diff != "" {
			t.Fatalf("budgets read (-want +got):\n%s", diff)
		}
		a.write()
		if got := w.objects[0].Status.LastDecision; len(w.written) != 2 || got.Pod != "zone-a-0" {
			t.Errorf("written %d times, the last one %+v", len(w.written), got)
		}
		time.Sleep(decisionPace)
		a.refuse("zone-a-1")
		if diff := cmp.Diff([]time.Duration{0}, a.delays); diff != "" {
			t.Errorf("budgets read (-want +got):\n%s", diff)
		}
	})
}

func TestLaterDecisionOfAnotherProcessIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited()
		a := answers(t, w)
		a.refuse("zone-a-0")
		later := &Decision{Pod: "zone-b-0", Allowed: true, Time: metav1.NewTime(time.Now().Add(time.Second))}
		w.objects[0].Status.LastDecision = later
		a.write()
		if got := w.objects[0].Status.LastDecision; got != later {
			t.Errorf("shown is %+v", got)
		}
		time.Sleep(decisionPace)
		a.refuse("zone-a-0")
		a.write()
		if got := w.objects[0].Status.LastDecision; got.Pod != "zone-a-0" {
			t.Errorf("shown is %+v", got)
		}
	})
}

func TestDecisionFromTheFutureIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited()
		a := answers(t, w)
		w.objects[0].Status.LastDecision = &Decision{Pod: "zone-b-0", Allowed: true, Time: metav1.NewTime(time.Now().Add(time.Hour))}
		a.refuse("zone-a-0")
		a.write()
		if got := w.objects[0].Status.LastDecision; got.Pod != "zone-a-0" {
			t.Errorf("shown is %+v", got)
		}
	})
}

func TestDecisionIsDroppedIfItsBudgetCannotBeWritten(t *testing.T) {
	for sentence, change := range map[string]func(*world){
		"no namespace opted in":  func(w *world) { w.foreign = true },
		"the budget was deleted": func(w *world) { w.objects = nil },
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := limited()
				a := answers(t, w)
				a.refuse("zone-a-0")
				change(w)
				a.write()
				if len(w.written) > 0 {
					t.Errorf("written: %s", w.written)
				}
			})
		})
	}
}

func TestFailedDecisionWriteIsNotRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := limited()
		w.refuses = http.StatusNotFound
		a := answers(t, w)
		a.refuse("zone-a-0")
		a.write()
		a.refuse("zone-a-1")
		w.refuses = 0
		a.write()
		if got := w.objects[0].Status.LastDecision; len(w.written) != 2 || got == nil || got.Pod != "zone-a-1" {
			t.Errorf("written %d times, the last one %+v", len(w.written), got)
		}
	})
}
