package reference_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const (
	templates = "/apis/example.com/v1/templates"
	web       = templates + "/team/web"
)

var theWeb = group.Reference{APIGroup: apiGroup, Kind: "Template", Name: "web"}

// withTemplates returns a server with the kind Template and one object of it.
func withTemplates() *server {
	s := newServer()
	s.install([]string{"v1"}, scaled("Template", "templates")...)
	s.put(web, object{uid: "first", replicas: 3, status: 2})
	return s
}

func TestWantedObjectIsReadOnceAndWatched(t *testing.T) {
	s := withTemplates()
	s.put(templates+"/team/other", object{uid: "other", replicas: 9})
	s.put(templates+"/elsewhere/web", object{uid: "elsewhere", replicas: 9})
	inRunning(t, "", s, func(d *running) {
		d.Want("team", theWeb, true)
		if got, reports := d.Scale("team", theWeb); got.Trouble.Code != reason.ReferenceNotRead || reports {
			d.t.Errorf("before anything was read: %+v, %t", got, reports)
		}
		synctest.Wait()
		got, reports := d.Scale("team", theWeb)
		if want := (group.Scale{UID: "first", Version: "102", Replicas: 3, Reported: 2}); got != want || !reports {
			d.t.Errorf("got %+v, %t, want %+v", got, reports, want)
		}
		if diff := cmp.Diff([]string{"team/Template.example.com web"}, d.notifications()); diff != "" {
			d.t.Errorf("news (-want +got):\n%s", diff)
		}
		want := []string{
			"get /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
			"get /apis/example.com", "get /apis/example.com/v1",
			"get " + templates, "get /apis/example.com/v1/namespaces/team/templates/web/scale",
			"watch /apis/apiextensions.k8s.io/v1/customresourcedefinitions", "watch " + templates,
		}
		requested := d.questions()
		if reads := len(slices.DeleteFunc(slices.Clone(requested), func(q string) bool { return !strings.HasSuffix(q, "/scale") })); reads != 1 {
			d.t.Errorf("read %d times", reads)
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Compact(requested)); diff != "" { // the event of a CRD may cause one more discovery of its group
			d.t.Errorf("requests (-want +got):\n%s", diff)
		}

		began := time.Now()
		d.put(web, object{uid: "first", replicas: 5, status: 3})
		d.wantReplicas(theWeb, 5)
		if took := time.Since(began); took > 0 {
			d.t.Errorf("took %s", took)
		}
		if diff := cmp.Diff([]string{"team/Template.example.com web"}, d.notifications()); diff != "" {
			d.t.Errorf("news (-want +got):\n%s", diff)
		}
		d.questions()

		time.Sleep(24 * time.Hour)
		if requested := d.reads(); len(requested) > 0 {
			d.t.Errorf("requests although nothing changed: %s", requested)
		}
		d.put(templates+"/team/other", object{uid: "other", replicas: 8})
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s", notifications)
		}
		if requested := d.reads(); len(requested) > 0 {
			d.t.Errorf("requests about unneeded references: %s", requested)
		}
	})
}

func TestIrrelevantChangeCausesNoNotification(t *testing.T) {
	s := withTemplates()
	inRunning(t, "", s, func(d *running) {
		d.Want("team", theWeb, true)
		d.notifications()
		d.put(web, object{uid: "first", replicas: 3, status: 2})
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s", notifications)
		}
		if got, _ := d.Scale("team", theWeb); got.Version != "103" {
			d.t.Errorf("version %s, of which a write needs the newest", got.Version)
		}
	})
}

func TestRecreatedObjectIsWatched(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.Reported("team", group.ReportReplicas{Reference: theWeb, UID: "first", To: 3}, group.Report{Replicas: 3, At: time.Now()})
		d.take(web)
		d.wantTrouble(theWeb, reason.ReferenceMissing, "Template.example.com web")
		d.put(web, object{uid: "second", replicas: 7})
		d.wantReplicas(theWeb, 7)
		if got, _ := d.Scale("team", theWeb); got.UID != "second" || got.Written != (group.Report{}) {
			d.t.Errorf("got %+v, want the second one, which was not written", got)
		}
	})
}

