package act_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/internal/act"
	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	theLease = "leases/lockstep-group-store"
	newLease = "POST leases"
)

// room is an Executor with an API server that records requests.
type room struct {
	*recorder
	act.Executor
	optedOut bool
}

func newRoom(t *testing.T) *room {
	t.Helper()
	server := &recorder{}
	client := apitest.Client(t, server)
	objects, err := metadata.NewForConfig(&rest.Config{Host: "http://api", Transport: server, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	r := &room{recorder: server}
	r.Executor = act.Executor{
		Client: client, Metadata: objects, Holds: lease.NewStore(client, "", "test"), Fresh: freshness.NewLog(), Tracer: noop.Tracer{}, Rollouts: &rollouts{},
		Managed: func(namespace string) bool { return namespace == "team" && !r.optedOut },
	}
	return r
}

// rollouts keeps all rollouts except for the pods in exported.
type rollouts struct {
	begins   string
	exported []string // names of pods
}

func (r *rollouts) Begin(context.Context) string { return r.begins }

func (r *rollouts) Kept(_ plan.Key, remembered plan.Rollouts) plan.Rollouts {
	zones := slices.Clone(remembered.Current.Zones)
	for i := range zones {
		zones[i].Pods = slices.DeleteFunc(slices.Clone(zones[i].Pods), func(p plan.RolledPod) bool { return slices.Contains(r.exported, p.Name) })
	}
	remembered.Current.Zones = zones
	return remembered
}

// group returns the snapshot from which these tests make their plans.
func testGroup() group.Snapshot {
	s := fixture.MustParse("zone-a rev=2 current=1\n zone-a-0 ready@1 zone-a-1 ready@1\n")
	s.Now = time.Now()
	return s
}

// write returns the decision to write a hold that is renewed now.
func write(s group.Snapshot, holder plan.Holder, pods ...string) hold.Decision {
	record := group.Hold{Hold: plan.Hold{Own: true, Holder: holder, Renewed: s.Now, Duration: hold.Duration}}
	for _, pod := range pods {
		record.Intents = append(record.Intents, fixture.IntentOf(pod))
	}
	return hold.Decision{Need: hold.Write, Record: record.Record()}
}

func deletePod(pod string) plan.DeletePod {
	return plan.DeletePod{Zone: "zone-a", Pod: pod, UID: "uid-of-" + pod, Version: 10, Up: true, Because: reason.OutdatedRevision}
}

var (
	adopt   = group.AdoptRevision{Zone: "zone-a", UID: "uid-of-zone-a", Version: 10, Revision: "web-2"}
	cancels = plan.CancelDeletion{Intent: plan.Intent{Zone: "zone-a", Pod: "zone-a-1", UID: "uid-of-zone-a-1", Version: 10}, Because: plan.Refusal{Code: reason.Paused}}
	wait    = plan.Wait{Zone: "zone-a", Because: plan.Refusal{Code: reason.PodStarting}}
	release = plan.Release{Holder: "rollout/zone-a"}
)

func TestOrderOfRequests(t *testing.T) {
	s := testGroup()
	for sentence, tc := range map[string]struct {
		steps    []plan.Action
		decision hold.Decision
		want     []string
	}{
		"cancel deletions, write the hold, delete, adopt, whatever order the plan has": {
			[]plan.Action{adopt, deletePod("zone-a-0"), wait, cancels}, write(s, "rollout/zone-a", "zone-a-0"),
			[]string{"PATCH pods/zone-a-1", newLease, "DELETE pods/zone-a-0", "PATCH statefulsets/zone-a/status"},
		},
		"giving back is a write":                {[]plan.Action{release}, write(s, ""), []string{newLease}},
		"waiting is no request":                 {[]plan.Action{wait}, hold.Decision{}, nil},
		"a repair without cover writes no hold": {[]plan.Action{deletePod("zone-a-0")}, hold.Decision{}, []string{"DELETE pods/zone-a-0"}},
		"a renewal is a write":                  {nil, write(s, "rollout/zone-a"), []string{newLease}},
		"a missing Lease needs no removal":      {nil, hold.Decision{Need: hold.Remove}, nil},
		"a missing Lease needs no label":        {nil, hold.Decision{Need: hold.Label}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			if _, err := r.Run(t.Context(), &s, tc.steps, tc.decision); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, r.said()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestALabelIsAWriteOfTheLease(t *testing.T) {
	r := newRoom(t)
	s := testGroup()
	for _, d := range []hold.Decision{write(s, ""), {Need: hold.Label}} {
		if _, err := r.Run(t.Context(), &s, nil, d); err != nil {
			t.Fatal(err)
		}
		s.Hold = group.HoldOf(r.Holds.Cached(s.Key))
	}
	if diff := cmp.Diff([]string{newLease, "PUT " + theLease}, r.said()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestADryRunSendsNothing(t *testing.T) {
	r := newRoom(t)
	r.DryRun = true
	s := testGroup()
	for _, d := range []hold.Decision{write(s, "rollout/zone-a", "zone-a-0"), {Need: hold.Remove}, {}} {
		receipts, err := r.Run(t.Context(), &s, []plan.Action{cancels, deletePod("zone-a-0"), adopt, release}, d)
		if err != nil || len(receipts) != 0 {
			t.Errorf("got %v, %v", receipts, err)
		}
	}
	if requests := r.said(); len(requests) != 0 {
		t.Errorf("requests: %v", requests)
	}
	if behind, _ := r.Fresh.Behind(&s); behind != "" {
		t.Errorf("waits for a write that was never made: %s", behind)
	}
}

func TestEveryWriteHasThePreconditionsOfItsObject(t *testing.T) {
	r := newRoom(t)
	s := testGroup()
	if _, err := r.Run(t.Context(), &s, []plan.Action{cancels, deletePod("zone-a-0"), adopt}, hold.Decision{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"PATCH pods/zone-a-1": `{"metadata":{"uid":"uid-of-zone-a-1","resourceVersion":"10",` +
			`"annotations":{"` + contract.WithdrawnAnnotation + `":"10/NOW"}}}`,
		"DELETE pods/zone-a-0": `{"kind":"DeleteOptions","apiVersion":"v1",` +
			`"preconditions":{"uid":"uid-of-zone-a-0","resourceVersion":"10"}}`,
		"PATCH statefulsets/zone-a/status": `{"metadata":{"uid":"uid-of-zone-a","resourceVersion":"10"},` +
			`"status":{"currentRevision":"web-2"}}`,
	}
	if diff := cmp.Diff(want, r.bodyOf()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Each case rejects one request and lists the requests that are still sent.
func TestARefusedRequestStopsOnlyRequestsThatDependOnIt(t *testing.T) {
	const del, patchPod, status = "DELETE pods/zone-a-0", "PATCH pods/zone-a-1", "PATCH statefulsets/zone-a/status"
	all := []string{patchPod, newLease, del, status}
	for sentence, tc := range map[string]struct {
		refused string
		code    int32
		want    []string
		class   reason.Class
	}{
		"a touch that conflicts stops nothing else":               {patchPod, http.StatusConflict, all, reason.Moved},
		"a pod that is gone needs no touch":                       {patchPod, http.StatusNotFound, all, reason.Moved},
		"a touch that is refused stops nothing else":              {patchPod, http.StatusForbidden, all, reason.Again},
		"a hold that another writer took first stops the deletes": {newLease, http.StatusConflict, []string{patchPod, newLease, "GET " + theLease}, reason.Moved},
		"a hold that can't be written stops the deletes":          {newLease, http.StatusInternalServerError, []string{patchPod, newLease, "GET " + theLease}, reason.Again},
		"a namespace that is being deleted stops the deletes":     {newLease, http.StatusForbidden, []string{patchPod, newLease, "GET " + theLease}, reason.Again},
		"a pod that has moved on is no failure":                   {del, http.StatusConflict, all, reason.Moved},
		"a pod that is gone is no failure":                        {del, http.StatusNotFound, all, reason.Moved},
		"a delete that is refused is one":                         {del, http.StatusForbidden, all, reason.Again},
		"a status that has moved on is no failure":                {status, http.StatusConflict, all, reason.Moved},
		"a StatefulSet that is gone is no failure":                {status, http.StatusNotFound, all, reason.Moved},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.refuses = func(what string) int32 {
				if what == tc.refused {
					return tc.code
				}
				if what == "GET "+theLease {
					return http.StatusNotFound
				}
				return 0
			}
			s := testGroup()
			receipts, err := r.Run(t.Context(), &s, []plan.Action{cancels, deletePod("zone-a-0"), adopt}, write(s, "rollout/zone-a", "zone-a-0"))
			if err == nil || reason.ClassOf(err) != tc.class {
				t.Errorf("got %v of class %v, want class %v", err, reason.ClassOf(err), tc.class)
			}
			if diff := cmp.Diff(tc.want, r.said()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if len(receipts) == 0 {
				t.Error("there is no receipt for the touch")
			}
		})
	}
}

func TestOneReceiptForEachStepThatWasTried(t *testing.T) {
	r := newRoom(t)
	r.refuses = func(what string) int32 {
		if strings.HasSuffix(what, "zone-a-1") {
			return http.StatusConflict
		}
		return 0
	}
	s := testGroup()
	receipts, err := r.Run(t.Context(), &s, []plan.Action{deletePod("zone-a-0"), deletePod("zone-a-1"), adopt, wait, release}, hold.Decision{})
	var got []string
	for _, receipt := range receipts {
		got = append(got, fmt.Sprintf("%s: %v", receipt.Step, receipt.Err))
	}
	want := []string{
		"delete zone-a-0 of zone-a because OutdatedRevision: <nil>",
		"delete zone-a-1 of zone-a because OutdatedRevision: delete pod team/zone-a-1: Conflict",
		"adopt web-2 in zone-a: <nil>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if err == nil || err.Error() != "delete pod team/zone-a-1: Conflict" {
		t.Errorf("got %v", err)
	}
}

// The next plan requires a view that shows successful writes. Failed writes need not be shown.
func TestTheNextPlanWaitsForSuccessfulWrites(t *testing.T) {
	for sentence, tc := range map[string]struct {
		step plan.Action
		code int32
		want string
	}{
		"a delete":               {plan.DeletePod{Zone: "zone-a", Pod: "zone-a-0", UID: "zone-a-0", Version: 10}, 0, "pod zone-a-0 after version 10"},
		"a touch":                {plan.CancelDeletion{Intent: fixture.IntentOf("zone-a-0")}, 0, "pod zone-a-0 after version 10"},
		"an adoption":            {adopt, 0, "StatefulSet zone-a at version 500"},
		"a delete that fails":    {plan.DeletePod{Zone: "zone-a", Pod: "zone-a-0", UID: "zone-a-0", Version: 10}, http.StatusConflict, ""},
		"a touch that fails":     {plan.CancelDeletion{Intent: fixture.IntentOf("zone-a-0")}, http.StatusConflict, ""},
		"an adoption that fails": {adopt, http.StatusConflict, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.refuses = func(string) int32 { return tc.code }
			s := testGroup()
			if _, err := r.Run(t.Context(), &s, []plan.Action{tc.step}, hold.Decision{}); (err != nil) != (tc.code != 0) {
				t.Fatal(err)
			}
			if got, _ := r.Fresh.Behind(&s); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestDeletesAreParallelAndBounded(t *testing.T) {
	var steps []plan.Action
	for i := range 25 {
		steps = append(steps, deletePod(fmt.Sprint("zone-a-", i)))
	}
	for takes, want := range map[time.Duration]struct {
		deletes int
		lasts   time.Duration
	}{
		100 * time.Millisecond: {25, 300 * time.Millisecond},
		time.Second:            {10, time.Second}, // the group may have changed by then
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRoom(t)
			r.takes = takes
			began := time.Now()
			receipts, err := r.Run(t.Context(), new(testGroup()), steps, hold.Decision{})
			if err != nil || len(receipts) != want.deletes || time.Since(began) != want.lasts || r.most != 10 {
				t.Errorf("%d receipts after %s, at most %d at a time, %v; want %d after %s, 10 at a time", len(receipts), time.Since(began), r.most, err, want.deletes, want.lasts)
			}
			for i, receipt := range receipts {
				if receipt.Step != steps[i] {
					t.Errorf("receipt %d is that of %s", i, receipt.Step)
				}
			}
		})
	}
}

func TestNoDeleteBeginsOnceItsPlanWasConfirmedTooLongAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.takes = 100 * time.Millisecond
		var steps []plan.Action
		for i := range 25 {
			steps = append(steps, deletePod(fmt.Sprint("zone-a-", i)))
		}
		receipts, err := r.Run(t.Context(), new(testGroup()), steps, hold.Decision{DisruptBefore: time.Now().Add(150 * time.Millisecond)})
		if err != nil || len(receipts) != 20 {
			t.Errorf("%d receipts, %v; want those of the 20 deletes of the first 150 ms", len(receipts), err)
		}
	})
}

// A zone whose requests hang must not delay the others.
func TestZonesAreWrittenConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.takes = time.Second
		var steps []plan.Action
		for i := range 15 {
			zone := fmt.Sprint("zone-", i)
			steps = append(steps,
				group.AdoptRevision{Zone: zone, UID: "u", Version: 1, Revision: "2"},
				group.SetReplicas{Zone: zone, UID: "u", Version: 1, From: 1, To: 2},
				group.StampDownscale{Zone: zone, UID: "u", Version: 1},
			)
		}
		began := time.Now()
		receipts, err := r.Run(t.Context(), new(testGroup()), steps, hold.Decision{})
		if took := time.Since(began); err != nil || len(receipts) != len(steps) || took != 6*time.Second || r.most != 10 {
			t.Errorf("%d receipts after %s, at most %d at a time, %v; want all after 6 s, 10 at a time", len(receipts), took, r.most, err)
		}
		said := r.said()
		status, spec := slices.Index(said, "PATCH statefulsets/zone-3/status"), slices.Index(said, "PATCH statefulsets/zone-3")
		if status < 0 || spec < status {
			t.Errorf("requests for zone-3 are at %d and %d, want them in the order of the plan: %q", status, spec, said)
		}
	})
}

func TestAPlanThatWasConfirmedTooLongAgoDisruptsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for sentence, tc := range map[string]struct {
			takes time.Duration
			steps []plan.Action
			want  []string
		}{
			"in time":                   {3 * time.Second, []plan.Action{deletePod("zone-a-0"), adopt}, []string{newLease, "DELETE pods/zone-a-0", "PATCH statefulsets/zone-a/status"}},
			"too late":                  {6 * time.Second, []plan.Action{deletePod("zone-a-0"), adopt}, []string{newLease, "PATCH statefulsets/zone-a/status"}},
			"only a disruption":         {6 * time.Second, []plan.Action{deletePod("zone-a-0")}, []string{newLease}},
			"a downscale after repairs": {3 * time.Second, []plan.Action{deletePod("zone-a-0"), group.SetReplicas{Zone: "zone-a", UID: "zone-a", From: 3, To: 2}}, []string{newLease, "DELETE pods/zone-a-0"}},
		} {
			r := newRoom(t)
			r.takes = tc.takes
			s := testGroup()
			d := write(s, "rollout/zone-a", "zone-a-0")
			d.DisruptBefore = time.Now().Add(5 * time.Second)
			_, err := r.Run(t.Context(), &s, tc.steps, d)
			if diff := cmp.Diff(tc.want, r.said()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", sentence, diff)
			}
			if tooLate := len(tc.want) == 1; tooLate != (reason.ClassOf(err) == reason.Moved && err != nil) {
				t.Errorf("%s: %v", sentence, err)
			}
		}
	})
}

// Even if the API server does not answer, the requests do not occupy a worker for too long.
func TestManyWithdrawalsAreSentAFewAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.takes = time.Hour
		var steps []plan.Action
		for i := range plan.MaxIntents {
			w := cancels
			w.Intent.Pod = fmt.Sprint("zone-a-", i)
			steps = append(steps, w)
		}
		began := time.Now()
		receipts, _ := r.Run(t.Context(), new(testGroup()), steps, hold.Decision{})
		notSent := 0
		for _, receipt := range receipts {
			if errors.Is(receipt.Err, plan.ErrNotSent) {
				notSent++
			}
		}
		if took := time.Since(began); took > hold.RequestTimeout || r.most != 10 || len(receipts) != len(steps) || notSent < len(steps)-20 {
			t.Errorf("%d of %d cancelled in %s, %d at a time, %d not sent", len(receipts), len(steps), took, r.most, notSent)
		}
	})
}

