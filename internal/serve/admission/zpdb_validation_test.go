package admission_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

const budgetPath = "/admission/zpdb-validation"

// validation returns a handler without a Judge, and its observations.
func validation() (http.Handler, *[]admission.Observation) {
	var observed []admission.Observation
	return admission.New(admission.Options{
		Log: silent(), Observe: func(o admission.Observation) { observed = append(observed, o) },
	}), &observed
}

// creation returns the review of a budget with the given spec as the API server sends it.
func creation(tb testing.TB, spec string, more ...func(*admissionv1.AdmissionRequest)) []byte {
	tb.Helper()
	object := `{"apiVersion":"rollout-operator.grafana.com/v1","kind":"ZoneAwarePodDisruptionBudget","metadata":{"name":"ingester","namespace":"team"},"spec":` + spec + `}`
	review := &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "uid-of-request", Namespace: "team", Name: "ingester", Operation: admissionv1.Create,
			Resource: metav1.GroupVersionResource{Group: "rollout-operator.grafana.com", Version: "v1", Resource: "zoneawarepoddisruptionbudgets"},
			Object:   runtime.RawExtension{Raw: []byte(object)},
		},
	}
	for _, change := range more {
		change(review.Request)
	}
	return encode(tb, review)
}

const ingesters = `"selector":{"matchLabels":{"rollout-group":"ingester"}}`

func dry(q *admissionv1.AdmissionRequest) { q.DryRun = new(true) }

func updating(q *admissionv1.AdmissionRequest) {
	q.Operation, q.OldObject = admissionv1.Update, q.Object
}

