package admission_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"
)

func FuzzReview(f *testing.F) {
	for _, seed := range reviews(f) {
		f.Add(seed)
	}
	all := guards()
	f.Fuzz(func(t *testing.T, body []byte) { lawful(t, all, body) })
}

// reviews returns reviews of API servers, and slightly invalid variants.
func reviews(tb testing.TB) [][]byte {
	tb.Helper()
	with := func(change func(*admissionv1.AdmissionRequest)) []byte {
		return update(tb, set(3, labelled), set(2, labelled), func(r *admissionv1.AdmissionReview) { change(r.Request) })
	}
	versioned := func(version string) []byte {
		return update(tb, set(3, labelled), set(2, labelled), func(r *admissionv1.AdmissionReview) { r.APIVersion = version })
	}
	large := func(s *appsv1.StatefulSet) { s.Annotations = map[string]string{"large": strings.Repeat("x", 1<<16)} }
	return [][]byte{
		update(tb, set(3, labelled), set(2, labelled)), update(tb, set(3, labelled), set(4)), update(tb, set(3), set(2)),
		update(tb, set(-1), set(-1)), update(tb, set(-1), set(2)), update(tb, set(2), set(-1)), update(tb, scale(3), scale(0)), update(tb, scale(0), scale(3)),
		update(tb, deployment(3), deployment(2)), update(tb, replicaSet(2), replicaSet(3)),
		with(func(q *admissionv1.AdmissionRequest) { q.SubResource = "status" }),
		with(func(q *admissionv1.AdmissionRequest) { q.Operation = "DELETE" }),
		with(func(q *admissionv1.AdmissionRequest) { q.DryRun = nil }),
		with(func(q *admissionv1.AdmissionRequest) { q.DryRun = new(true) }),
		with(func(q *admissionv1.AdmissionRequest) { q.Resource.Resource = "pods" }),
		with(func(q *admissionv1.AdmissionRequest) { q.Object.Raw = []byte(`{"apiVersion":"v1","kind":"Pod"}`) }),
		with(func(q *admissionv1.AdmissionRequest) { q.Object.Raw = nil }),
		with(func(q *admissionv1.AdmissionRequest) { q.Object.Raw, q.SubResource = encode(tb, scale(2)), "scale" }),
		with(func(q *admissionv1.AdmissionRequest) {
			q.Object.Raw = bytes.Replace(q.Object.Raw, []byte(`"replicas":2`), []byte(`"replicas":-2`), 1)
		}),
		update(tb, set(3), set(2), func(r *admissionv1.AdmissionReview) { r.Request = nil }),
		update(tb, set(3), set(2), func(r *admissionv1.AdmissionReview) { r.Kind = "Review" }),
		versioned("admission.k8s.io/v1beta1"), versioned("admission.k8s.io/v2"), versioned(""),
		[]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"x","dryRun":null}}`),
		[]byte(`{}`), []byte(`null`), []byte(`[]`), nil,
		update(tb, set(3, large), set(2, large)), bytes.Repeat([]byte("["), 1<<14), bytes.Repeat([]byte(" "), 8<<20+1),
	}
}

// lawful checks any body: the webhook returns an answer, or an HTTP error that describes the
// fault. It allows the review only if an independent parser of the body finds no objection.
func lawful(t *testing.T, all []guard, body []byte) {
	t.Helper()
	var requests map[string]any
	unreadable := kjson.Unmarshal(body, &requests)
	twice := unreadable == nil && ambiguous(body)
	for _, g := range all {
		w := post(t, g.handler, g.path, body)
		if w.Code == http.StatusBadRequest || w.Code == http.StatusRequestEntityTooLarge {
			continue
		}
		answer := answerTo(t, w)
		switch {
		case unreadable != nil:
			t.Fatalf("%s: %s returns an unreadable answer: %v", g.name, w.Body, unreadable)
		case twice:
			continue // which of two values counts is undefined
		case at(requests, "request", "uid") != string(answer.Response.UID) || requests["apiVersion"] != answer.APIVersion || answer.Kind != "AdmissionReview":
			t.Fatalf("%s: %s is the answer to another request", g.name, w.Body)
		case !answer.Response.Allowed:
			continue
		}
		if why := g.objection(read(requests), len(answer.Response.Warnings) > 0); why != "" {
			t.Fatalf("%s: allowed, though %s: %s", g.name, why, w.Body)
		}
	}
}

// parsedReview is a review that was parsed without the types of the webhooks.
type parsedReview struct {
	review     map[string]any
	unparsable string // why the request is invalid
	kind       string // of its objects
	from, to   *int64
}

func read(review map[string]any) parsedReview {
	r := parsedReview{review: review}
	r.kind, r.unparsable = kindOf(review)
	if r.unparsable != "" || at(review, "request", "subResource") == "status" {
		return r
	}
	for _, object := range []string{"oldObject", "object"} {
		if r.kind == "" || at(review, "request", object, "kind") != r.kind {
			r.unparsable = object + " is of another kind"
			return r
		}
	}
	r.from, r.to = replicas(review, "oldObject", r.kind), replicas(review, "object", r.kind)
	if (r.from == nil) != (r.to == nil) {
		r.unparsable = "one of the objects does not say how many replicas it has"
	}
	return r
}

// kindOf returns the expected kind of a review's objects.
func kindOf(review map[string]any) (kind, unparsable string) {
	resource := at(review, "request", "resource", "resource")
	if at(review, "request", "operation") != "UPDATE" || resource == nil || resource == "" {
		return "", "it is no update of anything"
	}
	switch at(review, "request", "subResource") {
	case "scale":
		return "Scale", ""
	case nil, "", "status":
		return map[any]string{"statefulsets": "StatefulSet", "deployments": "Deployment", "replicasets": "ReplicaSet"}[resource], ""
	}
	return "", "it is about something without replicas"
}

// downscaleForbidden returns an objection to invalid reviews, and to downscales if bad is set.
func (r parsedReview) downscaleForbidden(bad bool) string {
	switch {
	case r.unparsable != "":
		return r.unparsable
	case bad && r.from != nil && *r.to < *r.from:
		return "it is scaled down"
	}
	return ""
}

// labelled reports whether the label forbids a scale-down.
func (r parsedReview) labelled() bool {
	return r.kind == "Scale" || at(r.review, "request", "oldObject", "metadata", "labels", "grafana.com/no-downscale") == "true"
}

func (r parsedReview) isZone() bool {
	return at(r.review, "request", "resource", "group") == "apps" && at(r.review, "request", "resource", "resource") == "statefulsets"
}

// isJudged reports whether the review changes the known state of zone-a to a valid
// size.
func (r parsedReview) isJudged() bool {
	was, _ := at(r.review, "request", "oldObject", "metadata", "resourceVersion").(string)
	found := at(r.review, "request", "object", "metadata", "resourceVersion")
	version, err := strconv.Atoi(was)
	return at(r.review, "request", "name") == "zone-a" && at(r.review, "request", "oldObject", "metadata", "uid") == "uid-a" &&
		err == nil && version == 7 && (found == nil || found == "" || found == was) && r.to != nil && *r.to >= 0
}

func replicas(review map[string]any, object, kind string) *int64 {
	switch n := at(review, "request", object, "spec", "replicas").(type) {
	case int64:
		if n == int64(int32(n)) {
			return &n
		}
	case nil:
		if kind == "Scale" {
			return new(int64)
		}
	}
	return nil
}

func at(tree any, keys ...string) any {
	for _, key := range keys {
		branch, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		tree = branch[key]
	}
	return tree
}

// ambiguous reports whether an object of a JSON text has a key twice.
func ambiguous(text []byte) bool {
	tokens := json.NewDecoder(bytes.NewReader(text))
	tokens.UseNumber()
	var seen []map[string]bool // of the enclosing objects; nil for a list
	key := false               // whether the next token in an object is a key
	for {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return false
		}
		if err != nil {
			return true
		}
		inObject := len(seen) > 0 && seen[len(seen)-1] != nil
		switch token {
		case json.Delim('{'):
			seen, key = append(seen, map[string]bool{}), true
			continue
		case json.Delim('['):
			seen, key = append(seen, nil), false
			continue
		case json.Delim('}'), json.Delim(']'):
			seen = seen[:len(seen)-1]
			key = len(seen) > 0 && seen[len(seen)-1] != nil
			continue
		}
		if name, isText := token.(string); inObject && key && isText {
			if seen[len(seen)-1][name] {
				return true
			}
			seen[len(seen)-1][name] = true
			key = false
			continue
		}
		key = inObject
	}
}

// Each member of a review is removed, or replaced by unexpected values.
func TestMalformedReviewIsNeverAllowed(t *testing.T) {
	all := guards()
	for _, review := range [][]byte{update(t, set(3, labelled), set(2, labelled)), update(t, scale(3), scale(0)), update(t, deployment(1), deployment(0))} {
		oddly(t, review, func(unparsable []byte) { lawful(t, all, unparsable) })
	}
}

// oddly tries variants of a review; each lacks one member or has an unexpected value.
func oddly(t *testing.T, review []byte, try func([]byte)) {
	t.Helper()
	unparsable := []any{nil, "", "x", -1, 0, 1.5, math.MaxInt64, true, []any{}, map[string]any{}, []any{map[string]any{}}}
	var entire map[string]any
	if err := json.Unmarshal(review, &entire); err != nil {
		t.Fatal(err)
	}
	tried := 0
	everywhere(entire, func(parent map[string]any, key string) {
		was := parent[key]
		for _, value := range unparsable {
			parent[key] = value
			try(encode(t, entire))
			tried++
		}
		delete(parent, key)
		try(encode(t, entire))
		parent[key] = was
	})
	if tried < 200 {
		t.Errorf("%d reviews", tried)
	}
}

func everywhere(tree map[string]any, visit func(parent map[string]any, key string)) {
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		visit(tree, key)
		if below, ok := tree[key].(map[string]any); ok {
			everywhere(below, visit)
		}
	}
}

func TestWrongContentLengthAllocatesNoMemory(t *testing.T) {
	q := newRequest(t, noDownscalePath, update(t, set(3), set(2)))
	q.Header.Set("Content-Length", strconv.Itoa(math.MaxInt64))
	q.ContentLength = math.MaxInt64
	w := httptest.NewRecorder()
	barring(true).ServeHTTP(w, q)
	answerTo(t, w)
}
