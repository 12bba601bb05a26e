package admission_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

const (
	evictionPath = "/admission/pod-eviction"
	pinPath      = "/admission/pod-eviction-pin"
)

// evictionHandler serves both eviction webhooks and returns their observations.
func evictionHandler(c *evictable) (http.Handler, *[]admission.Observation) {
	var observed []admission.Observation
	return admission.New(admission.Options{
		Log: silent(), Observe: func(o admission.Observation) { observed = append(observed, o) },
		PodEviction: c.webhook(), PodEvictionPin: &admission.PodEvictionPin{Observer: c},
	}), &observed
}

// eviction returns the review of an eviction as the API server sends it.
func eviction(tb testing.TB, pod string, options *metav1.DeleteOptions, more ...func(*admissionv1.AdmissionRequest)) []byte {
	tb.Helper()
	object := &policyv1.Eviction{
		TypeMeta:      metav1.TypeMeta{APIVersion: "policy/v1", Kind: "Eviction"},
		ObjectMeta:    metav1.ObjectMeta{Namespace: "team", Name: pod},
		DeleteOptions: options,
	}
	review := &admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "admission.k8s.io/v1", Kind: "AdmissionReview"},
		Request: &admissionv1.AdmissionRequest{
			UID: "uid-of-request", Namespace: "team", Name: pod, Operation: admissionv1.Create,
			Resource: metav1.GroupVersionResource{Version: "v1", Resource: "pods"}, SubResource: "eviction",
			Object: runtime.RawExtension{Raw: encode(tb, object)},
		},
	}
	for _, change := range more {
		change(review.Request)
	}
	return encode(tb, review)
}

// seenAs returns a pod of the group.
func seenAs(uid string, version plan.Version, up bool) observe.Pod {
	return observe.Pod{UID: uid, Version: version, Up: up, Held: true}
}

// bound returns delete options with the preconditions that are not empty.
func bound(uid, version string) *metav1.DeleteOptions {
	p := &metav1.Preconditions{}
	if uid != "" {
		p.UID = new(types.UID(uid))
	}
	if version != "" {
		p.ResourceVersion = &version
	}
	return &metav1.DeleteOptions{Preconditions: p}
}

func earlier(q *admissionv1.AdmissionRequest) {
	q.Object.Raw = []byte(strings.Replace(string(q.Object.Raw), "policy/v1", "policy/v1beta1", 1))
}

func TestEvictionReviewIsParsed(t *testing.T) {
	for sentence, tc := range map[string]struct {
		body   []byte
		writes int
		warned bool
	}{
		"bound to a pod":           {eviction(t, "zone-b-0", bound("zone-b-0", "")), 1, false},
		"from earlier clients":     {eviction(t, "zone-b-0", bound("zone-b-0", ""), earlier), 1, false},
		"from earlier API servers": {[]byte(strings.Replace(string(eviction(t, "zone-b-0", bound("zone-b-0", ""))), "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1)), 1, false},
		"not bound":                {eviction(t, "zone-b-0", nil), 1, true},
		"with empty preconditions": {eviction(t, "zone-b-0", &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(types.UID("")), ResourceVersion: new("")}}), 1, true},
		"as a dry run":             {eviction(t, "zone-b-0", bound("zone-b-0", ""), dry), 0, false},
		"as a dry run by its options": {eviction(t, "zone-b-0", &metav1.DeleteOptions{
			DryRun: []string{metav1.DryRunAll}, Preconditions: bound("zone-b-0", "").Preconditions,
		}), 0, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree()
			h, observed := evictionHandler(c)
			response := answerTo(t, post(t, h, evictionPath, tc.body)).Response
			if !response.Allowed || len(c.written) != tc.writes || (len(response.Warnings) > 0) != tc.warned {
				t.Errorf("%d writes, answered %+v", len(c.written), response)
			}
			if (*observed)[0].Webhook != "pod-eviction" || (*observed)[0].Reason != reason.EvictionGranted || (*observed)[0].Group != c.group.Key {
				t.Errorf("observed %+v", (*observed)[0])
			}
		})
	}
}

