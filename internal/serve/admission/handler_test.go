package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// judge returns the verdict of a test and records its requests.
type judge struct {
	verdict  admission.Verdict
	breaks   bool
	requests []admission.Change
	doubted  []string
	until    time.Duration // the time until the deadline
}

func (j *judge) Judge(ctx context.Context, c admission.Change) admission.Verdict {
	if j.breaks {
		panic("planted")
	}
	if deadline, limited := ctx.Deadline(); limited {
		j.until = time.Until(deadline)
	}
	j.requests = append(j.requests, c)
	return j.verdict
}

func (j *judge) Doubt(why reason.Code, about string) admission.Verdict {
	j.doubted = append(j.doubted, about)
	return admission.Deny(http.StatusBadRequest, why, about)
}

func silent() *logrus.Logger {
	log := logrus.New()
	log.SetOutput(io.Discard)
	return log
}

// serve returns the handler with one judge for prepare-downscale, and its
// observations.
func serve(j admission.Judge) (http.Handler, *[]admission.Observation) {
	var observed []admission.Observation
	return admission.New(admission.Options{
		PrepareDownscale: j, Log: silent(),
		Observe: func(o admission.Observation) { observed = append(observed, o) },
	}), &observed
}

const preparePath = "/admission/prepare-downscale"

// newRequest returns an HTTP request as the API server sends it.
func newRequest(tb testing.TB, path string, body []byte) *http.Request {
	tb.Helper()
	q := httptest.NewRequestWithContext(tb.Context(), http.MethodPost, path, bytes.NewReader(body))
	q.Header.Set("Content-Type", "application/json")
	return q
}

// post sends a body as the API server does.
func post(tb testing.TB, h http.Handler, path string, body []byte) *httptest.ResponseRecorder {
	tb.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, newRequest(tb, path, body))
	return w
}

// answerTo reads the answer as the API server does.
func answerTo(tb testing.TB, w *httptest.ResponseRecorder) *admissionv1.AdmissionReview {
	tb.Helper()
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" {
		tb.Fatalf("got %d %s %q, want an answer", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		tb.Fatal(err)
	}
	if answer.Response == nil {
		tb.Fatalf("no response in %s", w.Body)
	}
	return &answer
}

func encode(tb testing.TB, object any) []byte {
	tb.Helper()
	text, err := json.Marshal(object)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// set returns a StatefulSet as the API server shows it. Negative replicas are absent.
func set(replicas int32, more ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	s := &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "zone-a", UID: "uid-a", ResourceVersion: "7"},
	}
	if replicas >= 0 {
		s.Spec.Replicas = &replicas
	}
	for _, change := range more {
		change(s)
	}
	return s
}

func scale(replicas int32) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		TypeMeta:   metav1.TypeMeta{APIVersion: "autoscaling/v1", Kind: "Scale"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "zone-a", UID: "uid-a", ResourceVersion: "7"},
		Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
		Status:     autoscalingv1.ScaleStatus{Replicas: 9, Selector: "set=zone-a"},
	}
}

// update returns the review of an update as the API server sends it.
func update(tb testing.TB, before, after any, more ...func(*admissionv1.AdmissionReview)) []byte {
	tb.Helper()
	resource, subresource := "statefulsets", ""
	switch before.(type) {
	case *autoscalingv1.Scale:
		subresource = "scale"
	case *appsv1.Deployment:
		resource = "deployments"
	case *appsv1.ReplicaSet:
		resource = "replicasets"
	}
	no := false
	review := &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "uid-of-request", Namespace: "team", Name: "zone-a", Operation: admissionv1.Update, DryRun: &no,
			Resource:    metav1.GroupVersionResource{Group: "apps", Version: "v1", Resource: resource},
			SubResource: subresource,
			OldObject:   runtime.RawExtension{Raw: encode(tb, before)},
			Object:      runtime.RawExtension{Raw: encode(tb, after)},
		},
	}
	for _, change := range more {
		change(review)
	}
	return encode(tb, review)
}

