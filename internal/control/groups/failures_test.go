package groups_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/control/groups"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

var (
	pods  = schema.GroupResource{Resource: "pods"}
	moved = reason.WithClass(reason.Moved, apierrors.NewConflict(pods, "zone-a-0", nil))
)

const deletes = "delete zone-a-0 of zone-a because OutdatedRevision"

func TestLastingFailuresAreReported(t *testing.T) {
	for sentence, tc := range map[string]struct {
		fails    error
		reported string        // as the reason of zone-a's wait
		after    time.Duration // of failing
	}{
		"a request that is forbidden, soon": {
			apierrors.NewForbidden(pods, "zone-a-0", errors.New("a policy's own text")), "RequestForbidden (Forbidden)", time.Second,
		},
		"a request that is forbidden next to others that conflicted or failed": {
			errors.Join(moved, apierrors.NewInternalError(errors.New("etcd")), errors.Join(apierrors.NewForbidden(pods, "zone-a-1", nil))),
			"RequestForbidden (Forbidden)", time.Second,
		},
		"an API server that cannot keep up, when it lasts": {
			apierrors.NewTooManyRequests("slow down", 1), "RequestFailing (TooManyRequests)", 5 * time.Second,
		},
		"an API server that fails, when it lasts": {
			apierrors.NewInternalError(errors.New("etcd")), "RequestFailing (InternalError)", 5 * time.Second,
		},
		"an API server that does not answer, when it lasts": {
			fmt.Errorf("delete pod: %w", context.DeadlineExceeded), "RequestFailing (no answer in time)", 5 * time.Second,
		},
		"an API server that is away, when it lasts": {
			errors.New("connection refused"), "RequestFailing (no answer)", 5 * time.Second,
		},
		"repeated conflicts": {
			errors.Join(moved, moved), "RequestFailing (Conflict)", 30 * time.Second,
		},
		"the end of this process, never": {
			errors.Join(context.Canceled, fmt.Errorf("delete pod: %w", context.Canceled)), "", 0,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{runFails: tc.fails}
				c, _ := newController(&w)
				began := time.Now()
				for time.Since(began) < time.Minute {
					w.cached, w.reported = today(rolling+outdated), nil
					if _, err := c.Reconcile(t.Context(), store); err == nil {
						t.Fatal("no error")
					}
					reported := slices.Equal(w.reported, []string{deletes + "; wait zone-a because " + tc.reported})
					if due := tc.reported != "" && time.Since(began) >= tc.after; reported != due {
						t.Fatalf("after %s: reported %q", time.Since(began), w.reported)
					}
					time.Sleep(time.Second)
				}
			})
		})
	}
}

func TestLastingFailureOfLiveReadsIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{lookFails: apierrors.NewInternalError(errors.New("etcd"))}
		c, _ := newController(&w)
		for range 10 {
			w.cached = today(outdated)
			if _, err := c.Reconcile(t.Context(), store); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(time.Second)
		}
		if len(w.reported) != 5 || w.reported[0] != deletes+"; wait zone-a because RequestFailing (InternalError)" {
			t.Errorf("reported %q", w.reported)
		}
	})
}

func TestSuccessEndsAReportedFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		c, _ := newController(&w)
		for round := range 20 {
			w.cached, w.reported, w.runFails = today(rolling+outdated), nil, nil
			if round%4 != 0 {
				w.runFails = errors.New("connection refused")
			}
			_, _ = c.Reconcile(t.Context(), store)
			if !slices.Equal(w.reported, []string{deletes}) {
				t.Fatalf("round %d: reported %q", round, w.reported)
			}
			time.Sleep(time.Second)
		}
	})
}

// The waits of other zones do not change.
func TestOnlyZonesWithFailedStepsAreStalled(t *testing.T) {
	because := plan.Refusal{Code: reason.RequestForbidden}
	a, b := plan.DeletePod{Zone: "zone-a", Pod: "zone-a-0"}, group.AdoptRevision{Zone: "zone-b"}
	report := group.ReportReplicas{Zone: "zone-b", Reference: group.Reference{APIGroup: "example.com", Kind: "Template", Name: "web"}}
	forbidden := fmt.Errorf("report: %w", apierrors.NewForbidden(pods, "web", nil))
	steps := []plan.Action{a, b, report, plan.Wait{Zone: "zone-c", Because: plan.Refusal{Code: reason.Paused}}}
	for sentence, tc := range map[string]struct {
		done []plan.Receipt
		want string
	}{
		"the step of one zone failed": {[]plan.Receipt{{Step: a, Err: errors.New("no")}, {Step: b}}, "wait zone-a because RequestForbidden"},
		"a report is forbidden": {
			[]plan.Receipt{{Step: a}, {Step: report, Err: forbidden}},
			"wait zone-b because ReferenceForbidden (patch the status of Template.example.com web)",
		},
		"a report fails": {[]plan.Receipt{{Step: a}, {Step: b}, {Step: report, Err: errors.New("no")}}, "wait zone-b because RequestForbidden"},
		"the deletion of a pod of another zone was left out": {
			[]plan.Receipt{{Step: b, Err: errors.New("no")}},
			"wait zone-a because RequestFailing (not sent yet, because other requests failed slowly); wait zone-b because RequestForbidden",
		},
		"the hold could not be written": {nil, "wait zone-a because RequestForbidden; wait zone-b because RequestForbidden"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := reported(groups.Stalled(steps, tc.done, because)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// All reports contain the same reason.
func TestFailingRequestsReplaceOtherWaitsOfTheirZone(t *testing.T) {
	withdraw := plan.CancelDeletion{Intent: plan.Intent{Zone: "zone-a", Pod: "zone-a-0"}}
	paused := func(zone string) plan.Action {
		return plan.Wait{Zone: zone, Because: plan.Refusal{Code: reason.Paused}}
	}
	steps := []plan.Action{withdraw, paused("zone-a"), paused("zone-b")}
	because := plan.Refusal{Code: reason.RequestForbidden}
	got := reported(groups.WithFailures(steps, []plan.Receipt{{Step: withdraw, Err: errors.New("no")}}, because)[1:])
	if want := "wait zone-b because Paused; wait zone-a because RequestForbidden"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if after := reported(steps[1:]); after != "wait zone-a because Paused; wait zone-b because Paused" {
		t.Errorf("the plan itself has become %q", after)
	}
}