func TestEvictionOfADeletedPodIsNotFound(t *testing.T) {
	c := threeOfThree()
	c.hidden["zone-b-0"], c.gone["zone-b-0"] = true, true
	h, _ := evictionHandler(c)
	observed := answerTo(t, post(t, h, evictionPath, eviction(t, "zone-b-0", nil))).Response.Result
	if observed.Code != http.StatusNotFound || observed.Reason != metav1.StatusReasonNotFound {
		t.Errorf("answered %+v", observed)
	}
}

// malformedEvictions are reviews that contain no valid eviction.
func malformedEvictions(tb testing.TB) map[string][]byte {
	tb.Helper()
	with := func(change func(*admissionv1.AdmissionRequest)) []byte {
		return eviction(tb, "zone-b-0", bound("zone-b-0", ""), change)
	}
	object := func(text string) []byte {
		return with(func(q *admissionv1.AdmissionRequest) { q.Object.Raw = []byte(text) })
	}
	return map[string][]byte{
		"of another operation":    with(func(q *admissionv1.AdmissionRequest) { q.Operation = admissionv1.Delete }),
		"of a pod itself":         with(func(q *admissionv1.AdmissionRequest) { q.SubResource = "" }),
		"of something else":       with(func(q *admissionv1.AdmissionRequest) { q.Resource.Resource = "nodes" }),
		"of another group":        with(func(q *admissionv1.AdmissionRequest) { q.Resource.Group = "apps" }),
		"without a name":          with(func(q *admissionv1.AdmissionRequest) { q.Name = "" }),
		"without a namespace":     with(func(q *admissionv1.AdmissionRequest) { q.Namespace = "" }),
		"without an object":       object(`null`),
		"with a list":             object(`[]`),
		"with another kind":       object(`{"apiVersion":"policy/v1","kind":"PodDisruptionBudget"}`),
		"with another version":    object(`{"apiVersion":"policy/v2","kind":"Eviction"}`),
		"with odd options":        object(`{"apiVersion":"policy/v1","kind":"Eviction","deleteOptions":"x"}`),
		"with an odd dry run":     object(`{"apiVersion":"policy/v1","kind":"Eviction","deleteOptions":{"dryRun":true}}`),
		"with an odd UID":         object(`{"apiVersion":"policy/v1","kind":"Eviction","deleteOptions":{"preconditions":{"uid":7}}}`),
		"with an odd version":     object(`{"apiVersion":"policy/v1","kind":"Eviction","deleteOptions":{"preconditions":{"resourceVersion":"x"}}}`),
		"with the version of all": object(`{"apiVersion":"policy/v1","kind":"Eviction","deleteOptions":{"preconditions":{"resourceVersion":"0"}}}`),
	}
}

func TestInvalidEvictionReviewIsDeniedAndNotPinned(t *testing.T) {
	for sentence, body := range malformedEvictions(t) {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree()
			h, _ := evictionHandler(c)
			response := answerTo(t, post(t, h, evictionPath, body)).Response
			if response.Allowed || response.Result.Code != http.StatusBadRequest || response.AuditAnnotations["reason"] != "EvictionUnreadable" {
				t.Errorf("answered %+v", response)
			}
			if response := answerTo(t, post(t, h, pinPath, body)).Response; !response.Allowed || response.Patch != nil {
				t.Errorf("pinned by %+v", response)
			}
			c.costs(t, 0, 0, 0)
		})
	}
}

// barredWorld is a cluster in which every eviction must be refused.
func barredWorld() *evictable {
	return threeOfThree(budgeted(group.DisruptionBudget{Name: "none"}))
}