func TestResponseHasTheVersionOfTheRequest(t *testing.T) {
	for _, version := range []string{"admission.k8s.io/v1", "admission.k8s.io/v1beta1"} {
		h, observed := serve(&judge{verdict: admission.Verdict{Allowed: true, Reason: "Fine", Warnings: []string{"mind"}, Message: "done"}})
		answer := answerTo(t, post(t, h, preparePath, update(t, set(3), set(2), func(r *admissionv1.AdmissionReview) { r.APIVersion = version })))
		want := &admissionv1.AdmissionReview{
			TypeMeta: metav1.TypeMeta{APIVersion: version, Kind: "AdmissionReview"},
			Response: &admissionv1.AdmissionResponse{
				UID: "uid-of-request", Allowed: true, Warnings: []string{"mind"},
				Result: &metav1.Status{Message: "done"}, AuditAnnotations: map[string]string{"reason": "Fine"},
			},
		}
		if diff := cmp.Diff(want, answer); diff != "" {
			t.Errorf("%s: -want +got:\n%s", version, diff)
		}
		wantTold := []admission.Observation{{Webhook: "prepare-downscale", Verdict: admission.Allowed, Reason: "Fine", Namespace: "team"}}
		if diff := cmp.Diff(wantTold, *observed, cmpopts.IgnoreFields(admission.Observation{}, "Took")); diff != "" || (*observed)[0].Took <= 0 {
			t.Errorf("observed after %v (-want +got):\n%s", (*observed)[0].Took, diff)
		}
	}
}

func TestRefusalHasItsCodeAndNoRetryAfter(t *testing.T) {
	for code, want := range map[int]metav1.StatusReason{
		400: metav1.StatusReasonBadRequest, 403: metav1.StatusReasonForbidden,
		409: metav1.StatusReasonConflict, 429: metav1.StatusReasonTooManyRequests, 500: "",
	} {
		h, observed := serve(&judge{verdict: admission.Deny(code, "Why", "because")})
		response := answerTo(t, post(t, h, preparePath, update(t, set(3), set(2)))).Response
		status := &metav1.Status{Status: metav1.StatusFailure, Code: int32(code), Reason: want, Message: "because"}
		if diff := cmp.Diff(status, response.Result); diff != "" || response.Allowed {
			t.Errorf("%d: allowed %t (-want +got):\n%s", code, response.Allowed, diff)
		}
		if (*observed)[0].Verdict != admission.Denied {
			t.Errorf("%d: observed %+v", code, (*observed)[0])
		}
	}
}

// API servers reuse connections. A connection to a replica whose reads fail would fail
// for as long as it is open.
func TestRefusalForLackOfDataClosesItsConnection(t *testing.T) {
	for want, verdicts := range map[string][]admission.Verdict{
		"close": {
			admission.Deny(http.StatusTooManyRequests, reason.CacheNotSynced, ""),
			admission.Deny(http.StatusTooManyRequests, reason.CacheStale, ""),
			admission.Deny(http.StatusTooManyRequests, reason.ParentUnknown, ""),
		},
		"": {
			admission.Allow(reason.DownscaleAdmitted),
			admission.Deny(http.StatusTooManyRequests, reason.GroupHeld, ""),
			admission.Deny(http.StatusForbidden, reason.DownscaleNotAllowed, ""),
		},
	} {
		for _, verdict := range verdicts {
			h, _ := serve(&judge{verdict: verdict})
			if got := post(t, h, preparePath, update(t, set(3), set(2))).Header().Get("Connection"); got != want {
				t.Errorf("%s: Connection: %q, want %q", verdict.Reason, got, want)
			}
		}
	}
}

func TestOnlyAllowedReviewsContainAPatch(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		h, _ := serve(&judge{verdict: admission.Verdict{Allowed: allowed, Code: 403, Patch: []byte(`[{"op":"test"}]`)}})
		response := answerTo(t, post(t, h, preparePath, update(t, set(3), set(2)))).Response
		if patched := string(response.Patch) == `[{"op":"test"}]` && response.PatchType != nil && *response.PatchType == admissionv1.PatchTypeJSONPatch; patched != allowed {
			t.Errorf("allowed %t: patch %q of type %v", allowed, response.Patch, response.PatchType)
		}
	}
}

