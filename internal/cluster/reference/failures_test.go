package reference_test

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

const scaleOfWeb = "get /apis/example.com/v1/namespaces/team/templates/web/scale"

var theOther = group.Reference{APIGroup: apiGroup, Kind: "Template", Name: "other"}

// An outdated number of replicas does not stay valid for long.
func TestScaleStaysValidForAMinuteAfterAFailure(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		time.Sleep(time.Hour)
		d.notifications()
		d.refuse(scaleOfWeb, http.StatusServiceUnavailable, "")
		d.put(web, object{uid: "first", replicas: 5})
		time.Sleep(59 * time.Second)
		d.wantReplicas(theWeb, 3)
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s", notifications)
		}
		time.Sleep(2 * time.Second)
		d.wantTrouble(theWeb, reason.RequestFailing, "get templates/scale.example.com")
		time.Sleep(time.Hour)
		if notifications := d.notifications(); len(notifications) != 1 {
			d.t.Errorf("notified %d times, want once", len(notifications))
		}
		d.refuse(scaleOfWeb, 0, "")
		time.Sleep(31 * time.Second)
		d.wantReplicas(theWeb, 5)
	})
}

func TestFailedDiscoveryKeepsTheWatch(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.refuse("get /apis/example.com", http.StatusServiceUnavailable, "")
		d.define("templates.example.com")
		time.Sleep(time.Hour)
		d.wantReplicas(theWeb, 3)
		d.refuse("get /apis/example.com", 0, "")
		d.put(web, object{uid: "first", replicas: 5})
		d.wantReplicas(theWeb, 5)
	})
}

func TestRevokedPermissionIsReportedAtOnce(t *testing.T) {
	for sentence, tc := range map[string]struct {
		what, detail string
	}{
		"to read":  {scaleOfWeb, "get templates/scale.example.com"},
		"to watch": {"watch " + templates, "list and watch templates.example.com"},
	} {
		t.Run(sentence, func(t *testing.T) {
			inRunning(t, "", withTemplates(), func(d *running) {
				d.Want("team", theWeb, true)
				d.wantReplicas(theWeb, 3)
				time.Sleep(time.Hour)
				d.notifications()
				d.refuse(tc.what, http.StatusForbidden, "")
				if tc.what == scaleOfWeb {
					d.put(web, object{uid: "first", replicas: 5})
				} else {
					d.interrupt(103)
					time.Sleep(2 * time.Second) // until a watch that has ended begins again
				}
				d.wantTrouble(theWeb, reason.ReferenceForbidden, tc.detail)
				if len(d.notifications()) == 0 {
					d.t.Error("no notification")
				}
				d.put(web, object{uid: "first", replicas: 6})
				d.refuse(tc.what, 0, "")
				time.Sleep(32 * time.Second)
				d.wantReplicas(theWeb, 6)
			})
		})
	}
}

func TestScaleIsUnknownAfterALongFailureOfTheWatch(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		time.Sleep(time.Hour)
		d.refuse("get "+templates, http.StatusServiceUnavailable, "")
		d.refuse("watch "+templates, http.StatusServiceUnavailable, "")
		d.interrupt(103)
		time.Sleep(50 * time.Second)
		d.wantReplicas(theWeb, 3)
		time.Sleep(2 * time.Minute)
		d.wantTrouble(theWeb, reason.RequestFailing, "list and watch templates.example.com")
		d.put(web, object{uid: "first", replicas: 6})
		d.refuse("get "+templates, 0, "")
		d.refuse("watch "+templates, 0, "")
		time.Sleep(45 * time.Second)
		d.wantReplicas(theWeb, 6)
	})
}

// client-go retries after 429 without calling the error handler.
func TestWatchWithoutHeartbeatsEndsWithinMinutes(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		time.Sleep(time.Hour)
		d.refuse("watch "+templates, http.StatusTooManyRequests, "")
		d.interrupt(103)
		d.put(web, object{uid: "first", replicas: 6})
		time.Sleep(4 * time.Minute)
		d.wantReplicas(theWeb, 6)
		d.refuse("get "+templates, http.StatusServiceUnavailable, "")
		time.Sleep(4 * time.Minute)
		d.wantTrouble(theWeb, reason.RequestFailing, "list and watch templates.example.com")
	})
}

// Not every API server sends bookmarks.
func TestQuietWatchIsKept(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.notifications()
		d.questions()
		time.Sleep(24 * time.Hour)
		if n := d.counted("get "); n > 0 || len(d.notifications()) > 0 {
			d.t.Errorf("%d requests for a watched object", n)
		}
	})
}