// A report counts for the object to which it was written. Until the watch shows it, it must not
// count as overwritten. After a later version was read, it must not count any more.
func TestReportedWriteIsStoredForTheSameObject(t *testing.T) {
	for sentence, tc := range map[string]struct {
		report   group.ReportReplicas
		written  int
		reported int
	}{
		"to the judged object":                {group.ReportReplicas{Reference: theWeb, UID: "first", Version: "102", To: 7}, 7, 7},
		"after something later":               {group.ReportReplicas{Reference: theWeb, UID: "first", Version: "101", To: 7}, 7, 2},
		"to an object that was deleted since": {group.ReportReplicas{Reference: theWeb, UID: "other", Version: "102", To: 7}, 0, 2},
		"to a resource that no zone mirrors":  {group.ReportReplicas{Reference: group.Reference{Kind: "Other"}, UID: "first", Version: "102", To: 7}, 0, 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			inRunning(t, "", withTemplates(), func(d *running) {
				d.Want("team", theWeb, true)
				d.wantReplicas(theWeb, 3)
				d.Reported("team", tc.report, group.Report{Replicas: tc.report.To, At: time.Now()})
				if got, _ := d.Scale("team", theWeb); got.Written.Replicas != tc.written || got.Reported != tc.reported {
					d.t.Errorf("got %+v", got)
				}
				d.put(web, object{uid: "first", replicas: 4, status: 5})
				synctest.Wait()
				if got, _ := d.Scale("team", theWeb); got.Written.Replicas != tc.written || got.Reported != 5 {
					d.t.Errorf("after another has written: got %+v", got)
				}
			})
		})
	}
}

func TestFailedReportIsStored(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		failed := group.Report{Replicas: 7, At: time.Now(), Failed: true}
		d.Reported("team", group.ReportReplicas{Reference: theWeb, UID: "first", Version: "102", To: 7}, failed)
		if got, _ := d.Scale("team", theWeb); got.Written != failed || got.Reported != 2 {
			d.t.Errorf("got %+v", got)
		}
		d.put(web, object{uid: "first", replicas: 4, status: 2})
		d.wantReplicas(theWeb, 4)
		if got, _ := d.Scale("team", theWeb); got.Written != failed {
			d.t.Errorf("after a change: got %+v", got)
		}
	})
}

func TestReasonsForAnUnknownScale(t *testing.T) {
	const forbidden, broken, away = http.StatusForbidden, http.StatusInternalServerError, http.StatusServiceUnavailable
	const getScale = "get /apis/example.com/v1/namespaces/team/templates/web/scale"
	without := func(what string) func(*server) {
		return func(s *server) {
			kinds := slices.DeleteFunc(scaled("Template", "templates"), func(r metav1.APIResource) bool { return r.Name == what })
			s.serve([]string{"v1"}, kinds...)
		}
	}
	refusing := func(what string, code int32, says string) func(*server) {
		return func(s *server) { s.refuse(what, code, says) }
	}
	for sentence, tc := range map[string]struct {
		world  func(*server)
		code   reason.Code
		detail string
	}{
		"no such group":                   {func(s *server) { s.remove() }, reason.ReferenceKindUnknown, "Template.example.com: no such API group"},
		"no such kind":                    {without("templates"), reason.ReferenceKindUnknown, "Template.example.com: no such kind"},
		"no replicas":                     {without("templates/scale"), reason.ReferenceKindUnknown, "Template.example.com: it has no scale subresource"},
		"no namespaces":                   {func(s *server) { s.kinds["/apis/example.com/v1"][0].Namespaced = false }, reason.ReferenceKindUnknown, "Template.example.com: its objects belong to no namespace"},
		"no watch":                        {func(s *server) { s.kinds["/apis/example.com/v1"][0].Verbs = metav1.Verbs{"list"} }, reason.ReferenceKindUnknown, "Template.example.com: its objects cannot be watched"},
		"a resource with an odd name":     {func(s *server) { s.kinds["/apis/example.com/v1"][0].Name = ".." }, reason.ReferenceKindUnknown, "Template.example.com: no such kind"},
		"no object":                       {func(s *server) { s.take(web) }, reason.ReferenceMissing, "Template.example.com web"},
		"no right to discover":            {refusing("get /apis/example.com", forbidden, ""), reason.ReferenceForbidden, "discovery"},
		"no right to list":                {refusing("get "+templates, forbidden, ""), reason.ReferenceForbidden, "list and watch templates.example.com"},
		"no right to watch":               {refusing("watch "+templates, forbidden, ""), reason.ReferenceForbidden, "list and watch templates.example.com"},
		"no right to read":                {refusing(getScale, forbidden, ""), reason.ReferenceForbidden, "get templates/scale.example.com"},
		"no replicas in its spec":         {refusing(getScale, broken, `the spec replicas field ".spec.replicas" does not exist`), reason.ReferenceUnreadable, "Template.example.com web: its spec has no number of replicas"},
		"replicas that are no number":     {refusing(getScale, broken, `.spec.replicas accessor error: x is of the type string, expected int64`), reason.ReferenceUnreadable, "Template.example.com web: its spec has no number of replicas"},
		"negative replicas":               {func(s *server) { s.put(web, object{uid: "first", replicas: -1}) }, reason.ReferenceUnreadable, "Template.example.com web: it requests -1 replicas"},
		"a server that cannot discover":   {refusing("get /apis/example.com", away, ""), reason.RequestFailing, "discovery"},
		"a server that cannot list":       {refusing("get "+templates, away, ""), reason.RequestFailing, "list and watch templates.example.com"},
		"a server that cannot read":       {refusing(getScale, broken, "etcdserver: request timed out"), reason.RequestFailing, "get templates/scale.example.com"},
		"an object that was just deleted": {refusing(getScale, http.StatusNotFound, ""), reason.ReferenceMissing, "Template.example.com web"},
		"a version that is served by no":  {func(s *server) { delete(s.kinds, "/apis/example.com/v1") }, reason.ReferenceKindUnknown, "Template.example.com: no such kind"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := withTemplates()
			tc.world(s)
			inRunning(t, "", s, func(d *running) {
				d.Want("team", theWeb, true)
				time.Sleep(time.Second)
				d.wantTrouble(theWeb, tc.code, tc.detail)
				time.Sleep(10 * time.Minute)
				d.notifications()
				d.questions()
				time.Sleep(10 * time.Minute)
				// Every half minute: two discovery requests, a list, a watch, and a read
				// of an object before the watch is refused. The watch of the CRDs goes on
				// beside them, and is renewed as often as its server ends it.
				ofCRDs := func(request string) bool { return strings.Contains(request, "customresourcedefinitions") }
				if requested := slices.DeleteFunc(d.questions(), ofCRDs); len(requested) > 20*5 {
					d.t.Errorf("%d requests in ten minutes: %q", len(requested), requested)
				}
				if notifications := d.notifications(); len(notifications) > 1 {
					d.t.Errorf("notified %d times of an unchanged object", len(notifications))
				}

				// The failure ends, and the cache notices it without an event of a CRD.
				d.serve([]string{"v1"}, scaled("Template", "templates")...)
				for what := range d.refuses {
					d.refuse(what, 0, "")
				}
				d.put(web, object{uid: "first", replicas: 6})
				time.Sleep(45 * time.Second)
				d.wantReplicas(theWeb, 6)
			})
		})
	}
}