func TestChangeIsParsed(t *testing.T) {
	labelled := func(s *appsv1.StatefulSet) {
		s.Labels, s.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
	}
	unconditional := func(s *appsv1.StatefulSet) { s.ResourceVersion = "" }
	number := func(n int32) *int32 { return &n }
	entire := admission.Change{
		Group: "apps", Resource: "statefulsets", Namespace: "team", Name: "zone-a", From: number(3), To: number(2),
		Old: admission.Object{UID: "uid-a", Version: "7", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}},
		New: admission.Object{UID: "uid-a"},
	}
	ofScale := func(from, to int32) admission.Change {
		return admission.Change{
			Group: "apps", Resource: "statefulsets", Subresource: "scale", Namespace: "team", Name: "zone-a", From: &from, To: &to,
			Old: admission.Object{UID: "uid-a", Version: "7"}, New: admission.Object{UID: "uid-a", Version: "7"},
		}
	}
	dry := entire
	dry.DryRun = true
	absent := entire
	absent.To = nil
	status := entire
	status.Subresource, status.To = "status", number(3)
	yes := true
	for name, tc := range map[string]struct {
		review            []byte
		want              admission.Change
		full, isDownscale bool
		unknown           bool
	}{
		"a StatefulSet":                        {update(t, set(3, labelled), set(2, unconditional)), entire, true, true, false},
		"a dry run":                            {update(t, set(3, labelled), set(2, unconditional), func(r *admissionv1.AdmissionReview) { r.Request.DryRun = &yes }), dry, true, true, false},
		"a review without dryRun":              {update(t, set(3, labelled), set(2, unconditional), func(r *admissionv1.AdmissionReview) { r.Request.DryRun = nil }), entire, true, true, false},
		"a StatefulSet without replicas":       {update(t, set(3, labelled), set(-1, unconditional)), absent, true, false, true},
		"a Scale":                              {update(t, scale(3), scale(2)), ofScale(3, 2), false, true, false},
		"a Scale to zero":                      {update(t, scale(3), scale(0)), ofScale(3, 0), false, true, false},
		"a Scale from zero":                    {update(t, scale(0), scale(3)), ofScale(0, 3), false, false, false},
		"a status, which never changes a size": {update(t, set(3, labelled), set(2, unconditional), func(r *admissionv1.AdmissionReview) { r.Request.SubResource = "status" }), status, false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			j := &judge{}
			h, _ := serve(j)
			answerTo(t, post(t, h, preparePath, tc.review))
			if diff := cmp.Diff([]admission.Change{tc.want}, j.requests); diff != "" {
				t.Fatalf("change (-want +got), doubts %q:\n%s", j.doubted, diff)
			}
			isDownscale, known := j.requests[0].Shrinks()
			if j.requests[0].Full() != tc.full || isDownscale != tc.isDownscale || known == tc.unknown {
				t.Errorf("full %t, downscale %t, known %t", j.requests[0].Full(), isDownscale, known)
			}
		})
	}
}