func TestRegularEndOfWatchesKeepsTheScales(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.notifications()
		for range 20 {
			time.Sleep(10 * time.Minute)
			d.refuse("watch "+templates, http.StatusServiceUnavailable, "")
			d.interrupt(103)
			time.Sleep(5 * time.Second)
			d.refuse("watch "+templates, 0, "")
			d.wantReplicas(theWeb, 3)
		}
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s", notifications)
		}
	})
}

// A kind whose scales cannot be read is not watched, because a watch shows all of its objects.
func TestForbiddenKindIsNotWatched(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.refuse(scaleOfWeb, http.StatusForbidden, "")
		d.Want("team", theWeb, true)
		d.Want("team", theOther, true)
		for range 10 {
			time.Sleep(time.Hour)
			d.wantTrouble(theWeb, reason.ReferenceForbidden, "get templates/scale.example.com")
			if watched := d.watched(); len(watched) > 0 {
				d.t.Fatalf("watched: %s", watched)
			}
		}
		d.refuse("get /apis/example.com/v1/namespaces/team/templates/", http.StatusForbidden, "")
		time.Sleep(time.Minute)
		d.questions()
		d.notifications()
		time.Sleep(10 * time.Minute)
		if lists := d.counted("get " + templates); lists > 0 {
			d.t.Errorf("listed %d times", lists)
		}
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s", notifications)
		}
		clear(d.refuses)
		time.Sleep(32 * time.Second)
		d.wantReplicas(theWeb, 3)
		d.wantTrouble(theOther, reason.ReferenceMissing, "Template.example.com other")
	})
}

func TestPartlyForbiddenKindIsWatched(t *testing.T) {
	s := withTemplates()
	s.put(templates+"/team/other", object{uid: "other", replicas: 9})
	inRunning(t, "", s, func(d *running) {
		d.refuse(scaleOfWeb, http.StatusForbidden, "")
		d.Want("team", theWeb, true)
		d.Want("team", theOther, true)
		time.Sleep(time.Hour)
		d.wantTrouble(theWeb, reason.ReferenceForbidden, "get templates/scale.example.com")
		d.wantReplicas(theOther, 9)
		if watched := d.watched(); !slices.Equal(watched, []string{templates}) {
			d.t.Errorf("watched: %s", watched)
		}
	})
}

// An aggregated API may have different versions for scales and objects.
func TestScalesWithTheirOwnVersionsAreAccepted(t *testing.T) {
	s := withTemplates()
	s.counts = "1"
	inRunning(t, "", s, func(d *running) {
		d.Want("team", theWeb, true)
		time.Sleep(5 * time.Second)
		d.wantReplicas(theWeb, 3)
		if got, _ := d.Scale("team", theWeb); got.Version != "102" {
			d.t.Errorf("version %s, want that of the object, which a write needs", got.Version)
		}
		d.put(web, object{uid: "first", replicas: 5})
		d.wantReplicas(theWeb, 5)
		d.questions()
		time.Sleep(time.Hour)
		if n := d.counted("get "); n > 0 {
			d.t.Errorf("%d requests although nothing changed", n)
		}
	})
}

// This happens after a restore of the cluster from an earlier state.
func TestOlderListReplacesReadVersions(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		for i := range int32(50) {
			d.put(web, object{uid: "first", replicas: i})
			time.Sleep(time.Second)
		}
		d.wantReplicas(theWeb, 49)
		d.refuse("watch "+templates, http.StatusServiceUnavailable, "") // so that the client lists all objects again
		d.interrupt(50)
		d.put(web, object{uid: "first", replicas: 5})
		time.Sleep(2 * time.Second)
		d.refuse("watch "+templates, 0, "")
		time.Sleep(time.Minute)
		d.wantReplicas(theWeb, 5)
	})
}

func TestReadsOfOneObjectHaveALimitedRate(t *testing.T) {
	inRunning(t, "", withTemplates(), func(d *running) {
		d.Want("team", theWeb, true)
		d.wantReplicas(theWeb, 3)
		d.questions()
		for i := range int32(1000) {
			d.put(web, object{uid: "first", replicas: i})
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		time.Sleep(time.Second)
		d.wantReplicas(theWeb, 999)
		if n := d.counted(scaleOfWeb); n > 40 {
			d.t.Errorf("read %d times in ten seconds", n)
		}
	})
}