// FuzzEvictionReview checks that no body causes a panic, that no eviction is allowed if all must be
// refused, that a pin changes only preconditions, and that it refuses only evictions bound to another pod.
func FuzzEvictionReview(f *testing.F) {
	for _, seed := range reviews(f) {
		f.Add(seed)
	}
	for _, seed := range malformedEvictions(f) {
		f.Add(seed)
	}
	for _, options := range []*metav1.DeleteOptions{nil, {}, bound("zone-b-0", ""), bound("x", "10"), bound("zone-b-0", "9")} {
		f.Add(eviction(f, "zone-b-0", options))
		f.Add(eviction(f, "zone-x-0", options, dry))
	}
	c := barredWorld()
	h, _ := evictionHandler(c)
	f.Fuzz(func(t *testing.T, body []byte) { lawfulEviction(t, h, body) })
}

func lawfulEviction(t *testing.T, h http.Handler, body []byte) {
	t.Helper()
	for _, path := range []string{evictionPath, pinPath} {
		w := post(t, h, path, body)
		if w.Code == http.StatusBadRequest || w.Code == http.StatusRequestEntityTooLarge {
			continue
		}
		response := answerTo(t, w).Response
		toAnother := path == pinPath && response.Result != nil && response.Result.Code == http.StatusConflict
		if response.Allowed != (path == pinPath) && !toAnother {
			t.Fatalf("%s: %s answers %.500s", path, w.Body, body)
		}
		lawfulPin(t, response.Patch)
	}
}

func lawfulPin(t *testing.T, patch []byte) {
	t.Helper()
	var operations []struct{ Op, Path string }
	if patch != nil && json.Unmarshal(patch, &operations) != nil {
		t.Fatalf("the patch is %s", patch)
	}
	for _, o := range operations {
		if o.Op != "add" || !strings.HasPrefix(o.Path, "/deleteOptions") {
			t.Fatalf("the patch is %s", patch)
		}
	}
}

// Each member of a review is removed, or replaced by unexpected values.
func TestMalformedEvictionReviewIsNeverAllowed(t *testing.T) {
	h, _ := evictionHandler(barredWorld())
	options := bound("zone-b-0", "10")
	options.DryRun = []string{metav1.DryRunAll}
	oddly(t, eviction(t, "zone-b-0", options), func(body []byte) { lawfulEviction(t, h, body) })
}