func TestKindIsDiscoveredWhenItsCRDIsCreated(t *testing.T) {
	inRunning(t, "", newServer(), func(d *running) {
		d.Want("team", theWeb, true)
		time.Sleep(time.Hour) // so that the interval of discoveries is at its longest
		d.wantTrouble(theWeb, reason.ReferenceKindUnknown, "Template.example.com: no such API group")
		d.put(web, object{uid: "first", replicas: 3})
		d.define("templates.example.com") // before discovery knows it
		synctest.Wait()
		d.serve([]string{"v1"}, scaled("Template", "templates")...)
		began := time.Now()
		time.Sleep(250 * time.Millisecond)
		d.wantReplicas(theWeb, 3)
		if took := time.Since(began); took > time.Second {
			d.t.Errorf("took %s", took)
		}
	})
}

func TestDeletedKindIsDiscoveredAgain(t *testing.T) {
	for namespace, within := range map[string]time.Duration{"": 250 * time.Millisecond, "team": 31 * time.Second} {
		t.Run("in namespace "+namespace, func(t *testing.T) {
			inRunning(t, namespace, withTemplates(), func(d *running) {
				d.Want("team", theWeb, true)
				d.wantReplicas(theWeb, 3)
				d.notifications()
				d.take(web)
				d.remove()
				time.Sleep(time.Minute)
				d.wantTrouble(theWeb, reason.ReferenceKindUnknown, "Template.example.com: no such API group")
				if watched := d.watched(); len(watched) > 0 {
					d.t.Errorf("still watched: %s", watched)
				}
				if len(d.notifications()) == 0 {
					d.t.Error("no notification")
				}
				d.put(web, object{uid: "second", replicas: 4})
				d.install([]string{"v2", "v1"}, scaled("Template", "templates")...)
				d.put("/apis/example.com/v2/templates/team/web", object{uid: "second", replicas: 4})
				time.Sleep(within)
				d.wantReplicas(theWeb, 4)
				if gvr, ok := d.Resource(theWeb); !ok || gvr.Version != "v2" {
					d.t.Errorf("served by %s, want the preferred version", gvr)
				}
			})
		})
	}
}

