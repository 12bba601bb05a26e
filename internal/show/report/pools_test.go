package report_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Actions that failed count nothing, but for claims that were deleted although others were not.
func TestWhatIsDoneToAStatefulClusterIsCounted(t *testing.T) {
	r := newRoom()
	s := &pool.Snapshot{
		Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, Now: time.Unix(1_800_000_000, 0),
		Object: pool.Object{UID: "u", Replicas: 2}, Claims: []pool.Claim{{ID: "a", Pool: "u", Retired: true}},
	}
	done := func(steps ...plan.Action) (receipts []plan.Receipt) {
		for _, step := range steps {
			receipts = append(receipts, plan.Receipt{Step: step})
		}
		return receipts
	}
	r.Pool(s, []plan.Action{plan.Wait{Zone: "db", Because: plan.Refusal{Code: reason.PodMissing}}}, append(done(
		pool.CreatePods{Pool: "db", IDs: []pool.ID{"b", "c"}},
		pool.HandOver{Pool: "db", ID: "d"},
		plan.DeletePod{Zone: "db", Pod: "db-f", Because: reason.ScaledDown},
		pool.RetireIdentity{Pool: "db", ID: "a", Because: reason.NodeGone},
		pool.DeleteClaims{Pool: "db", ID: "g", Claims: make([]pool.Claim, 3), Policy: pool.RetiredLimit},
	), plan.Receipt{Step: pool.HandOver{Pool: "db", ID: "h"}, Err: errors.New("no answer")},
		plan.Receipt{Step: pool.CreatePods{Pool: "db", IDs: make([]pool.ID, 4)}, Err: &plan.PartialError{Done: 3, Errs: []error{errors.New("no answer")}}},
		plan.Receipt{Step: pool.DeleteClaims{Pool: "db", ID: "i", Claims: make([]pool.Claim, 3), Policy: pool.RetiredTTLSeconds}, Err: &plan.PartialError{Done: 2, Errs: []error{errors.New("no answer")}}},
		plan.Receipt{Step: pool.DeleteClaims{Pool: "db", ID: "j", Claims: make([]pool.Claim, 3), Policy: pool.RetiredTTLSeconds}, Err: errors.New("no answer")},
	))
	shown := r.series(t)
	for _, want := range []string{
		`births_total{name="db",namespace="team"} 5`, `handovers_total{name="db",namespace="team"} 1`, `births_refused_total{name="db",namespace="team"} 0`,
		`pods_deleted_total{name="db",namespace="team",reason="ScaledDown"} 1`, `retirements_total{name="db",namespace="team",reason="NodeGone"} 1`,
		`claims_deleted_total{name="db",namespace="team",policy="retiredLimit"} 3`, `claims_deleted_total{name="db",namespace="team",policy="retiredTTLSeconds"} 2`,
		`retired_claims{name="db",namespace="team"} 1`, `waiting{name="db",namespace="team",reason="PodMissing"} 1`,
		`desired{name="db",namespace="team"} 2`, `unavailable{name="db",namespace="team"} 2`,
	} {
		if !hasSeries(shown, want) {
			t.Errorf("%s is not among %v", want, shown)
		}
	}
	r.Forget(s.Key)
	if left := slices.DeleteFunc(r.series(t), func(line string) bool { return !strings.Contains(line, `name="db"`) }); len(left) > 0 {
		t.Errorf("series of a forgotten StatefulCluster: %v", left)
	}
}

// Quotas and policies refuse pods and claims. A request without an answer, or one that met a changed object, was not refused.
func TestRefusedBirthsAreCounted(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("pods"), "db-a", errors.New("exceeded quota"))
	for sentence, tc := range map[string]struct {
		step plan.Action
		err  error
		want int
	}{
		"a quota refuses pods":            {pool.CreatePods{Pool: "db"}, fmt.Errorf("create pod team/db-a: %w", forbidden), 1},
		"a quota refuses the next pod":    {pool.HandOver{Pool: "db"}, forbidden, 1},
		"a quota refuses claims":          {pool.CompletePod{Pool: "db"}, forbidden, 1},
		"one of several is refused":       {pool.CreatePods{Pool: "db"}, errors.Join(errors.New("no answer"), forbidden), 1},
		"the API server finds it invalid": {pool.CreatePods{Pool: "db"}, apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "db-a", nil), 1},
		"a webhook refuses it":            {pool.CreatePods{Pool: "db"}, apierrors.NewBadRequest("denied"), 1},
		"no answer":                       {pool.CreatePods{Pool: "db"}, errors.New("no answer"), 0},
		"the pod exists":                  {pool.HandOver{Pool: "db"}, apierrors.NewAlreadyExists(corev1.Resource("pods"), "db-a"), 0},
		"something else is forbidden":     {pool.RetireIdentity{Pool: "db"}, forbidden, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			r, s := newRoom(), &pool.Snapshot{Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, Object: pool.Object{UID: "u"}}
			r.Pool(s, nil, []plan.Receipt{{Step: tc.step, Err: tc.err}})
			if want := fmt.Sprintf("births_refused_total{name=\"db\",namespace=\"team\"} %d", tc.want); !hasSeries(r.series(t), want) {
				t.Errorf("%s is not shown", want)
			}
		})
	}
}