func TestEvictionIsBoundToTheJudgedPod(t *testing.T) {
	const entire = `[{"op":"add","path":"/deleteOptions","value":{"preconditions":{"uid":"zone-b-0"}}}]`
	const both = `[{"op":"add","path":"/deleteOptions","value":{"preconditions":{"resourceVersion":"10","uid":"zone-a-1"}}}]`
	const toNobody = `[{"op":"add","path":"/deleteOptions","value":{"preconditions":{"uid":"nobody"}}}]`
	for sentence, tc := range map[string]struct {
		pod      string
		options  *metav1.DeleteOptions
		change   func(*evictable)
		want     string
		podReads int
	}{
		"a pod that serves":                      {"zone-b-0", nil, nil, entire, 0},
		"with other options":                     {"zone-b-0", &metav1.DeleteOptions{GracePeriodSeconds: new(int64(7))}, nil, `[{"op":"add","path":"/deleteOptions/preconditions","value":{"uid":"zone-b-0"}}]`, 0},
		"with empty preconditions":               {"zone-b-0", bound("", ""), nil, `[{"op":"add","path":"/deleteOptions/preconditions/uid","value":"zone-b-0"}]`, 0},
		"bound already":                          {"zone-b-0", bound("zone-b-0", ""), nil, ``, 0},
		"bound to a version":                     {"zone-b-0", bound("", "9"), nil, `[{"op":"add","path":"/deleteOptions/preconditions/uid","value":"zone-b-0"}]`, 0},
		"a pod that is down":                     {"zone-a-1", nil, nil, both, 1},
		"a pod that is down, bound to it":        {"zone-a-1", bound("zone-a-1", ""), nil, `[{"op":"add","path":"/deleteOptions/preconditions/resourceVersion","value":"10"}]`, 1},
		"a pod that is down, bound to a version": {"zone-a-1", bound("zone-a-1", "9"), nil, ``, 0},
		"a pod that is down, and has changed since": {"zone-a-1", nil, func(c *evictable) {
			c.there["zone-a-1"] = seenAs("zone-a-1", 12, false)
		}, strings.Replace(both, `"10"`, `"12"`, 1), 1},
		"a pod that was down, and serves by now": {"zone-a-1", nil, func(c *evictable) {
			c.there["zone-a-1"] = seenAs("zone-a-1", 12, true)
		}, strings.Replace(entire, "zone-b-0", "zone-a-1", 1), 1},
		"a pod that was down, and is another one by now": {"zone-a-1", nil, func(c *evictable) {
			c.there["zone-a-1"] = seenAs("another", 12, true)
		}, strings.Replace(entire, "zone-b-0", "another", 1), 1},
		"a pod that is down, and the live read fails": {"zone-a-1", nil, func(c *evictable) { c.unreachable = http.ErrServerClosed }, both, 1},
		"a pod that is down, and deleted":             {"zone-a-1", nil, func(c *evictable) { c.gone["zone-a-1"] = true }, toNobody, 1},
		"a pod that is too new":                       {"zone-b-0", nil, func(c *evictable) { c.hidden["zone-b-0"] = true }, entire, 1},
		"a pod that does not exist":                   {"zone-b-0", nil, func(c *evictable) { c.hidden["zone-b-0"], c.gone["zone-b-0"] = true, true }, toNobody, 1},
		"a pod that does not exist, bound to one":     {"zone-b-0", bound("earlier", ""), func(c *evictable) { c.hidden["zone-b-0"], c.gone["zone-b-0"] = true, true }, ``, 1},
		"a pod of a StatefulSet that is not known": {"zone-b-0", nil, func(c *evictable) {
			pod := seenAs("zone-b-0", 10, true)
			pod.Held, pod.Unplaced = false, true
			c.cached["zone-b-0"] = pod
		}, entire, 0},
		"a pod of no StatefulSet, with the name of a StatefulSet's pod": {"zone-b-0", nil, func(c *evictable) {
			pod := seenAs("zone-b-0", 10, true)
			pod.Held = false
			c.cached["zone-b-0"], c.there["zone-b-0"] = pod, pod
		}, strings.Replace(both, "zone-a-1", "zone-b-0", 1), 1},
		"such a pod that a StatefulSet has adopted since": {"zone-b-0", nil, func(c *evictable) {
			pod := seenAs("zone-b-0", 10, true)
			pod.Held = false
			c.cached["zone-b-0"], c.there["zone-b-0"] = pod, seenAs("zone-b-0", 12, true)
		}, entire, 1},
		"such a pod that is down": {"zone-a-1", nil, func(c *evictable) {
			pod := seenAs("zone-a-1", 10, false)
			pod.Held = false
			c.cached["zone-a-1"], c.there["zone-a-1"] = pod, pod
		}, both, 1},
		"an orphan that is up": {"zone-b-0", nil, func(c *evictable) {
			pod := seenAs("zone-b-0", 10, true)
			pod.Orphaned = true
			c.cached["zone-b-0"], c.there["zone-b-0"] = pod, pod
		}, strings.Replace(both, "zone-a-1", "zone-b-0", 1), 1},
		"an orphan that was adopted since": {"zone-b-0", nil, func(c *evictable) {
			pod := seenAs("zone-b-0", 10, true)
			pod.Orphaned = true
			c.cached["zone-b-0"], c.there["zone-b-0"] = pod, seenAs("zone-b-0", 12, true)
		}, entire, 1},
		"a terminating orphan, which no StatefulSet adopts": {"zone-b-0", nil, func(c *evictable) {
			pod := seenAs("zone-b-0", 10, false)
			pod.Orphaned, pod.Terminating = true, true
			c.cached["zone-b-0"] = pod
		}, entire, 0},
		"a pod of no StatefulSet, with another name": {"web-5d4f8-x7k2p", nil, func(c *evictable) {
			c.cached["web-5d4f8-x7k2p"] = observe.Pod{UID: "u", Version: 10, Up: true}
		}, ``, 0},
		"a pod of a StatefulSet that no hold covers as far as the caches show": {"zone-b-0", nil, func(c *evictable) {
			pod := seenAs("zone-b-0", 10, true)
			pod.Held, pod.Unclaimed = false, true
			c.cached["zone-b-0"] = pod
		}, entire, 0},
		"bound to a pod that the caches do not show yet": {"zone-b-0", bound("another", ""), func(c *evictable) {
			c.there["zone-b-0"] = seenAs("another", 12, true)
		}, ``, 1},
		"in a namespace that did not opt in": {"zone-b-0", nil, func(c *evictable) { c.unmanaged = true }, ``, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := aDown()
			if tc.change != nil {
				tc.change(c)
			}
			h, _ := evictionHandler(c)
			response := answerTo(t, post(t, h, pinPath, eviction(t, tc.pod, tc.options))).Response
			if diff := cmp.Diff(tc.want, string(response.Patch)); diff != "" || !response.Allowed || (response.PatchType != nil) != (tc.want != "") {
				t.Errorf("answered %+v (-want +got):\n%s", response, diff)
			}
			c.costs(t, 0, tc.podReads, 0)
		})
	}
}

