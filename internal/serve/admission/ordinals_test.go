package admission_test

import (
	"math"
	"net/http"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func from(first int32) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: first} }
}

// The StatefulSet controller would delete zone-a-0, which is ready. A downscale would delete
// zone-a-2, which is down.
func TestChangeOfOrdinalsIsRefusedDuringARollout(t *testing.T) {
	group := rolling()
	group.Zones[0].Pods[2].Phase = plan.Failing
	response := answerTo(t, post(t, preparing(group), preparePath, update(t, set(3), set(2, from(1))))).Response
	const want = "downscale of statefulsets/zone-a in team from 3 to 2 replicas is not allowed because the change moves spec.ordinals.start, " +
		"so it deletes other pods than those with the highest ordinals, which were not judged or prepared. It is refused (OrdinalsChanged zone-a (from 0 to 1))"
	if response.Allowed || response.Result.Code != http.StatusForbidden || response.Result.Message != want {
		t.Errorf("got %+v, %+v", response, response.Result)
	}
}

func TestZoneWithPodsKeepsItsFirstOrdinal(t *testing.T) {
	for sentence, tc := range map[string]struct {
		before, after *appsv1.StatefulSet
		code          int
		why           reason.Code
	}{
		"the first pod is removed, a last one is added": {set(3), set(3, from(1)), http.StatusForbidden, reason.OrdinalsChanged},
		"the first pod is removed during a scale-up":    {set(3), set(5, from(1)), http.StatusForbidden, reason.OrdinalsChanged},
		"only the first pod is removed":                 {set(3), set(2, from(1)), http.StatusForbidden, reason.OrdinalsChanged},
		"all pods are removed":                          {set(3), set(0, from(1)), http.StatusForbidden, reason.OrdinalsChanged},
		"all of them go very far away":                  {set(3), set(3, from(math.MaxInt32)), http.StatusForbidden, reason.OrdinalsChanged},
		"the last pod is removed, a first one is added": {set(3, from(1)), set(3), http.StatusForbidden, reason.OrdinalsChanged},
		"the replicas are unknown":                      {set(-1), set(-1, from(1)), http.StatusBadRequest, reason.ReplicasUnknown},
		"only the last pod is removed":                  {set(3, from(1)), set(2, from(1)), http.StatusOK, reason.DownscaleAdmitted},
		"pods are added in front and none is removed":   {set(3, from(1)), set(4), http.StatusOK, reason.NotADownscale},
		"there are no pods to remove":                   {set(0), set(3, from(1)), http.StatusOK, reason.NotADownscale},
		"the default value is written out":              {set(3), set(3, from(0)), http.StatusOK, reason.NotADownscale},
	} {
		t.Run(sentence, func(t *testing.T) {
			isAnswered(t, update(t, tc.before, tc.after), tc.code, tc.why)
		})
	}
}

// isAnswered checks the answer to a change of a zone of a group at rest.
func isAnswered(t *testing.T, change []byte, code int, why reason.Code) {
	t.Helper()
	response := answerTo(t, post(t, preparing(atRest()), preparePath, change)).Response
	got := http.StatusOK
	if !response.Allowed {
		got = int(response.Result.Code)
	}
	if out := response.AuditAnnotations["reason"]; got != code || out != string(why) {
		t.Errorf("got %d %s, want %d %s", got, out, code, why)
	}
}

func TestStatusUpdateMovesNoOrdinals(t *testing.T) {
	body := update(t, set(3), set(3, from(1)), func(r *admissionv1.AdmissionReview) { r.Request.SubResource = "status" })
	if response := answerTo(t, post(t, preparing(rolling()), preparePath, body)).Response; !response.Allowed {
		t.Errorf("got %+v", response.Result)
	}
}