func TestValidBudgetIsAllowed(t *testing.T) {
	for sentence, body := range map[string][]byte{
		"of zones":                    creation(t, `{`+ingesters+`,"maxUnavailable":2}`),
		"of partitions":               creation(t, `{`+ingesters+`,"podNamePartitionRegex":"ingester-zone-[a-c]-([0-9]+)","crossZoneEvictionDelay":"10m"}`),
		"with 0% of partitions":       creation(t, `{`+ingesters+`,"podNamePartitionRegex":"ingester-zone-[a-c]-([0-9]+)","maxUnavailablePercentage":0}`),
		"in a dry run":                creation(t, `{`+ingesters+`}`, dry),
		"as an update":                creation(t, `{`+ingesters+`}`, updating),
		"with a field of other kinds": creation(t, `{`+ingesters+`,"replicas":"three"}`),
		"from an earlier API server":  []byte(strings.Replace(string(creation(t, `{`+ingesters+`}`)), "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1)),
	} {
		t.Run(sentence, func(t *testing.T) {
			h, observed := validation()
			response := answerTo(t, post(t, h, budgetPath, body)).Response
			if !response.Allowed || len(response.Warnings) > 0 || response.UID != "uid-of-request" {
				t.Errorf("answered %+v", response)
			}
			if len(*observed) != 1 || (*observed)[0].Webhook != "zpdb-validation" || (*observed)[0].Reason != reason.BudgetValid {
				t.Errorf("observed %+v", *observed)
			}
		})
	}
}

func TestInvalidBudgetIsRefusedWithAllErrors(t *testing.T) {
	spec := `{"maxUnavailable":1,"maxUnavailablePercentage":10,"podNamePartitionRegex":"x-[0-9]+"}`
	want := &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusBadRequest, Reason: metav1.StatusReasonBadRequest,
		Message: "invalid value: maxUnavailable and maxUnavailablePercentage are mutually exclusive: set one of them; " +
			"invalid value: podNamePartitionRegex has no capture group: one must match the partition; " +
			"invalid value: selector must have matchLabels, which may be empty, or matchExpressions; " +
			"invalid value: maxUnavailablePercentage counts pods of a zone: it cannot be used with podNamePartitionRegex",
	}
	for sentence, change := range map[string]func(*admissionv1.AdmissionRequest){
		"created": func(*admissionv1.AdmissionRequest) {}, "updated": updating, "in a dry run": dry,
	} {
		t.Run(sentence, func(t *testing.T) {
			h, observed := validation()
			response := answerTo(t, post(t, h, budgetPath, creation(t, spec, change))).Response
			if diff := cmp.Diff(want, response.Result); diff != "" || response.Allowed {
				t.Errorf("allowed %t (-want +got):\n%s", response.Allowed, diff)
			}
			if (*observed)[0].Verdict != admission.Denied || (*observed)[0].Reason != reason.BudgetInvalid {
				t.Errorf("observed %+v", (*observed)[0])
			}
		})
	}
}

func TestEmptySelectorHasAWarning(t *testing.T) {
	for _, spec := range []string{`{"selector":{"matchLabels":{}}}`, `{"selector":{"matchExpressions":[]}}`} {
		h, _ := validation()
		response := answerTo(t, post(t, h, budgetPath, creation(t, spec))).Response
		if !response.Allowed || len(response.Warnings) != 1 || !strings.Contains(response.Warnings[0], "every pod") || len(response.Warnings[0]) > 256 {
			t.Errorf("%s: answered %+v", spec, response)
		}
	}
}

func TestReviewWithoutABudgetIsRefused(t *testing.T) {
	for sentence, object := range map[string][]byte{
		"absent": nil, "null": []byte("null"), "a text": []byte(`"x"`), "a list": []byte("[]"), "empty": []byte("{}"),
		"another kind":      []byte(`{"kind":"PodDisruptionBudget","spec":{` + ingesters + `}}`),
		"a spec of a text":  []byte(`{"kind":"ZoneAwarePodDisruptionBudget","spec":"x"}`),
		"fields in capital": []byte(`{"Kind":"ZoneAwarePodDisruptionBudget","Spec":{` + ingesters + `}}`),
	} {
		t.Run(sentence, func(t *testing.T) {
			h, _ := validation()
			response := answerTo(t, post(t, h, budgetPath, creation(t, `{}`, func(q *admissionv1.AdmissionRequest) { q.Object.Raw = object }))).Response
			if response.Allowed || response.Result.Code != http.StatusBadRequest {
				t.Errorf("answered %+v", response)
			}
		})
	}
}

// FuzzBudgetReview checks that no body causes a panic, and that an allowed object has the right kind,
// a selector and at most one limit.
func FuzzBudgetReview(f *testing.F) {
	for _, seed := range reviews(f) {
		f.Add(seed)
	}
	for _, spec := range []string{`{` + ingesters + `}`, `{` + ingesters + `,"podNamePartitionRegex":"((a|b)+)-(.*)","podNameRegexGroup":3}`, `{"maxUnavailable":1,"maxUnavailablePercentage":1}`, `null`} {
		f.Add(creation(f, spec))
		f.Add(creation(f, spec, updating, dry))
	}
	h, _ := validation()
	f.Fuzz(func(t *testing.T, body []byte) { lawfulBudget(t, h, body) })
}

func lawfulBudget(t *testing.T, h http.Handler, body []byte) {
	t.Helper()
	w := post(t, h, budgetPath, body)
	if w.Code == http.StatusBadRequest || w.Code == http.StatusRequestEntityTooLarge {
		return
	}
	answer := answerTo(t, w)
	var requests map[string]any
	if err := json.Unmarshal(body, &requests); err != nil {
		t.Fatalf("%s returns an unreadable answer: %v", w.Body, err)
	}
	if !answer.Response.Allowed || ambiguous(body) {
		return
	}
	spec, _ := at(requests, "request", "object", "spec").(map[string]any)
	_, absolute := spec["maxUnavailable"]
	_, relative := spec["maxUnavailablePercentage"]
	switch {
	case at(requests, "request", "object", "kind") != "ZoneAwarePodDisruptionBudget" || spec == nil:
		t.Fatalf("allowed, though it is no budget: %s", body)
	case at(spec, "selector", "matchLabels") == nil && at(spec, "selector", "matchExpressions") == nil:
		t.Fatalf("allowed, though it selects no pods: %s", body)
	case absolute && relative:
		t.Fatalf("allowed, though it has two limits: %s", body)
	}
}

// Each member of a review is removed, or replaced by unexpected values.
func TestMalformedBudgetReviewIsAnswered(t *testing.T) {
	h, _ := validation()
	spec := `{"selector":{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"a","operator":"In","values":["b"]}]},"maxUnavailable":1,` +
		`"podNamePartitionRegex":"x-([0-9]+)","podNameRegexGroup":1,"crossZoneEvictionDelay":"1h","unhealthyPodEvictionPolicy":"AlwaysAllow"}`
	oddly(t, creation(t, spec), func(body []byte) { lawfulBudget(t, h, body) })
}
