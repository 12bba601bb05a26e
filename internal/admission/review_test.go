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
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/lockstep-dev/lockstep/internal/admission"
)

// guarded is a webhook under which everything that shrinks is barred.
func guarded() http.Handler {
	return noDownscale(admission.NoDownscale{Strict: true, Parents: parents{barred: true}})
}

func FuzzReview(f *testing.F) {
	for _, seed := range [][]byte{
		update(f, set(3, barred), set(2, barred)), update(f, set(3, barred), set(4)), update(f, set(3), set(2)),
		update(f, set(-1), set(-1)), update(f, set(-1), set(2)), update(f, scale(3), scale(0)), update(f, scale(0), scale(3)),
		update(f, deployment(3), deployment(2)), update(f, replicaSet(2), replicaSet(3)),
		update(f, set(3, barred), set(2, barred), func(r *admissionv1.AdmissionReview) { r.Request.SubResource = "status" }),
		update(f, set(3, barred), set(2, barred), func(r *admissionv1.AdmissionReview) { r.Request.Operation = "DELETE" }),
		update(f, set(3), set(2), func(r *admissionv1.AdmissionReview) { r.Request = nil }),
		update(f, set(3), set(2), func(r *admissionv1.AdmissionReview) { r.APIVersion = "admission.k8s.io/v1beta1" }),
		[]byte(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"x","dryRun":null}}`),
		[]byte(`{}`), []byte(`null`), []byte(`[]`), nil,
	} {
		f.Add(seed)
	}
	h := guarded()
	f.Fuzz(func(t *testing.T, body []byte) { lawful(t, h, body) })
}

// lawful states what holds of any body: it gets an answer or an HTTP error that
// says what is wrong, and the answer is yes only if nothing barred shrinks,
// as another reading of it says.
func lawful(t *testing.T, h http.Handler, body []byte) {
	t.Helper()
	w := post(t, h, noDownscalePath, body)
	if w.Code != http.StatusOK {
		if w.Code != http.StatusBadRequest {
			t.Fatalf("got %d %q", w.Code, w.Body)
		}
		return
	}
	var answer, asked map[string]any
	if err := errors.Join(kjson.Unmarshal(w.Body.Bytes(), &answer), kjson.Unmarshal(body, &asked)); err != nil {
		t.Fatal(err)
	}
	if ambiguous(body) {
		return // which of two values counts is nobody's promise
	}
	if uid := at(answer, "response", "uid"); uid == nil || uid != at(asked, "request", "uid") || answer["apiVersion"] != asked["apiVersion"] {
		t.Fatalf("%s is the answer to another request", w.Body)
	}
	if at(answer, "response", "allowed") == true {
		if why := objection(asked); why != "" {
			t.Fatalf("allowed, though %s: %s", why, w.Body)
		}
	}
}

// objection says why a review may not be allowed.
func objection(review map[string]any) string {
	if at(review, "request", "operation") != "UPDATE" || at(review, "request", "resource", "group") == nil {
		return "it is no update of anything"
	}
	kind := "Scale"
	switch subresource := at(review, "request", "subResource"); subresource {
	case "status":
		return ""
	case "scale":
	case nil, "":
		kind = map[any]string{"statefulsets": "StatefulSet", "deployments": "Deployment", "replicasets": "ReplicaSet"}[at(review, "request", "resource", "resource")]
	}
	for _, object := range []string{"oldObject", "object"} {
		if kind == "" || at(review, "request", object, "kind") != kind {
			return object + " is of another kind"
		}
	}
	from, to := replicas(review, "oldObject", kind), replicas(review, "object", kind)
	label := at(review, "request", "oldObject", "metadata", "labels", "grafana.com/no-downscale")
	switch {
	case from == nil && to == nil:
		return ""
	case from == nil || to == nil:
		return "one of the objects does not say how many replicas it has"
	case *to < *from && (kind == "Scale" || label == "true"):
		return "it shrinks"
	}
	return ""
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

// ambiguous tells whether an object of a JSON text has a key twice.
func ambiguous(text []byte) bool {
	tokens := json.NewDecoder(bytes.NewReader(text))
	tokens.UseNumber()
	var seen []map[string]bool // of the objects around; nil for a list
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

// Every member of a review in turn is taken out or replaced by something odd.
func TestAnOddReviewIsNeverAllowed(t *testing.T) {
	h := guarded()
	odd := []any{nil, "", "x", -1, 0, 1.5, math.MaxInt64, true, []any{}, map[string]any{}, []any{map[string]any{}}}
	tried := 0
	for _, seed := range [][]byte{update(t, set(3, barred), set(2, barred)), update(t, scale(3), scale(0)), update(t, deployment(1), deployment(0))} {
		var whole map[string]any
		if err := json.Unmarshal(seed, &whole); err != nil {
			t.Fatal(err)
		}
		everywhere(whole, func(parent map[string]any, key string) {
			was := parent[key]
			for _, value := range odd {
				parent[key] = value
				lawful(t, h, encode(t, whole))
				tried++
			}
			delete(parent, key)
			lawful(t, h, encode(t, whole))
			parent[key] = was
		})
	}
	if tried < 1000 {
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

func TestALyingLengthDoesNotTakeMemory(t *testing.T) {
	q := asking(t, noDownscalePath, update(t, set(3), set(2)))
	q.Header.Set("Content-Length", strconv.Itoa(math.MaxInt64))
	q.ContentLength = math.MaxInt64
	w := httptest.NewRecorder()
	guarded().ServeHTTP(w, q)
	answerTo(t, w)
}
