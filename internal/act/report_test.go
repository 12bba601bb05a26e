package act_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// references is a References that knows one kind and records reports.
type references struct {
	kind     string
	reported map[string]group.Report
}

func (r *references) Resource(of group.Reference) (schema.GroupVersionResource, bool) {
	return schema.GroupVersionResource{Group: of.APIGroup, Version: "v1", Resource: "templates"}, of.Kind == r.kind
}

func (r *references) Reported(namespace string, report group.ReportReplicas, written group.Report) {
	r.reported[namespace+"/"+report.Reference.String()] = written
}

var report = group.ReportReplicas{
	Zone: "zone-a", Reference: group.Reference{APIGroup: "example.com", Kind: "Template", Name: "web"}, UID: "uid-of-web", Version: "41", From: 2, To: 3,
}

const patchStatus = "PATCH templates/web/status"

func TestReplicasAreReportedToTheVeryObjectThatWasJudged(t *testing.T) {
	for sentence, tc := range map[string]struct {
		kind     string
		code     int32
		requests []string
		reported bool
		class    reason.Class
	}{
		"they are":                        {"Template", 0, []string{patchStatus}, true, reason.Again},
		"it has changed":                  {"Template", http.StatusConflict, []string{patchStatus}, false, reason.Moved},
		"it was deleted":                  {"Template", http.StatusNotFound, []string{patchStatus}, false, reason.Moved},
		"its kind was deleted":            {"Other", 0, nil, false, reason.Moved},
		"lockstep may not write to it":    {"Template", http.StatusForbidden, []string{patchStatus}, true, reason.Again},
		"a schema does not let it pass":   {"Template", http.StatusUnprocessableEntity, []string{patchStatus}, true, reason.Again},
		"the API server cannot answer it": {"Template", http.StatusInternalServerError, []string{patchStatus}, true, reason.Again},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			known := &references{tc.kind, map[string]group.Report{}}
			r.References = known
			r.refuses = func(string) int32 { return tc.code }
			began := time.Now()
			receipts, err := r.Run(t.Context(), new(testGroup()), []plan.Action{report}, hold.Decision{})
			failed := tc.kind != "Template" || tc.code != 0
			if (err != nil) != failed || (err != nil && reason.ClassOf(err) != tc.class) {
				t.Errorf("got %v of class %v", err, reason.ClassOf(err))
			}
			if len(receipts) != 1 || !errors.Is(err, receipts[0].Err) {
				t.Errorf("receipts %v", receipts)
			}
			if diff := cmp.Diff(tc.requests, r.said()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			const want = `{"metadata":{"uid":"uid-of-web","resourceVersion":"41"},"status":{"replicas":3}}`
			if len(r.bodies) > 0 && r.bodies[0] != want {
				t.Errorf("sent %s, want %s", r.bodies[0], want)
			}
			got, reported := known.reported["team/Template.example.com web"]
			if reported != tc.reported || (reported && (got.Replicas != 3 || got.Failed != failed || got.At.Before(began))) {
				t.Errorf("reported %+v, %t", got, reported)
			}
		})
	}
}

// A report that was rejected permanently is not sent again after each event of the group.
func TestAReportThatIsRefusedIsNotTriedAgainAtOnce(t *testing.T) {
	r := newRoom(t)
	known := &references{"Template", map[string]group.Report{}}
	r.References = known
	r.refuses = func(string) int32 { return http.StatusForbidden }
	s := testGroup()
	for range 10 {
		s.Now = time.Now()
		s.Zones[0].Mirror = group.Mirror{Reference: report.Reference, WriteBack: true, Scale: group.Scale{
			UID: "uid-of-web", Version: "41", Replicas: s.Zones[0].Replicas, Reported: 9, Least: -1, Written: known.reported["team/Template.example.com web"],
		}}
		var reports []plan.Action
		for _, step := range group.Plan(s) {
			if _, is := step.(group.ReportReplicas); is {
				reports = append(reports, step)
			}
		}
		_, _ = r.Run(t.Context(), &s, reports, hold.Decision{})
	}
	if diff := cmp.Diff([]string{patchStatus}, r.said()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestReplicasAreReportedThoughTheHoldCannotBeWritten(t *testing.T) {
	r := newRoom(t)
	r.References = &references{"Template", map[string]group.Report{}}
	r.refuses = func(what string) int32 {
		if what == newLease {
			return http.StatusInternalServerError
		}
		return 0
	}
	s := testGroup()
	receipts, err := r.Run(t.Context(), &s, []plan.Action{report, adopt, deletePod("zone-a-0")}, write(s, "rollout/zone-a", "zone-a-0"))
	if err == nil || len(receipts) != 1 || receipts[0].Step != plan.Action(report) {
		t.Errorf("receipts %v, error %v; want the report alone, and the error of the hold", receipts, err)
	}
	if diff := cmp.Diff([]string{newLease, "GET " + theLease, patchStatus}, r.said()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