// No request is sent within the margin before the hold could expire, and no request takes longer than that
// margin.
func TestNothingIsSentUnderAHoldThatCouldExpire(t *testing.T) {
	for sentence, tc := range map[string]struct {
		age   time.Duration // of the snapshot when the plan is carried out
		takes time.Duration // the time of each answer
		sent  int           // the number of deletes
		most  time.Duration
	}{
		"in time":                       {0, 0, 30, 0},
		"at the last moment":            {hold.Duration - hold.Margin - time.Millisecond, 0, 30, 0},
		"too late":                      {hold.Duration - hold.Margin, 0, 0, 0},
		"long ago":                      {time.Hour, 0, 0, 0},
		"slow answers eat the time up":  {hold.Duration - hold.Margin - 12*time.Second, 8 * time.Second, 10, 12 * time.Second},
		"a server that does not answer": {0, time.Hour, 0, hold.RequestTimeout},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRoom(t)
				r.takes = tc.takes
				s := testGroup()
				var steps []plan.Action
				for i := range 30 {
					steps = append(steps, deletePod(fmt.Sprint("zone-a-", i)))
				}
				time.Sleep(tc.age)
				began := time.Now()
				_, err := r.Run(t.Context(), &s, steps, write(s, "rollout/zone-a"))
				sent := len(slices.DeleteFunc(r.said(), func(what string) bool { return !strings.HasPrefix(what, "DELETE") }))
				if sent != tc.sent || (err == nil) != (sent == 30) || time.Since(began) > tc.most {
					t.Errorf("%d deletes in %s, %v; want %d in at most %s", sent, time.Since(began), err, tc.sent, tc.most)
				}
				if err != nil && (reason.ClassOf(err) != reason.Again || !errors.Is(err, context.DeadlineExceeded)) {
					t.Errorf("got %v of class %v", err, reason.ClassOf(err))
				}
			})
		})
	}
}

