package budgets_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestBudgetsAreKnownIfTheKindDoesNotExist(t *testing.T) {
	for sentence, namespace := range map[string]string{"everywhere": "", "in one namespace": "team"} {
		t.Run(sentence, func(t *testing.T) {
			inRunning(t, namespace, newServer(), func(d *running) {
				d.want("", true)
				time.Sleep(time.Hour)
				d.want("", true)
				if n := d.loggedState("does not exist, so"); n != 1 {
					d.t.Errorf("logged %d times", n)
				}
				d.questions()
				time.Sleep(time.Hour)
				if n := len(d.questions()); n > 2*150 {
					d.t.Errorf("%d requests in an hour", n)
				}
			})
		})
	}
}

// Discovery follows the event of a CRD with a delay. There may be no event at all.
func TestKindThatIsInstalledLaterIsWatched(t *testing.T) {
	for sentence, tc := range map[string]struct {
		namespace string
		late      time.Duration // how long after the CRD its objects are served
		within    time.Duration
	}{
		"as soon as its CRD is seen":            {"", 0, 200 * time.Millisecond},
		"soon after its CRD is seen":            {"", 5 * time.Second, 12 * time.Second},
		"now and then where CRDs are not shown": {"team", 0, 40 * time.Second},
	} {
		t.Run(sentence, func(t *testing.T) {
			inRunning(t, tc.namespace, newServer(), func(d *running) {
				d.want("", true)
				time.Sleep(time.Hour)
				d.define()
				time.Sleep(tc.late)
				d.serve()
				d.put("team", "a", covering("a"))
				time.Sleep(tc.within - tc.late)
				d.want("a", true)
				if diff := cmp.Diff([]string{"team"}, d.notifications()); diff != "" {
					d.t.Errorf("news (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestDeletedKindDropsItsBudgetsAndCanReturn(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a"))
	inRunning(t, "", s, func(d *running) {
		d.want("a", true)
		for range 3 {
			time.Sleep(time.Hour)
			d.notifications()
			d.remove()
			seconds(60)
			d.want("", true)
			if diff := cmp.Diff([]string{"team"}, d.notifications()); diff != "" {
				d.t.Errorf("news (-want +got):\n%s", diff)
			}
			time.Sleep(time.Hour)
			d.install()
			d.put("team", "a", covering("a"))
			seconds(1)
			d.want("a", true)
		}
	})
}

// One API server may not know a CRD yet that another one serves.
func TestBudgetsStayKnownWhileTheKindIsBrieflyMissing(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a"))
	inRunning(t, "", s, func(d *running) {
		d.want("a", true)
		time.Sleep(time.Hour)
		d.notifications()
		d.hide()
		for range 8 {
			seconds(1)
			d.want("a", true)
		}
		d.serve()
		seconds(20)
		d.want("a", true)
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s", notifications)
		}
		d.put("team", "b", covering("b"))
		d.want("a b", true)
	})
}

func TestForbiddenBudgetsAreUnknown(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a"))
	s.refuse(http.StatusForbidden, "list", "watch")
	inRunning(t, "", s, func(d *running) {
		for range 5 {
			d.want("", false)
			if err := d.Trouble(); err == nil || !strings.Contains(err.Error(), "Forbidden") {
				d.t.Errorf("the trouble is %v", err)
			}
			time.Sleep(time.Hour)
		}
		if n := d.loggedState("cannot be read"); n != 1 {
			d.t.Errorf("logged %d times", n)
		}
		d.refuse(0, "list", "watch")
		seconds(40)
		d.want("a", true)
		if n := d.loggedState("are watched"); n != 1 {
			d.t.Errorf("logged %d times that they are watched", n)
		}
	})
}

// After a revoked permission, or without an API server, the cache becomes
// stale.
func TestBudgetsStayKnownForAMinuteAfterAFailure(t *testing.T) {
	for sentence, tc := range map[string]struct {
		code  int32
		verbs []string
	}{
		"forbidden":            {http.StatusForbidden, []string{"list", "watch"}},
		"not to be watched":    {http.StatusForbidden, []string{"watch"}},
		"there is no answer":   {http.StatusServiceUnavailable, []string{"list", "watch"}},
		"no answer to a watch": {http.StatusServiceUnavailable, []string{"watch"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := withKind()
			s.put("team", "a", covering("a"))
			inRunning(t, "", s, func(d *running) {
				d.want("a", true)
				time.Sleep(time.Hour)
				d.refuse(tc.code, tc.verbs...)
				d.interrupt()
				seconds(50)
				d.want("a", true)
				seconds(60)
				d.want("a", false)
				time.Sleep(time.Hour)
				d.want("a", false)
				d.refuse(0, tc.verbs...)
				seconds(70)
				d.want("a", true)
			})
		})
	}
}

// Listeners are called when budgets are known again, even if they have not changed.
func TestListenersAreCalledWhenBudgetsAreKnownAgain(t *testing.T) {
	for how, streams := range map[string]bool{"listed": false, "streamed": true} {
		t.Run(how, func(t *testing.T) {
			s := withKind()
			s.streams = streams
			s.put("team", "a", covering("a"))
			s.put("other", "b", covering("b"))
			inRunning(t, "", s, func(d *running) {
				d.want("a", true)
				d.notifications()
				d.touched()
				d.refuse(http.StatusServiceUnavailable, "list", "watch")
				d.interrupt()
				seconds(20) // the next attempt is made within a minute, whatever its pause
				d.refuse(0, "list", "watch")
				seconds(60)
				d.want("a", true)
				if notifications := d.notifications(); len(notifications) > 0 {
					d.t.Errorf("notified of %s, although they were known all the time", notifications)
				}
				d.refuse(http.StatusServiceUnavailable, "list", "watch")
				d.interrupt()
				seconds(300)
				d.want("a", false)
				d.refuse(0, "list", "watch")
				seconds(120)
				d.want("a", true)
				if notifications := d.notifications(); !slices.Equal(notifications, []string{"other", "team"}) {
					d.t.Errorf("notified of %s", notifications)
				}
				if notifications := d.touched(); len(notifications) == 0 {
					d.t.Error("the writer of their status was not notified")
				}
			})
		})
	}
}

// client-go retries after 429 and after a broken connection without calling the error
// handler.
func TestBudgetsWithoutHeartbeatsAreUnknown(t *testing.T) {
	for sentence, begins := range map[string]func(*running){
		"too many requests":              func(d *running) { d.refuse(http.StatusTooManyRequests, "list", "watch"); d.interrupt() },
		"connections break":              func(d *running) { d.refuse(unanswered, "list", "watch"); d.interrupt() },
		"watches deliver no more events": func(d *running) { d.silence(true); d.refuse(unanswered, "list", "watch") },
	} {
		for how, streams := range map[string]bool{"listed": false, "streamed": true} {
			t.Run(sentence+", "+how, func(t *testing.T) {
				s := withKind()
				s.streams = streams
				s.put("team", "a", covering("a"))
				inRunning(t, "", s, func(d *running) {
					d.want("a", true)
					time.Sleep(time.Hour)
					begins(d)
					seconds(50)
					d.want("a", true)
					seconds(150)
					d.want("a", false)
					time.Sleep(time.Hour)
					d.want("a", false)
					d.refuse(0, "list", "watch")
					d.silence(false)
					seconds(70)
					d.want("a", true)
				})
			})
		}
	}
}

// Events before the end of the initial list are not sufficient.
func TestIncompleteInitialListIsNoHeartbeat(t *testing.T) {
	s := withKind()
	s.streams = true
	s.put("team", "a", covering("a", limit(3)))
	inRunning(t, "", s, func(d *running) {
		d.want("a", true)
		d.refuse(http.StatusServiceUnavailable, "list", "watch")
		d.interrupt()
		seconds(90)
		d.want("a", false)
		d.put("team", "a", covering("a"))
		d.cutShort(true)
		d.refuse(0, "watch")
		for range 60 {
			seconds(30)
			d.want("a", false)
			d.interrupt()
		}
		d.cutShort(false)
		seconds(120)
		d.want("a", true)
		if got := d.Budgets("team")[0].Limit; got != 1 {
			d.t.Errorf("limit %d", got)
		}
	})
}

// A kind that is briefly missing after another long failure is not deleted.
func TestBudgetsStayKnownIfTheKindIsBrieflyMissingAfterAnotherFailure(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a"))
	inRunning(t, "", s, func(d *running) {
		d.want("a", true)
		d.refuse(http.StatusServiceUnavailable, "list", "watch")
		d.interrupt()
		time.Sleep(time.Hour)
		d.hide()
		d.refuse(0, "list", "watch")
		d.define() // a new attempt begins at once
		seconds(5)
		d.want("a", false)
		d.serve()
		seconds(70)
		d.want("a", true)
	})
}

func TestRegularEndOfWatchesIsNoFailure(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a"))
	inRunning(t, "", s, func(d *running) {
		d.want("a", true)
		d.notifications()
		for range 20 {
			time.Sleep(10 * time.Minute)
			d.interrupt()
			seconds(5)
			d.want("a", true)
		}
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s", notifications)
		}
		if n := d.loggedState("budgets"); n != 1 {
			d.t.Errorf("logged %d times", n)
		}
	})
}

// At the start it is unknown whether budgets exist.
func TestBudgetsAreUnknownBeforeTheFirstRead(t *testing.T) {
	s := withKind()
	s.refuse(http.StatusServiceUnavailable, "list", "watch")
	inRunning(t, "", s, func(d *running) {
		if d.Known() || d.Trouble() == nil {
			d.t.Error("known before anything was read")
		}
		synctest.Wait()
		d.want("", false)
		d.refuse(0, "list", "watch")
		seconds(60)
		d.want("", true)
	})
}

// The start of a replica waits for budgets only for a limited time. Requests that need
// budgets are refused while they are unknown.
func TestAnsweredIsTrueAfterAMinuteWithoutResponse(t *testing.T) {
	for sentence, code := range map[string]int32{
		"they are read":     0,
		"it fails":          http.StatusInternalServerError,
		"not available":     http.StatusServiceUnavailable,
		"too many requests": http.StatusTooManyRequests,
		"connections break": unanswered,
	} {
		for how, streams := range map[string]bool{"listed": false, "streamed": true} {
			t.Run(sentence+", "+how, func(t *testing.T) {
				s := withKind()
				s.streams = streams
				s.refuse(code, "list", "watch")
				inRunning(t, "", s, func(d *running) {
					synctest.Wait()
					d.wantAnswered(code == 0)
					seconds(50)
					d.wantAnswered(code == 0)
					seconds(10)
					d.wantAnswered(true)
					d.want("", code == 0)
					time.Sleep(time.Hour)
					d.wantAnswered(true)
					d.want("", code == 0)
				})
			})
		}
	}
}

// A working replica stays ready, whatever the API server answers later.
func TestAnsweredStaysTrue(t *testing.T) {
	for sentence, tc := range map[string]struct {
		server func() *server
		first  int32
	}{
		"forbidden":             {withKind, http.StatusForbidden},
		"there is no such kind": {newServer, 0},
		"read":                  {withKind, 0},
	} {
		for then, code := range map[string]int32{"not available": http.StatusServiceUnavailable, "connections break": unanswered} {
			t.Run(sentence+", then "+then, func(t *testing.T) {
				s := tc.server()
				s.refuse(tc.first, "list", "watch")
				inRunning(t, "", s, func(d *running) {
					synctest.Wait()
					d.wantAnswered(true)
					d.refuse(code, "list", "watch")
					d.interrupt()
					seconds(50)
					d.wantAnswered(true)
				})
			})
		}
	}
}