func TestUnparsableChangeIsDoubted(t *testing.T) {
	pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "zone-a"}}
	for name, tc := range map[string]struct {
		change func(*admissionv1.AdmissionRequest)
		want   string
	}{
		"a creation":            {func(q *admissionv1.AdmissionRequest) { q.Operation = admissionv1.Create }, `operation "CREATE" changes no number of replicas: the webhook is for UPDATE`},
		"no operation":          {func(q *admissionv1.AdmissionRequest) { q.Operation = "" }, `operation "" changes no number of replicas: the webhook is for UPDATE`},
		"no old object":         {func(q *admissionv1.AdmissionRequest) { q.OldObject.Raw = nil }, "there is no old object"},
		"no new object":         {func(q *admissionv1.AdmissionRequest) { q.Object.Raw = nil }, "there is no new object"},
		"an unnecessary object": {func(q *admissionv1.AdmissionRequest) { q.Object.Raw = []byte("null") }, "there is no new object"},
		"another kind":          {func(q *admissionv1.AdmissionRequest) { q.Object.Raw = encode(t, pod) }, `the new object is "v1 Pod", want apps/v1 StatefulSet`},
		"an old version": {func(q *admissionv1.AdmissionRequest) {
			q.OldObject.Raw = []byte(`{"apiVersion":"apps/v1beta1","kind":"StatefulSet"}`)
		}, `the old object is "apps/v1beta1 StatefulSet", want apps/v1 StatefulSet`},
		"a text":           {func(q *admissionv1.AdmissionRequest) { q.Object.Raw = []byte(`"x"`) }, `object is a string`},
		"replicas as text": {func(q *admissionv1.AdmissionRequest) { q.Object.Raw = []byte(`{"spec":{"replicas":"3"}}`) }, `object.spec.replicas is a string`},
		"half a pod": {func(q *admissionv1.AdmissionRequest) {
			q.Object.Raw = []byte(`{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"replicas":1.5}}`)
		}, `object.spec.replicas is a number 1.5`},
		"2^32 replicas": {func(q *admissionv1.AdmissionRequest) {
			q.Object.Raw = []byte(`{"apiVersion":"apps/v1","kind":"StatefulSet","spec":{"replicas":4294967296}}`)
		}, `object.spec.replicas is a number 4294967296`},
		"a Scale in full":     {func(q *admissionv1.AdmissionRequest) { q.SubResource = "scale" }, `the old object is "apps/v1 StatefulSet", want autoscaling/v1 Scale`},
		"another subresource": {func(q *admissionv1.AdmissionRequest) { q.SubResource = "exec" }, `"statefulsets/exec" of group "apps" is not a resource with replicas`},
		"another resource":    {func(q *admissionv1.AdmissionRequest) { q.Resource.Resource = "pods" }, `"pods" of group "apps" is not a resource with replicas`},
		"another group":       {func(q *admissionv1.AdmissionRequest) { q.Resource.Group = "evil" }, `"statefulsets" of group "evil" is not a resource with replicas`},
		"no name":             {func(q *admissionv1.AdmissionRequest) { q.Name = "" }, "the request names no object in a namespace"},
		"no namespace":        {func(q *admissionv1.AdmissionRequest) { q.Namespace = "" }, "the request names no object in a namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &judge{}
			h, observed := serve(j)
			response := answerTo(t, post(t, h, preparePath, update(t, set(3), set(2), func(r *admissionv1.AdmissionReview) { tc.change(r.Request) }))).Response
			if diff := cmp.Diff([]string{tc.want}, j.doubted); diff != "" || len(j.requests) > 0 {
				t.Errorf("change %v, doubts (-want +got):\n%s", j.requests, diff)
			}
			if response.Allowed || response.UID != "uid-of-request" || (*observed)[0].Reason != reason.ObjectUnreadable {
				t.Errorf("answered %+v, observed %+v", response, (*observed)[0])
			}
		})
	}
}

func TestInvalidReviewIsAnHTTPError(t *testing.T) {
	review := func(change func(*admissionv1.AdmissionReview)) string {
		return string(update(t, set(3), set(2), change))
	}
	const most = 2 << 20 // the limit of the server
	for name, tc := range map[string]struct {
		contentType, body string
		status            int
		text              string
	}{
		"another content type": {"text/json", review(func(*admissionv1.AdmissionReview) {}), 400, `Content-Type "text/json" is not application/json`},
		"no content type":      {"", review(func(*admissionv1.AdmissionReview) {}), 400, `Content-Type "" is not application/json`},
		"nothing":              {"application/json", "", 400, "the body is no AdmissionReview in JSON: unexpected end of JSON input"},
		"null":                 {"application/json", "null", 400, `kind is "", want AdmissionReview`},
		"a list":               {"application/json", "[]", 400, "the body is no AdmissionReview in JSON: json: cannot unmarshal array into Go value of type admission.review"},
		"half of it":           {"application/json", review(func(*admissionv1.AdmissionReview) {})[:100], 400, "the body is no AdmissionReview in JSON: unexpected end of JSON input"},
		"two of them":          {"application/json", "{}{}", 400, "the body is no AdmissionReview in JSON: invalid character '{' after top-level value"},
		"keys in capitals":     {"application/json", strings.ReplaceAll(review(func(*admissionv1.AdmissionReview) {}), `"kind"`, `"Kind"`), 400, `kind is "", want AdmissionReview`},
		"another kind":         {"application/json", review(func(r *admissionv1.AdmissionReview) { r.Kind = "Review" }), 400, `kind is "Review", want AdmissionReview`},
		"an unknown version":   {"application/json", review(func(r *admissionv1.AdmissionReview) { r.APIVersion = "admission.k8s.io/v2" }), 400, `apiVersion is "admission.k8s.io/v2", want one of [admission.k8s.io/v1 admission.k8s.io/v1beta1]`},
		"no request":           {"application/json", review(func(r *admissionv1.AdmissionReview) { r.Request = nil }), 400, "the review has no request"},
		"no UID":               {"application/json", review(func(r *admissionv1.AdmissionReview) { r.Request.UID = "" }), 400, "the request has no uid"},
		"an endless name":      {"application/json", review(func(r *admissionv1.AdmissionReview) { r.Request.Name = strings.Repeat("x", 254) }), 400, "a name is longer than 253 bytes"},
		"deep nesting":         {"application/json", strings.Repeat("[", 1<<20), 400, "the body is no AdmissionReview in JSON: invalid character '[' exceeded max depth"},
		"too much of it":       {"application/json", strings.Repeat(" ", most+1), 413, "the review is larger than 2097152 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			j := &judge{verdict: admission.Allow("Never")}
			h, observed := serve(j)
			q := newRequest(t, preparePath, []byte(tc.body))
			q.Header.Set("Content-Type", tc.contentType)
			w := httptest.NewRecorder()
			http.MaxBytesHandler(h, most).ServeHTTP(w, q)
			if w.Code != tc.status || strings.TrimSpace(w.Body.String()) != tc.text {
				t.Errorf("got %d %q, want %d %q", w.Code, w.Body, tc.status, tc.text)
			}
			if len(j.requests)+len(j.doubted) > 0 || len(*observed) != 1 || (*observed)[0].Verdict != admission.Malformed {
				t.Errorf("judged %v %q, observed %+v", j.requests, j.doubted, *observed)
			}
		})
	}
}