func TestChangeOfAKindIsNoticedAtOnce(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.notifications()
		d.put("/apis/example.com/v2/templates/team/web", object{uid: "first", replicas: 3, status: 2})
		d.install([]string{"v2", "v1"}, scaled("Template", "templates")...)
		d.wantReplicas(theWeb, 3)
		if watched := d.watched(); !slices.Equal(watched, []string{"/apis/example.com/v2/templates"}) {
			d.t.Errorf("watched: %s", watched)
		}
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s, which is unchanged", notifications)
		}
		kinds := slices.DeleteFunc(scaled("Template", "templates"), func(r metav1.APIResource) bool { return r.Name == "templates/status" })
		d.install([]string{"v2", "v1"}, kinds...)
		d.wantReplicas(theWeb, 3)
		if _, reports := d.Scale("team", theWeb); reports {
			d.t.Error("an object without status can be written")
		}
	})
}

func TestUnwantedKindIsNotWatched(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		time.Sleep(time.Minute)
		if requested := d.questions(); len(requested) > 0 {
			d.t.Errorf("requests before any reference was needed: %s", requested)
		}
		other := group.Reference{APIGroup: apiGroup, Kind: "Template", Name: "other"}
		d.Want("team", theWeb, true)
		d.Want("team", other, true)
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.wantTrouble(other, reason.ReferenceMissing, "Template.example.com other")
		d.Want("team", other, false)
		d.Want("nowhere", other, false)
		synctest.Wait()
		if watched := d.watched(); len(watched) != 1 {
			d.t.Errorf("watched: %s", watched)
		}
		d.Want("team", theWeb, false)
		d.Want("team", theWeb, false)
		d.wantTrouble(theWeb, reason.ReferenceNotRead, "")
		time.Sleep(time.Minute)
		synctest.Wait()
		if watched := d.watched(); len(watched) > 0 {
			d.t.Errorf("still watched: %s", watched)
		}
		if _, ok := d.Resource(theWeb); ok {
			d.t.Error("still known")
		}
		d.wantTrouble(theWeb, reason.ReferenceNotRead, "")
		d.put(web, object{uid: "first", replicas: 8})
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 8)
	})
}

func TestScaleReadBeforeItsEventIsNotReadAgain(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.behind[web] = object{uid: "first", version: "150", replicas: 5}
		d.put(web, object{uid: "first", replicas: 4})
		d.wantReplicas(theWeb, 5)
		d.questions()
		d.version = 149
		d.put(web, object{uid: "first", replicas: 5})
		synctest.Wait()
		if requested := d.questions(); len(requested) > 0 {
			d.t.Errorf("requests: %s", requested)
		}
	})
}

func TestObjectIsNotMissingBeforeTheInitialListEnds(t *testing.T) {
	s := withTemplates()
	inRunning(t, "", s, func(d *running) {
		all := make(chan struct{})
		s.slow = map[string]chan struct{}{"get " + templates: all}
		d.Want("team", theWeb, true)
		synctest.Wait()
		other := group.Reference{APIGroup: apiGroup, Kind: "Template", Name: "other"}
		d.Want("team", other, true)
		d.wantTrouble(other, reason.ReferenceNotRead, "")
		close(all)
		d.wantReplicas(theWeb, 3)
		d.wantTrouble(other, reason.ReferenceMissing, "Template.example.com other")
	})
}

func TestResponseOlderThanTheWatchIsIgnored(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.notifications()
		d.behind[web] = object{uid: "first", version: "102", replicas: 9}
		d.put(web, object{uid: "first", replicas: 5})
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s", notifications)
		}
		time.Sleep(100 * time.Millisecond)
		d.wantReplicas(theWeb, 5)
	})
}

func TestOnlyTheConfiguredNamespaceIsWatched(t *testing.T) {
	inRunning(t, "team", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		if watched := d.watched(); !slices.Equal(watched, []string{templates + "/team"}) {
			d.t.Errorf("watched: %s", watched)
		}
		for _, q := range d.questions() {
			if strings.Contains(q, "customresourcedefinitions") {
				d.t.Errorf("requests without permission: %s", q)
			}
		}
	})
}

func TestCoreKindsAreDiscovered(t *testing.T) {
	s := newServer()
	s.kinds["/api//v1"] = scaled("ReplicationController", "replicationcontrollers")
	s.put("/api//v1/replicationcontrollers/team/web", object{uid: "first", replicas: 2})
	inRunning(t, "", s, func(d *running) {
		rc := group.Reference{Kind: "ReplicationController", Name: "web"}
		d.Want("team", rc, true)
		d.wantReplicas(rc, 2)
	})
}
