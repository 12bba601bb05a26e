package act_test

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// recorder is an API server that records requests and accepts all of them, unless a test says otherwise. It
// answers in the goroutine of the request, so that it works in a bubble of testing/synctest.
type recorder struct {
	takes   time.Duration                  // the time of each answer
	refuses func(what string) (code int32) // 0 means that it accepts the request
	refusal *metav1.Status                 // of each patch; nil: none
	answers func(what string) any          // instead of the object that was sent; nil, also as an answer: it sends that back

	mu       sync.Mutex
	requests []string
	bodies   []string
	underway int
	most     int // the most concurrent requests
}

// said returns the recorded requests as "VERB object" and clears the record.
func (r *recorder) said() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer func() { r.requests = nil }()
	return r.requests
}

// timeOfRequest matches the time of a request: unlike the times of fixtures, it has a fraction of a second.
var timeOfRequest = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:]+\.\d+Z`)

// bodyOf returns the body of each recorded request, in whatever order they were sent, with NOW for the time of the
// request. It clears the record.
func (r *recorder) bodyOf() map[string]string {
	bodyOf := map[string]string{}
	for i, what := range r.said() {
		bodyOf[what] = timeOfRequest.ReplaceAllString(strings.TrimSpace(r.bodies[i]), `NOW`)
	}
	return bodyOf
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(q *http.Request) (*http.Response, error) {
	_, object, _ := strings.Cut(q.URL.Path, "/namespaces/team/")
	what := q.Method + " " + object
	if q.URL.Query().Has("dryRun") || q.URL.Query().Has("labelSelector") {
		what += "?" + q.URL.RawQuery
	}
	var body []byte
	if q.Body != nil {
		var err error
		if body, err = io.ReadAll(q.Body); err != nil {
			return nil, err
		}
	}
	r.begin(what, body)
	defer r.end()
	select {
	case <-time.After(r.takes):
	case <-q.Context().Done():
		return nil, q.Context().Err()
	}
	if r.refuses != nil {
		if code := r.refuses(what); code != 0 {
			return apitest.Refusal(code, whys[code]), nil
		}
	}
	if r.refusal != nil && q.Method == http.MethodPatch {
		return apitest.Answer(int(r.refusal.Code), r.refusal), nil
	}
	if r.answers != nil {
		if answer := r.answers(what); answer != nil {
			return apitest.Answer(http.StatusOK, answer), nil
		}
	}
	return apitest.Answer(http.StatusOK, agreement(q.URL.Path, body)), nil
}

func (r *recorder) begin(what string, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, what)
	r.bodies = append(r.bodies, string(body))
	r.underway++
	r.most = max(r.most, r.underway)
}

func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.underway--
}

// agreement returns the object that was sent, at version 500.
func agreement(path string, body []byte) any {
	object := map[string]any{}
	if json.Unmarshal(body, &object) != nil {
		object = map[string]any{}
	}
	switch {
	case strings.Contains(path, "/leases"):
		object["kind"], object["apiVersion"] = "Lease", "coordination.k8s.io/v1"
	case strings.Contains(path, "/templates"):
		object["kind"], object["apiVersion"] = "PartialObjectMetadata", "meta.k8s.io/v1"
	case strings.Contains(path, "/statefulsets"):
		object["kind"], object["apiVersion"] = "StatefulSet", "apps/v1"
	case strings.Contains(path, "/controllerrevisions"):
		object["kind"], object["apiVersion"] = "ControllerRevision", "apps/v1"
	case strings.Contains(path, "/persistentvolumeclaims"):
		object["kind"], object["apiVersion"] = "PersistentVolumeClaim", "v1"
	default:
		pod := map[string]any{"kind": "Pod", "apiVersion": "v1"}
		if sent, is := object["metadata"].(map[string]any); is {
			pod["metadata"] = map[string]any{"labels": sent["labels"], "name": sent["name"]}
		}
		if sent, is := object["spec"].(map[string]any); is {
			pod["spec"] = map[string]any{"schedulingGates": sent["schedulingGates"]}
		}
		object = pod
	}
	meta, ok := object["metadata"].(map[string]any)
	if !ok {
		meta = map[string]any{}
	}
	meta["resourceVersion"], meta["uid"] = "500", "uid"
	object["metadata"] = meta
	return object
}

// whys are the reasons of the status codes.
var whys = map[int32]metav1.StatusReason{
	http.StatusConflict: metav1.StatusReasonConflict, http.StatusNotFound: metav1.StatusReasonNotFound,
	http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
	http.StatusInternalServerError: metav1.StatusReasonInternalError, http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	http.StatusPreconditionFailed: metav1.StatusReasonAlreadyExists, // in place of 409, which is a conflict here
}