func TestContentTypeParametersAreAccepted(t *testing.T) {
	h, _ := serve(&judge{verdict: admission.Allow("Fine")})
	q := newRequest(t, preparePath, update(t, set(3), set(2)))
	q.Header.Set("Content-Type", "application/json; charset=utf-8")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	answerTo(t, w)
}

func TestOnlyConfiguredWebhooksAreServed(t *testing.T) {
	h, _ := serve(&judge{})
	for path, want := range map[string]int{
		"/admission/no-downscale":       404, // no judge is configured
		"/admission/unknown":            404,
		"/":                             404,
		preparePath + "/x":              404,
		"/admission/prepare-downscale/": 404,
	} {
		if got := post(t, h, path, update(t, set(3), set(2))).Code; got != want {
			t.Errorf("%s: got %d, want %d", path, got, want)
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, preparePath, nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: got %d", w.Code)
	}
}

func TestPanicFailsOnlyItsRequest(t *testing.T) {
	j := &judge{breaks: true, verdict: admission.Allow("Fine")}
	h, observed := serve(j)
	w := post(t, h, preparePath, update(t, set(3), set(2)))
	if w.Code != http.StatusInternalServerError || (*observed)[0].Verdict != admission.Broken {
		t.Errorf("got %d %q, observed %+v", w.Code, w.Body, (*observed)[0])
	}
	j.breaks = false
	if !answerTo(t, post(t, h, preparePath, update(t, set(3), set(2)))).Response.Allowed {
		t.Error("the next request is not answered")
	}
}

func TestDecisionEndsBeforeTheTimeoutOfTheAPIServer(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"":                9 * time.Second,
		"?timeout=10s":    9 * time.Second,
		"?timeout=5s":     4500 * time.Millisecond,
		"?timeout=1s":     800 * time.Millisecond,
		"?timeout=100ms":  50 * time.Millisecond,
		"?timeout=30s":    9 * time.Second, // the configured limit
		"?timeout=0s":     9 * time.Second,
		"?timeout=-1s":    9 * time.Second,
		"?timeout=soon":   9 * time.Second,
		"?timeout=99999h": 9 * time.Second,
	} {
		synctest.Test(t, func(t *testing.T) {
			j := &judge{}
			h, _ := serve(j)
			post(t, h, preparePath+query, update(t, set(3), set(2)))
			if j.until != want {
				t.Errorf("%q: %v, want %v", query, j.until, want)
			}
		})
	}
}