// The hold dates a downscale by lockstep itself by the latest time at which its update can be sent. A process
// that was suspended since the plan was made does not send the update later than that.
func TestADownscaleIsNotSentLaterThanTheHoldDatesIt(t *testing.T) {
	const latest = group.CarryLimit - group.UpdateLimit // after the renewal of the hold
	for stoodStill, want := range map[time.Duration][]string{0: {"PATCH statefulsets/zone-a"}, latest - time.Millisecond: {"PATCH statefulsets/zone-a"}, latest: nil} {
		synctest.Test(t, func(t *testing.T) {
			r := newRoom(t)
			s := testGroup()
			s.Hold = group.HoldOf(write(s, "downscale/zone-a").Record)
			s.Hold.Downscale = fixture.Shrinking("zone-a", 2, 1, group.Admitted)
			s.Hold.Downscale.Ours, s.Hold.Downscale.Since = true, s.Now
			time.Sleep(stoodStill)
			lower := group.SetReplicas{Zone: "zone-a", UID: "uid-of-zone-a", Version: 10, From: 2, To: 1}
			_, err := r.Run(t.Context(), &s, []plan.Action{lower}, hold.Decision{})
			if sent := r.said(); !slices.Equal(sent, want) || (err == nil) != (len(want) > 0) {
				t.Errorf("after %s: sent %q, %v; want %q", stoodStill, sent, err, want)
			}
		})
	}
}

