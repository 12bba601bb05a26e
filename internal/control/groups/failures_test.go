package groups_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
		"the step of one zone failed": {[]plan.Receipt{{Step: a, Err: errors.New("no")}, {Step: b}, {Step: report}}, "wait zone-a because RequestForbidden"},
		"a report is forbidden": {
			[]plan.Receipt{{Step: a}, {Step: b}, {Step: report, Err: forbidden}},
			"wait zone-b because ReferenceForbidden (patch the status of Template.example.com web)",
		},
		"a report fails": {[]plan.Receipt{{Step: a}, {Step: b}, {Step: report, Err: errors.New("no")}}, "wait zone-b because RequestForbidden"},
		"the deletion of a pod of another zone was left out": {
			[]plan.Receipt{{Step: b, Err: errors.New("no")}, {Step: report}},
			"wait zone-a because RequestFailing (not sent yet, because other requests failed slowly); wait zone-b because RequestForbidden",
		},
		"the hold could not be written": {nil, "wait zone-a because RequestForbidden; wait zone-b because RequestForbidden"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := reported(groups.Stalled(steps, tc.done, because, func(plan.Action) error { return nil })); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// Otherwise the reason would change with every plan.
func TestAZoneThatWasLeftOutKeepsTheReasonOfItsLastFailure(t *testing.T) {
	const broken = rolling + "zone-a rev=2 current=1\n zone-a-0 failing@1\nzone-b rev=2 current=1\n zone-b-0 failing@1\n"
	of := func(zone string) plan.Action { return plan.DeletePod{Zone: zone, Pod: zone + "-0"} }
	w := world{}
	c, _ := newController(&w)
	synctest.Test(t, func(t *testing.T) {
		for n, round := range []struct {
			sent plan.Action
			fail error
			want string
		}{
			{of("zone-a"), apierrors.NewForbidden(pods, "zone-a-0", nil), "wait zone-a because RequestForbidden (Forbidden); wait zone-b because RequestFailing (not sent yet, because other requests failed slowly)"},
			{of("zone-b"), apierrors.NewInternalError(errors.New("etcd")), "wait zone-a because RequestForbidden (Forbidden); wait zone-b because RequestFailing (InternalError)"},
			{of("zone-a"), apierrors.NewForbidden(pods, "zone-a-0", nil), "wait zone-a because RequestForbidden (Forbidden); wait zone-b because RequestFailing (InternalError)"},
		} {
			for range 2 { // failures are reported once they last
				w.cached, w.live, w.reported = today(broken), today("live\n"+broken), nil
				w.done, w.runFails = []plan.Receipt{{Step: round.sent, Err: round.fail}}, round.fail
				_, _ = c.Reconcile(t.Context(), store)
				time.Sleep(6 * time.Second)
			}
			if got := w.reported; len(got) != 1 || !strings.HasSuffix(got[0], round.want) {
				t.Errorf("round %d: reported %q, want at the end %q", n, got, round.want)
			}
		}
	})
}

// All reports contain the same reason.
func TestFailingRequestsReplaceOtherWaitsOfTheirZone(t *testing.T) {
	withdraw := plan.CancelDeletion{Intent: plan.Intent{Zone: "zone-a", Pod: "zone-a-0"}}
	paused := func(zone string) plan.Action {
		return plan.Wait{Zone: zone, Because: plan.Refusal{Code: reason.Paused}}
	}
	steps := []plan.Action{withdraw, paused("zone-a"), paused("zone-b")}
	because := plan.Refusal{Code: reason.RequestForbidden}
	stalled := groups.Stalled(steps, []plan.Receipt{{Step: withdraw, Err: errors.New("no")}}, because, func(plan.Action) error { return nil })
	got := reported(groups.WithFailures(steps, stalled)[1:])
	if want := "wait zone-b because Paused; wait zone-a because RequestForbidden"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if after := reported(steps[1:]); after != "wait zone-a because Paused; wait zone-b because Paused" {
		t.Errorf("the plan itself has become %q", after)
	}
}
