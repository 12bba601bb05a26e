package access_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	logtest "github.com/sirupsen/logrus/hooks/test"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/cluster/access"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

var needs = []permission.Need{
	{Scope: permission.Cluster, Resource: "namespaces", Verbs: []string{"list"}},
	{Resource: "pods", Verbs: []string{"delete", "patch"}},
	{APIGroup: "apps", Resource: "statefulsets/status", Verbs: []string{"patch"}},
	{Scope: permission.Home, APIGroup: "coordination.k8s.io", Resource: "leases", Name: "lockstep-leader", Verbs: []string{"get"}},
}

// apiServer is an API server that grants everything except withheld permissions. It
// answers in the goroutine of the client, so that it can run in a synctest bubble.
type apiServer struct {
	mu        sync.Mutex
	away      bool
	withheld  []string // "delete pods"
	requested []authorizationv1.ResourceAttributes
}

// RoundTrip implements http.RoundTripper.
func (a *apiServer) RoundTrip(q *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		return nil, errors.New("no route to host")
	}
	if !strings.HasSuffix(q.URL.Path, "/selfsubjectaccessreviews") {
		return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden), nil
	}
	var review authorizationv1.SelfSubjectAccessReview
	if err := json.NewDecoder(q.Body).Decode(&review); err != nil {
		return nil, err
	}
	about := *review.Spec.ResourceAttributes
	a.requested = append(a.requested, about)
	review.Status.Allowed = !slices.Contains(a.withheld, about.Verb+" "+about.Resource)
	return apitest.Answer(http.StatusCreated, &review), nil
}

func (a *apiServer) withhold(what ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.withheld = what
}

func (a *apiServer) stopServing(away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = away
}

func (a *apiServer) questions() []authorizationv1.ResourceAttributes {
	a.mu.Lock()
	defer a.mu.Unlock()
	defer func() { a.requested = nil }()
	return a.requested
}

// running is a running Review with its log and its count.
type running struct {
	t *testing.T
	*access.Review
	apiServer
	client  *http.Client // whose refusals set off the alarm
	log     *logtest.Hook
	missing int
}

// inReview runs a test with a running Review.
func inReview(t *testing.T, managed string, withheld []string, test func(*running)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		o := &running{t: t, apiServer: apiServer{withheld: withheld}}
		alarm := access.NewAlarm()
		watched := alarm.Watch(&o.apiServer)
		o.client = &http.Client{Transport: watched}
		log, lines := logtest.NewNullLogger()
		o.log = lines
		o.Review = access.New(access.Options{
			Client: apitest.Client(t, watched), Needs: needs, Managed: managed, Home: "home", Alarm: alarm, Log: log,
			Changed: func(n int) { o.missing = n },
		})
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { o.Run(ctx); close(done) }()
		synctest.Wait()
		test(o)
		stop()
		<-done
	})
}

// refused sends a request that is answered with 403.
func (o *running) refused() {
	o.t.Helper()
	q, err := http.NewRequestWithContext(o.t.Context(), http.MethodDelete, "http://api/pods/x", nil)
	if err != nil {
		o.t.Fatal(err)
	}
	answer, err := o.client.Do(q)
	if err != nil {
		o.t.Fatal(err)
	}
	answer.Body.Close()
}

func TestReviewAsksForEveryNeedInItsNamespace(t *testing.T) {
	inReview(t, "", nil, func(o *running) {
		want := []authorizationv1.ResourceAttributes{
			{Verb: "list", Resource: "namespaces"},
			{Verb: "delete", Resource: "pods"},
			{Verb: "patch", Resource: "pods"},
			{Verb: "patch", Group: "apps", Resource: "statefulsets", Subresource: "status"},
			{Namespace: "home", Verb: "get", Group: "coordination.k8s.io", Resource: "leases", Name: "lockstep-leader"},
		}
		if diff := cmp.Diff(want, o.questions()); diff != "" {
			o.t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestOperatorOfOneNamespaceNeedsNoClusterPermissions(t *testing.T) {
	inReview(t, "team", nil, func(o *running) {
		for _, q := range o.questions() {
			if q.Namespace != "team" && q.Namespace != "home" {
				o.t.Errorf("a review outside of the namespace: %+v", q)
			}
		}
	})
}

func TestMissingPermissionIsNamedUntilItIsGranted(t *testing.T) {
	inReview(t, "team", []string{"patch pods", "patch statefulsets"}, func(o *running) {
		const want = "missing: patch pods in team, patch statefulsets/status.apps in team; apply what you installed, of the image's version"
		if err := o.Missing(); err == nil || err.Error() != want || o.missing != 2 {
			o.t.Errorf("got %v and %d, want %s", err, o.missing, want)
		}
		time.Sleep(5 * time.Minute)
		if n := len(o.log.AllEntries()); n != 1 || o.log.LastEntry().Level != logrus.ErrorLevel {
			o.t.Errorf("%d lines about one finding", n)
		}
		if n := len(o.questions()); n > 7*4 {
			t.Errorf("%d questions in five minutes", n)
		}
		o.withhold()
		time.Sleep(10 * time.Minute)
		if err := o.Missing(); err != nil || o.missing != 0 || o.log.LastEntry().Level != logrus.InfoLevel {
			o.t.Errorf("granted, and yet %v, %d missing", err, o.missing)
		}
	})
}

// Permissions for a kind that is not installed are not reviewed.
func TestInapplicableNeedIsNotMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theAuthority := &apiServer{withheld: []string{"delete pods"}}
		wanted := func(need permission.Need) bool { return need.Resource != "pods" }
		log, lines := logtest.NewNullLogger()
		review := access.New(access.Options{
			Client: apitest.Client(t, theAuthority), Needs: needs, Asks: wanted, Home: "home", Alarm: access.NewAlarm(), Log: log,
		})
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { review.Run(ctx) })
		synctest.Wait()
		if err := review.Missing(); err != nil || len(lines.AllEntries()) > 0 {
			t.Errorf("complains of %v", err)
		}
		if requested := theAuthority.questions(); len(requested) == 0 || slices.ContainsFunc(requested, func(q authorizationv1.ResourceAttributes) bool { return q.Resource == "pods" }) {
			t.Errorf("reviews: %v", requested)
		}
		stop()
		running.Wait()
	})
}

func TestCompletePermissionsAreNotLogged(t *testing.T) {
	inReview(t, "", nil, func(o *running) {
		o.questions()
		time.Sleep(time.Hour)
		if q := o.questions(); len(q) > 0 || len(o.log.AllEntries()) > 0 {
			o.t.Errorf("%d reviews in an idle hour", len(q))
		}
	})
}

func TestRefusedRequestStartsAReview(t *testing.T) {
	inReview(t, "", nil, func(o *running) {
		o.withhold("delete pods")
		for range 1000 {
			o.refused()
		}
		time.Sleep(30 * time.Second)
		if err := o.Missing(); err == nil || !strings.Contains(err.Error(), "delete pods") {
			o.t.Errorf("got %v, want the missing permission", err)
		}
		if n := len(o.questions()); n > 5*6 {
			o.t.Errorf("%d questions in half a minute", n)
		}
	})
}

func TestFailedReviewIsRetried(t *testing.T) {
	inReview(t, "", nil, func(o *running) {
		o.withhold("delete pods")
		o.refused()
		o.stopServing(true)
		time.Sleep(time.Minute)
		if err := o.Missing(); err != nil {
			o.t.Errorf("no answer is taken for a refusal: %v", err)
		}
		o.stopServing(false)
		time.Sleep(time.Minute)
		if o.Missing() == nil {
			o.t.Error("not reviewed again")
		}
	})
}