func TestNothingIsSentToANamespaceThatOptedOut(t *testing.T) {
	for sentence, tc := range map[string]struct {
		after string // the last request before the namespace opts out
		want  []string
	}{
		"before the plan":             {"", nil},
		"behind the hold":             {newLease, []string{"PATCH pods/zone-a-1", newLease}},
		"behind a cancelled deletion": {"PATCH pods/zone-a-1", []string{"PATCH pods/zone-a-1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.optedOut = tc.after == ""
			r.refuses = func(what string) int32 {
				r.optedOut = r.optedOut || what == tc.after
				return 0
			}
			s := testGroup()
			_, err := r.Run(t.Context(), &s, []plan.Action{cancels, deletePod("zone-a-0"), adopt}, write(s, "rollout/zone-a", "zone-a-0"))
			if err == nil || reason.ClassOf(err) != reason.Moved {
				t.Errorf("got %v of class %v, want class moved", err, reason.ClassOf(err))
			}
			if diff := cmp.Diff(tc.want, r.said()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNothingIsSentOnceTheProcessIsToEnd(t *testing.T) {
	r := newRoom(t)
	r.Preparations, r.Messages = podCalls{r.recorder}, r.recorder
	ctx, stop := context.WithCancel(t.Context())
	stop()
	s := testGroup()
	if _, err := r.Run(ctx, &s, []plan.Action{deletePod("zone-a-0")}, write(s, "rollout/zone-a", "zone-a-0")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	calls := []plan.Action{
		group.PreparePods{Downscale: fixture.Shrinking("zone-a", 2, 1, group.Preparing), Pods: s.Zones[0].Pods, Within: time.Second},
		group.NotifyPods{Zone: "zone-a", Message: group.Stay, Pods: s.Zones[0].Pods},
	}
	if receipts, err := r.Run(ctx, &s, calls, hold.Decision{}); err != nil || len(receipts) > 0 {
		t.Errorf("got %v, %v", receipts, err)
	}
	if requests := r.said(); len(requests) != 0 {
		t.Errorf("requests: %v", requests)
	}
}

func TestEveryRequestHasASpan(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	r := newRoom(t)
	r.Tracer = tracer
	r.refuses = func(what string) int32 {
		return map[string]int32{"DELETE pods/zone-a-1": http.StatusConflict, "DELETE pods/zone-a-2": http.StatusForbidden}[what]
	}
	ctx, reconcile := tracer.Start(t.Context(), "reconcile")
	s := testGroup()
	steps := []plan.Action{cancels, deletePod("zone-a-0"), deletePod("zone-a-1"), deletePod("zone-a-2"), adopt}
	if _, err := r.Run(ctx, &s, steps, write(s, "rollout/zone-a")); err == nil {
		t.Error("want the refusals")
	}
	var got []string
	for _, span := range spans.Ended() {
		text := span.Name()
		for _, a := range span.Attributes() {
			text += fmt.Sprintf(" %s=%s", a.Key, a.Value.AsString())
		}
		if span.Status().Code == codes.Error {
			text += " failed"
		}
		if span.Parent().SpanID() != reconcile.SpanContext().SpanID() || span.SpanKind() != trace.SpanKindClient {
			t.Errorf("%s is no client span below the reconcile", text)
		}
		got = append(got, text)
	}
	slices.Sort(got)
	const of = " k8s.namespace.name=team lockstep.group=store lockstep.object="
	want := []string{
		"adopt revision" + of + "zone-a",
		"cancel deletion" + of + "zone-a-1",
		"delete pod" + of + "zone-a-0",
		"delete pod" + of + "zone-a-1", // a conflict is not a failure
		"delete pod" + of + "zone-a-2 failed",
		"write hold" + of,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheTraceInTheLease(t *testing.T) {
	const former, action = "00-11111111111111111111111111111111-1111111111111111-01", "00-22222222222222222222222222222222-2222222222222222-01"
	here := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{3}, SpanID: trace.SpanID{3}, TraceFlags: trace.FlagsSampled})
	const reconcile = "00-03000000000000000000000000000000-0300000000000000-01"
	for sentence, tc := range map[string]struct {
		before     plan.Holder
		span       trace.SpanContext
		hold       string
		fresh, old string // of a new intent and of an earlier one
	}{
		"a write that takes a free hold begins a trace": {"", here, reconcile, reconcile, action},
		"a write of the same holder keeps the trace":    {"rollout/zone-a", here, former, reconcile, action},
		"without tracing the former trace is kept":      {"", trace.SpanContext{}, former, "", action},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			s := testGroup()
			s.Hold.Holder = tc.before
			d := write(s, "rollout/zone-a", "zone-a-0", "zone-a-1")
			d.Record.Trace, d.Record.Intents[1].Trace = former, action
			if _, err := r.Run(trace.ContextWithSpanContext(t.Context(), tc.span), &s, nil, d); err != nil {
				t.Fatal(err)
			}
			var sent coordinationv1.Lease
			if err := json.Unmarshal([]byte(r.bodies[0]), &sent); err != nil {
				t.Fatal(err)
			}
			intents, _, err := record.ParseIntents(sent.Annotations[contract.IntentsAnnotation])
			if err != nil || len(intents) != 2 {
				t.Fatalf("got %v, %v", intents, err)
			}
			got := []string{sent.Annotations[contract.TraceAnnotation], intents[0].Trace, intents[1].Trace}
			if diff := cmp.Diff([]string{tc.hold, tc.fresh, tc.old}, got); diff != "" {
				t.Errorf("hold, new intent, former intent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTraceOfARollout(t *testing.T) {
	const former, begun = "00-11111111111111111111111111111111-1111111111111111-01", "00-22222222222222222222222222222222-2222222222222222-01"
	for sentence, tc := range map[string]struct {
		before plan.Holder
		has    string // the trace of the current rollout
		want   string
	}{
		"a rollout that begins begins a trace":              {"", "", begun},
		"a rollout that continues keeps its trace":          {"rollout/zone-a", former, former},
		"a rollout that takes the hold again has its trace": {"", former, former},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.Rollouts = &rollouts{begins: begun, exported: []string{"zone-a-0"}}
			s := testGroup()
			s.Hold.Holder = tc.before
			d := write(s, "rollout/zone-a")
			d.Record.Rollouts.Current = plan.RolledGroup{Trace: tc.has, Since: s.Now, Zones: []plan.RolledZone{
				{Name: "zone-a", Since: s.Now, Pods: []plan.RolledPod{{Name: "zone-a-0"}, {Name: "zone-a-1"}}},
			}}
			spans := tracetest.NewSpanRecorder()
			ctx, reconcile := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test").Start(t.Context(), "reconcile")
			if _, err := r.Run(ctx, &s, nil, d); err != nil {
				t.Fatal(err)
			}
			reconcile.End()
			if links := spans.Ended()[0].Links(); (len(links) == 1) != (tc.has == "") {
				t.Errorf("only the reconcile that begins a rollout is linked to it: %+v", links)
			}
			var sent coordinationv1.Lease
			if err := json.Unmarshal([]byte(r.bodies[0]), &sent); err != nil {
				t.Fatal(err)
			}
			current := record.ParseRollouts(sent.Annotations[contract.RolloutsAnnotation]).Current
			if got := sent.Annotations[contract.TraceAnnotation]; got != tc.want || current.Trace != tc.want {
				t.Errorf("the Lease has the trace %q and remembers %q, want %q", got, current.Trace, tc.want)
			}
			if pods := current.Zones[0].Pods; len(pods) != 1 || pods[0].Name != "zone-a-1" {
				t.Errorf("remembered: %+v, want the pod that is not exported", pods)
			}
		})
	}
}

// The record of a replacement serves only its span.
func TestTheLeaseKeepsReplacementsWithASampledTrace(t *testing.T) {
	const sampled, unsampled = "00-22222222222222222222222222222222-2222222222222222-01", "00-22222222222222222222222222222222-2222222222222222-00"
	const earlier = "00-33333333333333333333333333333333-3333333333333333-01"
	for begun, want := range map[string]string{sampled: earlier + sampled, unsampled: earlier, "": earlier} {
		r := newRoom(t)
		r.Rollouts = &rollouts{begins: begun}
		s := testGroup()
		d := write(s, "rollout/zone-a")
		one := plan.RolledPod{Name: "db-a", Open: true, Deleted: s.Now, Recreated: s.Now}
		d.Record.Rollouts.Replacements = []plan.Replacement{{Trace: earlier, RolledPod: one}, {RolledPod: one}}
		if _, err := r.Run(t.Context(), &s, nil, d); err != nil {
			t.Fatal(err)
		}
		var sent coordinationv1.Lease
		if err := json.Unmarshal([]byte(r.bodies[0]), &sent); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, one := range record.ParseRollouts(sent.Annotations[contract.RolloutsAnnotation]).Replacements {
			got += one.Trace
		}
		if got != want {
			t.Errorf("a trace %q begins: the Lease has replacements with the traces %q, want %q", begun, got, want)
		}
	}
}

// podCalls records the calls about downscales among the requests.
type podCalls struct{ *recorder }

func (a podCalls) Recorded(_ plan.Key, d, replaced group.Downscale) {
	text := "recorded " + d.String()
	if !replaced.None() {
		text += ", before " + replaced.String()
	}
	a.begin(text, nil)
	a.end()
}

func (a podCalls) Ask(_ plan.Key, zone group.Zone, d group.Downscale, pods []plan.Pod, _ time.Duration) {
	for _, pod := range pods {
		a.begin("call "+string(d.Stage)+" "+zone.Name+"/"+pod.Name, nil)
		a.end()
	}
}

func TestWritesOfADownscaleHaveThePreconditionsOfTheirObject(t *testing.T) {
	r := newRoom(t)
	s := testGroup()
	steps := []plan.Action{
		group.CancelDownscale{Downscale: fixture.Shrinking("zone-a", 3, 1, group.Admitted)},
		group.StampDownscale{Zone: "zone-b", UID: "uid-of-zone-b", Version: 11, Time: fixture.Now()},
	}
	if _, err := r.Run(t.Context(), &s, steps, hold.Decision{}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"PATCH statefulsets/zone-a": `{"metadata":{"uid":"zone-a","resourceVersion":"10","annotations":{"` +
			contract.VoidedAnnotation + `":"NOW"}}}`,
		"PATCH statefulsets/zone-b": `{"metadata":{"uid":"uid-of-zone-b","resourceVersion":"11","annotations":{"` +
			contract.DownscaledAnnotation + `":"2026-01-05T12:00:00Z"}}}`,
	}
	if diff := cmp.Diff(want, r.bodyOf()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReplicasAreSetWithThePreconditionsOfTheJudgedObject(t *testing.T) {
	r := newRoom(t)
	raise := group.SetReplicas{Zone: "zone-a", UID: "uid-of-zone-a", Version: 10, From: 2, To: 5}
	lower := group.SetReplicas{Zone: "zone-b", UID: "uid-of-zone-b", Version: 11, From: 2, To: 0}
	s := testGroup()
	s.Hold = group.HoldOf(write(s, "downscale/zone-b").Record)
	if _, err := r.Run(t.Context(), &s, []plan.Action{raise, lower}, hold.Decision{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"PATCH statefulsets/zone-b", "PATCH statefulsets/zone-a"}, r.said()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for i, want := range []string{
		`{"metadata":{"uid":"uid-of-zone-b","resourceVersion":"11"},"spec":{"replicas":0}}`,
		`{"metadata":{"uid":"uid-of-zone-a","resourceVersion":"10"},"spec":{"replicas":5}}`,
	} {
		if r.bodies[i] != want {
			t.Errorf("sent %s, want %s", r.bodies[i], want)
		}
	}
	if missing, _ := r.Fresh.Behind(new(testGroup())); missing == "" {
		t.Error("a view without the written object counts as up to date")
	}
}

func TestReplicasAreAddedThoughTheHoldCannotBeWritten(t *testing.T) {
	r := newRoom(t)
	r.refuses = func(what string) int32 {
		if what == newLease {
			return http.StatusInternalServerError
		}
		return 0
	}
	s := testGroup()
	raise := group.SetReplicas{Zone: "zone-b", UID: "uid-of-zone-b", Version: 11, From: 1, To: 2}
	lower := group.SetReplicas{Zone: "zone-a", UID: "uid-of-zone-a", Version: 10, From: 2, To: 1}
	receipts, err := r.Run(t.Context(), &s, []plan.Action{deletePod("zone-a-0"), lower, raise}, write(s, "rollout/zone-a", "zone-a-0"))
	if err == nil || len(receipts) != 1 || receipts[0].Step != plan.Action(raise) {
		t.Errorf("receipts %v, error %v; want the raise alone, and the error of the hold", receipts, err)
	}
	if diff := cmp.Diff([]string{newLease, "GET " + theLease, "PATCH statefulsets/zone-b"}, r.said()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestNoPodIsDeletedAfterReplicasWereAdded(t *testing.T) {
	r := newRoom(t)
	s := testGroup()
	raise := group.SetReplicas{Zone: "zone-b", UID: "uid-of-zone-b", Version: 11, From: 1, To: 2}
	if _, err := r.Run(t.Context(), &s, []plan.Action{raise, deletePod("zone-a-0")}, write(s, "rollout/zone-a", "zone-a-0")); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{newLease, "DELETE pods/zone-a-0", "PATCH statefulsets/zone-b"}, r.said()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReplicasAreAddedThoughPodsCannotBeDeleted(t *testing.T) {
	r := newRoom(t)
	r.refuses = refusing("DELETE pods/zone-a-0")
	s := testGroup()
	raise := group.SetReplicas{Zone: "zone-b", UID: "uid-of-zone-b", Version: 11, From: 1, To: 2}
	if _, err := r.Run(t.Context(), &s, []plan.Action{raise, deletePod("zone-a-0")}, write(s, "rollout/zone-a", "zone-a-0")); err == nil {
		t.Error("there is no receipt for the rejected delete")
	}
	if !slices.Contains(r.said(), "PATCH statefulsets/zone-b") {
		t.Errorf("no replicas were added: %v", r.said())
	}
}

func TestPodsAreDeletedThoughReplicasCannotBeAdded(t *testing.T) {
	const patch = "PATCH statefulsets/zone-b"
	r := newRoom(t)
	r.refuses = func(what string) int32 {
		switch what {
		case patch:
			return http.StatusForbidden
		case "GET " + theLease:
			return http.StatusNotFound
		}
		return 0
	}
	s := testGroup()
	raise := group.SetReplicas{Zone: "zone-b", UID: "uid-of-zone-b", Version: 11, From: 1, To: 2}
	_, err := r.Run(t.Context(), &s, []plan.Action{deletePod("zone-a-0"), raise}, write(s, "rollout/zone-a", "zone-a-0"))
	if err == nil {
		t.Error("there is no receipt for the rejected scale-up")
	}
	if diff := cmp.Diff([]string{newLease, "DELETE pods/zone-a-0", patch}, r.said()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestPodsAreCalledAfterTheHoldWasWritten(t *testing.T) {
	s := testGroup()
	leave, stay := fixture.Shrinking("zone-a", 2, 1, group.Preparing), fixture.Shrinking("zone-a", 2, 1, group.Undoing)
	theirs, agreed := leave, fixture.Shrinking("zone-a", 2, 1, group.Admitted)
	leave.Ours, agreed.Ours = true, true
	former := fixture.Shrinking("zone-a", 3, 1, group.Admitted)
	removed := s.Zones[0].Pods[1:]
	for sentence, tc := range map[string]struct {
		steps   []plan.Action
		prepare func(*room)
		want    []string
	}{
		"to prepare":                {[]plan.Action{group.PreparePods{Downscale: leave, Pods: removed, Within: time.Second}}, nil, []string{newLease, "call preparing zone-a/zone-a-1"}},
		"to undo that":              {[]plan.Action{group.CancelPreparation{Downscale: stay, Pods: removed}}, nil, []string{newLease, "call undoing zone-a/zone-a-1"}},
		"not before it is recorded": {[]plan.Action{group.RecordDownscale{Downscale: leave}}, nil, []string{newLease, "recorded zone-a from 2 to 1 preparing"}},
		"and the previous record": {
			[]plan.Action{group.RecordDownscale{Downscale: leave, Former: former}}, nil,
			[]string{newLease, "recorded zone-a from 2 to 1 preparing, before zone-a from 3 to 1 admitted"},
		},
		"not where that failed":                {[]plan.Action{group.RecordDownscale{Downscale: leave}, group.CancelPreparation{Downscale: stay, Pods: removed}}, func(r *room) { r.refuses = refusing(newLease) }, []string{newLease, "GET " + theLease}},
		"not in an unmanaged namespace":        {[]plan.Action{group.CancelPreparation{Downscale: stay, Pods: removed}}, func(r *room) { r.optedOut = true }, nil},
		"not in a dry run":                     {[]plan.Action{group.CancelPreparation{Downscale: stay, Pods: removed}}, func(r *room) { r.DryRun = true }, nil},
		"and no other downscale is recorded":   {[]plan.Action{group.RecordDownscale{Downscale: stay}}, nil, []string{newLease}},
		"nor the preparation of a webhook":     {[]plan.Action{group.RecordDownscale{Downscale: theirs}}, nil, []string{newLease}},
		"nor a downscale that needs no answer": {[]plan.Action{group.RecordDownscale{Downscale: agreed}}, nil, []string{newLease}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.Preparations = podCalls{r.recorder}
			if tc.prepare != nil {
				tc.prepare(r)
			}
			_, err := r.Run(t.Context(), &s, tc.steps, write(s, "downscale/zone-a"))
			if failed := r.refuses != nil || r.optedOut; (err != nil) != failed {
				t.Errorf("got error %v", err)
			}
			if diff := cmp.Diff(tc.want, r.said()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A hold from outside has the duration that a person chose. Even so, the pods of a downscale that is being
// undone are notified.
func TestPodsAreNotifiedToStayUnderALapsedHold(t *testing.T) {
	s := testGroup()
	r := newRoom(t)
	r.Preparations = podCalls{r.recorder}
	undo := group.CancelPreparation{Downscale: fixture.Shrinking("zone-a", 2, 1, group.Undoing), Pods: s.Zones[0].Pods[1:]}
	if _, err := r.Run(t.Context(), &s, []plan.Action{undo}, outside(s)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{newLease, "call undoing zone-a/zone-a-1"}, r.said()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// If the write to its zone failed, a pod may still be deleted, so it must not be notified
// that it stays.
func TestPodsAreNotNotifiedToStayIfAWriteOfTheirZoneFailed(t *testing.T) {
	s := testGroup()
	for sentence, failing := range map[string]plan.Action{
		"a cancelled downscale": group.CancelDownscale{Downscale: fixture.Shrinking("zone-a", 2, 1, group.Admitted)},
		"a raise":               group.SetReplicas{Zone: "zone-a", UID: "uid-of-zone-a", Version: 10, From: 1, To: 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.Messages = r.recorder
			r.refuses = refusing("PATCH statefulsets/zone-a")
			notify := group.NotifyPods{Zone: "zone-a", Message: group.Stay, Pods: s.Zones[0].Pods}
			if _, err := r.Run(t.Context(), &s, []plan.Action{failing, notify}, hold.Decision{}); err == nil {
				t.Error("a write that fails is no error")
			}
			if diff := cmp.Diff([]string{"PATCH statefulsets/zone-a"}, r.said()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Slow answers use up only the time that a plan may spend under the hold.
func TestReplicasAreAddedThoughWritesUnderTheHoldTakeTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRoom(t)
		r.takes = 9 * time.Second
		var steps []plan.Action
		for range 6 {
			steps = append(steps, group.AdoptRevision{Zone: "zone-a", UID: "u", Version: 10, Revision: "2"})
		}
		steps = append(steps, group.SetReplicas{Zone: "zone-b", UID: "uid-of-zone-b", Version: 11, From: 1, To: 2})
		receipts, _ := r.Run(t.Context(), new(testGroup()), steps, hold.Decision{})
		if last := receipts[len(receipts)-1]; !slices.Contains(r.said(), "PATCH statefulsets/zone-b") || last.Err != nil {
			t.Errorf("replicas are not added: %v", last)
		}
	})
}

// A plan must not occupy a worker so long that the process seems to hang.
func TestAPlanHasAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := apitest.Client(t, unanswered{})
		e := &act.Executor{
			Client: client, Holds: lease.NewStore(client, "", "lockstep-0"), Fresh: freshness.NewLog(), Tracer: noop.Tracer{},
			Managed: func(string) bool { return true }, Clock: clock.New(),
		}
		var steps []plan.Action
		for i := range 22 {
			steps = append(steps, group.SetReplicas{Zone: fmt.Sprintf("zone-%d", i), UID: "u", Version: 1, From: 1, To: 2})
		}
		began := time.Now()
		receipts, err := e.Run(t.Context(), &group.Snapshot{Key: plan.Key{Namespace: "team", Name: "store"}}, steps, hold.Decision{})
		if took := time.Since(began); took > time.Minute || err == nil || len(receipts) != len(steps) {
			t.Errorf("%d steps took %s: %v; want a receipt for each of them after a minute", len(receipts), took, err)
		}
	})
}

// unanswered is an API server that never answers.
type unanswered struct{}

func (unanswered) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}