// Clients do not retry after 409. After 429 they would retry without end.
func TestEvictionBoundToAFormerPodIsAConflict(t *testing.T) {
	for _, pod := range []string{"zone-b-0", "zone-a-1"} { // one is up, one is down
		c := aDown()
		pin := &admission.PodEvictionPin{Observer: c}
		says(t, pin.Judge(t.Context(), admission.Eviction{Namespace: "team", Pod: pod, UID: "former"}), http.StatusConflict, reason.PodNotFound)
		c.costs(t, 0, 1, 0)
	}
}

func TestEvictionThatCannotBeBoundIsRefusedForNow(t *testing.T) {
	for sentence, tc := range map[string]struct {
		change func(*evictable)
		why    reason.Code
	}{
		"before anything is known": {func(c *evictable) { c.unsynced = true }, reason.CacheNotSynced},
		"an unknown pod, and the live read fails": {func(c *evictable) {
			c.hidden["zone-b-0"], c.unreachable = true, http.ErrServerClosed
		}, reason.ParentUnknown},
		"a pod that may have been replaced, and the live read fails": {func(c *evictable) {
			c.cached["zone-b-0"], c.unreachable = seenAs("former", 9, true), http.ErrServerClosed
		}, reason.ParentUnknown},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := aDown()
			tc.change(c)
			pin := &admission.PodEvictionPin{Observer: c}
			says(t, pin.Judge(t.Context(), admission.Eviction{Namespace: "team", Pod: "zone-b-0", UID: "zone-b-0"}), http.StatusTooManyRequests, tc.why)
		})
	}
}

// Two replicas can answer one eviction: one binds it and the other judges it. Their caches can show
// the pod in different states.
func TestEvictionIsRefusedIfBinderAndJudgeSeeThePodInDifferentStates(t *testing.T) {
	ahead, behind := aDown(), aDown()
	ahead.cached["zone-a-1"] = seenAs("zone-a-1", 12, true)
	e := admission.Eviction{Namespace: "team", Pod: "zone-a-1", UID: "zone-a-1"}
	pin := &admission.PodEvictionPin{Observer: ahead}
	if v := pin.Judge(t.Context(), e); v.Patch != nil {
		t.Fatalf("bound to a version of a pod that serves: %s", v.Patch)
	}
	says(t, behind.webhook().Judge(t.Context(), e), http.StatusTooManyRequests, reason.CacheStale)
}

func TestOperatorDryRunBindsNoEviction(t *testing.T) {
	c := aDown()
	pin := &admission.PodEvictionPin{Observer: c, DryRun: true}
	if v := pin.Judge(t.Context(), admission.Eviction{Namespace: "team", Pod: "zone-b-0"}); !v.Allowed || v.Patch != nil {
		t.Errorf("got %+v", v)
	}
}
