package admission_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

const noDownscalePath = "/admission/no-downscale"

// metadataServer is an API server that returns metadata and records its requests.
type metadataServer struct {
	labels   map[string]map[string]string // by path
	fails    bool
	requests []string
}

// RoundTrip implements http.RoundTripper.
func (s *metadataServer) RoundTrip(q *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, q.Method+" "+q.URL.Path+" "+q.Header.Get("Accept"))
	if err := q.Context().Err(); err != nil {
		return nil, err
	}
	if s.fails {
		return nil, errors.New("planted")
	}
	labels, there := s.labels[q.URL.Path]
	if !there {
		return &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: q}, nil
	}
	parent := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: path.Base(q.URL.Path), Labels: labels}}
	text, err := json.Marshal(parent)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(text)), Request: q,
		Header: http.Header{"Content-Type": {"application/json"}},
	}, nil
}

func (s *metadataServer) client(tb testing.TB) kubernetes.Interface {
	tb.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", Transport: s, QPS: -1})
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

func noDownscale(n admission.NoDownscale) http.Handler {
	return admission.New(admission.Options{NoDownscale: n, Log: silent()})
}

func labelled(s *appsv1.StatefulSet) {
	s.Labels = map[string]string{"grafana.com/no-downscale": "true"}
}

func TestNoDownscale(t *testing.T) {
	const denied = "downscale of statefulsets/zone-a in team from 3 to 2 replicas is not allowed because it has the label 'grafana.com/no-downscale=true'. " +
		"It is refused (DownscaleNotAllowed): the object carries the label grafana.com/no-downscale=true"
	yes := true
	label := func(value string) func(*appsv1.StatefulSet) {
		return func(s *appsv1.StatefulSet) { s.Labels = map[string]string{"grafana.com/no-downscale": value} }
	}
	dryRun := func(r *admissionv1.AdmissionReview) { r.Request.DryRun = &yes }
	for name, tc := range map[string]struct {
		review  []byte
		denied  string
		doubted bool
		reason  reason.Code
	}{
		"with the label it keeps its replicas":                 {update(t, set(3, labelled), set(2, labelled)), denied, false, reason.DownscaleNotAllowed},
		"in a dry run too":                                     {update(t, set(3, labelled), set(2, labelled), dryRun), denied, false, reason.DownscaleNotAllowed},
		"also if the label is removed in the same change":      {update(t, set(3, labelled), set(2)), denied, false, reason.DownscaleNotAllowed},
		"a label that is added in the same change is too late": {update(t, set(3), set(2, labelled)), "", false, reason.NotManaged},
		"without the label a downscale is allowed":             {update(t, set(3), set(2)), "", false, reason.NotManaged},
		"another value is like no label":                       {update(t, set(3, label("True")), set(2)), "", false, reason.NotManaged},
		"an empty value is like no label":                      {update(t, set(3, label("")), set(2)), "", false, reason.NotManaged},
		"an ignored StatefulSet may be scaled down":            {update(t, set(3, labelled, ignored), set(2, labelled, ignored)), "", false, reason.NotManaged},
		"not if it is ignored by that update":                  {update(t, set(3, labelled), set(2, labelled, ignored)), denied, false, reason.DownscaleNotAllowed},
		"it may be scaled up":                                  {update(t, set(3, labelled), set(4, labelled)), "", false, reason.NotADownscale},
		"it may keep its replicas":                             {update(t, set(3, labelled), set(3, labelled)), "", false, reason.NotADownscale},
		"unknown replicas before and after: no downscale":      {update(t, set(-1, labelled), set(-1, labelled)), "", false, reason.NotADownscale},
		"unknown replicas after the change":                    {update(t, set(3, labelled), set(-1, labelled)), "", true, reason.ReplicasUnknown},
		"unknown replicas before the change":                   {update(t, set(-1, labelled), set(3, labelled)), "", true, reason.ReplicasUnknown},
		"an object that cannot be read":                        {update(t, set(3, labelled), "x"), "", true, reason.ObjectUnreadable},
		"a Deployment is judged by its own labels":             {update(t, deployment(3), deployment(2)), strings.Replace(denied, "statefulsets", "deployments", 1), false, reason.DownscaleNotAllowed},
		"a ReplicaSet as well":                                 {update(t, replicaSet(3), replicaSet(2)), strings.Replace(denied, "statefulsets", "replicasets", 1), false, reason.DownscaleNotAllowed},
	} {
		t.Run(name, func(t *testing.T) {
			for _, strict := range []bool{false, true} {
				response := answerTo(t, post(t, noDownscale(admission.NoDownscale{Strict: strict}), noDownscalePath, tc.review)).Response
				allowed := tc.denied == "" && (!tc.doubted || !strict)
				if response.Allowed != allowed || response.AuditAnnotations["reason"] != string(tc.reason) {
					t.Errorf("strict %t: allowed %t for %v, want %t for %s", strict, response.Allowed, response.AuditAnnotations, allowed, tc.reason)
				}
				if warned := len(response.Warnings) > 0; warned != (tc.doubted && !strict) {
					t.Errorf("strict %t: warnings %q", strict, response.Warnings)
				}
				if tc.denied != "" {
					if diff := cmp.Diff(&metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden, Message: tc.denied}, response.Result); diff != "" {
						t.Errorf("strict %t: -want +got:\n%s", strict, diff)
					}
				}
			}
		})
	}
}