func TestDecisionSpanBelongsToTheTraceOfTheRequest(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	var observed admission.Observation
	h := admission.New(admission.Options{
		PrepareDownscale: &judge{verdict: admission.Deny(429, "Busy", "wait")}, Log: silent(),
		Tracer:  sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("t"),
		Observe: func(o admission.Observation) { observed = o },
	})
	q := newRequest(t, preparePath, update(t, scale(3), scale(2)))
	q.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	h.ServeHTTP(httptest.NewRecorder(), q)
	if len(spans.Ended()) != 1 {
		t.Fatalf("%d spans", len(spans.Ended()))
	}
	span := spans.Ended()[0]
	if span.Parent().TraceID().String() != "0af7651916cd43dd8448eb211c80319c" || span.Name() != "admission prepare-downscale" {
		t.Errorf("span %s with parent %s", span.Name(), span.Parent().TraceID())
	}
	if !observed.Span.Equal(span.SpanContext()) {
		t.Errorf("observed span %s, want %s", observed.Span.SpanID(), span.SpanContext().SpanID())
	}
	want := []attribute.KeyValue{
		attribute.String("k8s.namespace.name", "team"), attribute.String("lockstep.object", "statefulsets/scale/zone-a"), attribute.Bool("lockstep.dry_run", false),
		attribute.String("lockstep.decision", "denied"), attribute.String("lockstep.reason", "Busy"),
	}
	if diff := cmp.Diff(want, span.Attributes(), cmp.Comparer(func(a, b attribute.Value) bool { return a == b })); diff != "" {
		t.Errorf("attributes (-want +got):\n%s", diff)
	}
}

func TestRefusedDownscaleIsLinkedToTheRolloutThatHoldsTheGroup(t *testing.T) {
	const rollout = "00-11111111111111111111111111111111-2222222222222222-01"
	for sentence, tc := range map[string]struct {
		trace string
		want  int
	}{
		"a rollout is under way":  {rollout, 1},
		"a rollout without trace": {"", 0},
		"an impossible trace":     {"00-11-22-01", 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			group := rolling()
			group.Hold.Rollouts.Current = plan.RolledGroup{Since: fixture.Now(), Trace: tc.trace}
			spans := tracetest.NewSpanRecorder()
			h := admission.New(admission.Options{
				Log: silent(), Tracer: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("t"),
				PrepareDownscale: &admission.PrepareDownscale{
					Observer: onlyGroup{group}, Holds: kept(staleHolds{group.Hold}), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
				},
			})
			h.ServeHTTP(httptest.NewRecorder(), newRequest(t, preparePath, update(t, set(3), set(2))))
			span := spans.Ended()[0]
			if got := span.Links(); len(got) != tc.want || (tc.want > 0 && got[0].SpanContext.SpanID().String() != "2222222222222222") {
				t.Errorf("links %+v", got)
			}
			if holder := attribute.String("lockstep.holder", "rollout/zone-b"); !slices.Contains(span.Attributes(), holder) {
				t.Errorf("attributes %v, want %v", span.Attributes(), holder)
			}
		})
	}
}

func TestRefusalsAreLogged(t *testing.T) {
	for verdict, want := range map[string]admission.Verdict{
		"":       admission.Allow("Fine"),
		"denied": admission.Deny(403, "Why", "because"),
		"allowed": {
			Allowed: true, Reason: "Doubtful", Warnings: []string{"line\nbreak"},
		},
	} {
		var out bytes.Buffer
		log := logrus.New()
		log.SetOutput(&out)
		log.SetFormatter(&logrus.JSONFormatter{})
		h := admission.New(admission.Options{PrepareDownscale: &judge{verdict: want}, Log: log})
		post(t, h, preparePath, update(t, set(3), set(2), func(r *admissionv1.AdmissionReview) { r.Request.UID = types.UID(fmt.Sprint(want.Reason)) }))
		var line struct{ Verdict, Reason, Namespace, Object, Webhook string }
		if verdict != "" {
			if err := json.Unmarshal(out.Bytes(), &line); err != nil {
				t.Fatalf("%q: %v", out.String(), err)
			}
		}
		if line.Verdict != verdict || strings.Count(out.String(), "\n") > 1 {
			t.Errorf("%v is logged as %q", want, out.String())
		}
	}
}