func TestWhatHappensToPodsThatFailIsShown(t *testing.T) {
	r, now := newRoom(), time.Unix(1_800_000_000, 0)
	s := &pool.Snapshot{
		Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, Now: now,
		Object: pool.Object{UID: "u", Replicas: 2, Liveness: pool.Liveness{CrashLoop: time.Hour}},
		Pods: []pool.Pod{
			{Pod: plan.Pod{Name: "db-a", UID: "a", Phase: plan.Failing, Why: "CrashLoopBackOff"}, ID: "a", Owner: "u", NotReady: now.Add(-time.Minute)},
			{Pod: plan.Pod{Name: "db-b", UID: "b", Phase: plan.Ready}, ID: "b", Owner: "u"},
		},
	}
	r.Pool(s, nil, []plan.Receipt{{Step: plan.DeletePod{Zone: "db", Pod: "db-b", Because: reason.ClaimLost}}})
	for _, want := range []string{
		`crash_loop_expiry_timestamp_seconds{name="db",namespace="team"} 1.80000354e+09`, `claims_lost_total{name="db",namespace="team"} 1`,
	} {
		if shown := r.series(t); !hasSeries(shown, want) {
			t.Errorf("%s is not among %v", want, shown)
		}
	}
}

// hasSeries reports whether a line of a scrape ends so.
func hasSeries(shown []string, want string) bool {
	return slices.ContainsFunc(shown, func(line string) bool { return strings.HasSuffix(line, "lockstep_statefulcluster_"+want) })
}

// The pod becomes Ready 12 s after the record of its update, and has to be Ready for 5 s.
func TestAnUpdateInPlaceLastsUntilThePodIsAvailable(t *testing.T) {
	began := time.Unix(1_800_000_000, 400_000_000)
	for sentence, tc := range map[string]struct {
		ready, seen time.Duration // after the beginning of that second, or after the record
		want        string
	}{
		"when the pod is seen to be available":                  {12 * time.Second, 17100 * time.Millisecond, "17.1"},
		"not later than its condition if the reconcile is late": {12 * time.Second, time.Hour, "17.6"},
		"now, if the pod has been Ready all the time":           {-time.Hour, 800 * time.Millisecond, "0.8"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom()
			s := &pool.Snapshot{
				Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, Now: began.Add(tc.seen), PodsAt: 30,
				Object: pool.Object{UID: "u", Replicas: 1, MinReady: 5 * time.Second},
				Pods: []pool.Pod{{
					Pod: plan.Pod{Name: "db-a", UID: "a", Version: 20, Phase: plan.Ready, ReadySince: began.Truncate(time.Second).Add(tc.ready)},
					ID:  "a", Owner: "u", Update: pool.InPlaceUpdate{Revision: "db-2", At: 10},
				}},
			}
			s.Hold.Intents = []plan.Intent{{Zone: "db", Pod: "db-a", UID: "a", Version: 10, Cause: reason.UpdatedInPlace, Since: began}}
			for range 2 {
				r.Pool(s, nil, nil)
			}
			for _, want := range []string{"inplace_seconds_sum " + tc.want, "inplace_seconds_count 1", `inplace_updates_total{name="db",namespace="team",outcome="completed"} 1`} {
				if shown := r.series(t); !hasSeries(shown, want) {
					t.Errorf("%s is not among %v", want, shown)
				}
			}
		})
	}
}

func TestAForgottenStatefulClusterHasNoUpdates(t *testing.T) {
	r := newRoom()
	s := &pool.Snapshot{
		Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, PodsAt: 30, Object: pool.Object{UID: "u"},
		Pods: []pool.Pod{{Pod: plan.Pod{Name: "db-a", UID: "a", Version: 11}, ID: "a", Owner: "u", Update: pool.InPlaceUpdate{Revision: "db-2", At: 10}}},
	}
	s.Hold.Intents = []plan.Intent{{Zone: "db", Pod: "db-a", UID: "a", Version: 10, Cause: reason.UpdatedInPlace}}
	r.Pool(s, nil, nil)
	r.Forget(s.Key)
	s.Hold.Intents, s.Pods = nil, nil
	r.Pool(s, nil, nil)
	if shown := r.series(t); slices.ContainsFunc(shown, func(line string) bool { return strings.Contains(line, "inplace_updates_total") }) {
		t.Errorf("an update of a forgotten StatefulCluster is counted: %v", shown)
	}
}