func deployment(replicas int32) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"grafana.com/no-downscale": "true"}},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas},
	}
}

func replicaSet(replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"grafana.com/no-downscale": "true"}},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &replicas},
	}
}

func TestScaleIsJudgedByTheLabelsOfTheScaledObject(t *testing.T) {
	fresh := observe.Scaled{UID: "uid-a", Version: 7, NoDownscale: true}
	with := func(change func(*observe.Scaled)) *observe.Scaled {
		changed := fresh
		change(&changed)
		return &changed
	}
	down := func(q *admissionv1.AdmissionRequest) {}
	opaque := func(q *admissionv1.AdmissionRequest) {
		q.OldObject.Raw = bytes.Replace(q.OldObject.Raw, []byte(`"resourceVersion":"7"`), []byte(`"resourceVersion":"v7"`), 1)
	}
	up := func(q *admissionv1.AdmissionRequest) { q.Object, q.OldObject = q.OldObject, q.Object }
	label, none := map[string]string{"grafana.com/no-downscale": "true"}, map[string]string{"x": "y"}
	for name, tc := range map[string]struct {
		request  func(*admissionv1.AdmissionRequest)
		cached   *observe.Scaled
		live     map[string]string // its labels; nil: it does not exist
		fails    bool
		requests bool // it is read
		reason   reason.Code
	}{
		"the cache is as new as the Scale":                {down, &fresh, none, true, false, reason.DownscaleNotAllowed},
		"the cache is newer":                              {down, with(func(s *observe.Scaled) { s.Version = 8 }), none, true, false, reason.DownscaleNotAllowed},
		"the cached object may be scaled down":            {down, with(func(s *observe.Scaled) { s.NoDownscale = false }), label, true, false, reason.NotManaged},
		"the label was just taken off":                    {down, with(func(s *observe.Scaled) { s.Version = 6 }), none, false, true, reason.NotManaged},
		"something else was just changed":                 {down, with(func(s *observe.Scaled) { s.Version = 6 }), label, false, true, reason.DownscaleNotAllowed},
		"the label was just set":                          {down, with(func(s *observe.Scaled) { s.Version, s.NoDownscale = 6, false }), label, false, true, reason.DownscaleNotAllowed},
		"the cached object is a former one with the name": {down, with(func(s *observe.Scaled) { s.UID = "uid-b" }), none, false, true, reason.NotManaged},
		"versions are opaque":                             {opaque, &fresh, none, false, true, reason.NotManaged},
		"nothing is cached, and there is a label":         {down, nil, label, false, true, reason.DownscaleNotAllowed},
		"nothing is cached, and there is no label":        {down, nil, none, false, true, reason.NotManaged},
		"the state of a missing object is unknown":        {down, nil, nil, false, true, reason.ParentUnknown},
		"the state of an unreadable object is unknown":    {down, nil, nil, true, true, reason.ParentUnknown},
		"a name that is a path is not read":               {func(q *admissionv1.AdmissionRequest) { q.Name = "../secrets/x" }, nil, nil, true, false, reason.ParentUnknown},
		"a cache that lags is not believed either":        {down, with(func(s *observe.Scaled) { s.Version = 6 }), nil, true, true, reason.ParentUnknown},
		"a scale-up needs no read":                        {up, &fresh, label, true, false, reason.NotADownscale},
		"another resource is not known":                   {func(q *admissionv1.AdmissionRequest) { q.Resource.Resource = "replicationcontrollers" }, &fresh, nil, true, false, reason.ParentUnknown},
		"nor does an object of the same name elsewhere":   {func(q *admissionv1.AdmissionRequest) { q.Resource.Group = "example.com" }, &fresh, nil, true, false, reason.ParentUnknown},
	} {
		for _, resource := range []string{"statefulsets", "deployments", "replicasets"} {
			t.Run(name+"/"+resource, func(t *testing.T) {
				review := update(t, scale(3), scale(0), func(r *admissionv1.AdmissionReview) {
					r.Request.Resource.Resource = resource
					tc.request(r.Request)
				})
				path := "/apis/apps/v1/namespaces/team/" + resource + "/zone-a"
				cached := func(of, namespace, name string) (observe.Scaled, bool) {
					if tc.cached == nil || of != resource || namespace != "team" || name != "zone-a" {
						return observe.Scaled{}, false
					}
					return *tc.cached, true
				}
				for _, strict := range []bool{false, true} {
					s := &metadataServer{fails: tc.fails, labels: map[string]map[string]string{}}
					if tc.live != nil {
						s.labels[path] = tc.live
					}
					h := noDownscale(admission.NoDownscale{Strict: strict, Parents: admission.ScaleParents{Cached: cached, Client: s.client(t)}})
					response := answerTo(t, post(t, h, noDownscalePath, review)).Response
					doubted := tc.reason == reason.ParentUnknown
					allowed := tc.reason != reason.DownscaleNotAllowed && (!doubted || !strict)
					if response.Allowed != allowed || response.AuditAnnotations["reason"] != string(tc.reason) {
						t.Errorf("strict %t: allowed %t for %v (%+v), want %t for %s", strict, response.Allowed, response.AuditAnnotations, response.Result, allowed, tc.reason)
					}
					if doubted && strict && response.Result.Code != http.StatusTooManyRequests {
						t.Errorf("refused with %d, want 429: it may be known later", response.Result.Code)
					}
					if warned := len(response.Warnings) > 0; warned != (doubted && !strict) {
						t.Errorf("strict %t: warnings %q", strict, response.Warnings)
					}
					var want []string
					if tc.requests {
						want = []string{"GET " + path + " application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"}
					}
					if diff := cmp.Diff(want, s.requests); diff != "" {
						t.Errorf("strict %t: requests (-want +got):\n%s", strict, diff)
					}
				}
			})
		}
	}
}

// parents returns the same answer for all objects.
type parents struct {
	labelled bool
	err      error
}

func (p parents) NoDownscale(context.Context, admission.Change) (bool, error) {
	return p.labelled, p.err
}

func TestWarningIsAtMost256Bytes(t *testing.T) {
	h := noDownscale(admission.NoDownscale{Parents: parents{err: errors.New(strings.Repeat("é", 500))}})
	warnings := answerTo(t, post(t, h, noDownscalePath, update(t, scale(3), scale(2)))).Response.Warnings
	if len(warnings) != 1 || len(warnings[0]) > 256 || strings.ContainsRune(warnings[0], '�') {
		t.Errorf("got %q", warnings)
	}
}

func TestPermissionsCoverTheReads(t *testing.T) {
	var got []string
	for _, need := range admission.Permissions() {
		got = append(got, need.APIGroup+"/"+need.Resource+" "+strings.Join(need.Verbs, ","))
	}
	want := []string{"apps/statefulsets get", "apps/deployments get", "apps/replicasets get"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
