package budgets_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// covering returns the spec of a budget for pods with a label, with other fields.
func covering(value string, more ...map[string]any) map[string]any {
	spec := map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"name": value}}}
	for _, fields := range more {
		maps.Copy(spec, fields)
	}
	return spec
}

func limit(pods int64) map[string]any { return map[string]any{"maxUnavailable": pods} }

func TestBudgetsAreCachedInOrderOfNames(t *testing.T) {
	for sentence, streams := range map[string]bool{"listed": false, "streamed": true} {
		t.Run(sentence, func(t *testing.T) {
			s := withKind()
			s.streams = streams
			s.put("team", "b", covering("b", limit(2)))
			s.put("team", "a", covering("a"))
			s.put("other", "c", covering("c"))
			inRunning(t, "", s, func(d *running) {
				d.want("a b", true)
				if got := d.names("other"); got != "c" {
					d.t.Errorf("got %q", got)
				}
				if diff := cmp.Diff([]string{"other", "team"}, d.notifications()); diff != "" {
					d.t.Errorf("news (-want +got):\n%s", diff)
				}
				if got := d.Budgets("team")[1].Limit; got != 2 {
					d.t.Errorf("limit %d", got)
				}

				began := time.Now()
				d.put("team", "b", covering("b", limit(3)))
				d.want("a b", true)
				if got := d.Budgets("team")[1].Limit; got != 3 {
					d.t.Errorf("limit %d after it was changed", got)
				}
				d.put("team", "0", covering("0"))
				d.want("0 a b", true)
				d.take("team", "a")
				d.want("0 b", true)
				d.take("team", "0")
				d.want("b", true)
				d.take("team", "b")
				d.want("", true)
				if took := time.Since(began); took > 0 {
					d.t.Errorf("took %s", took)
				}
				if diff := cmp.Diff([]string{"team", "team", "team", "team", "team"}, d.notifications()); diff != "" {
					d.t.Errorf("news (-want +got):\n%s", diff)
				}
				d.questions()
				time.Sleep(24 * time.Hour)
				for _, q := range d.questions() {
					if !strings.HasPrefix(q, "watch ") {
						d.t.Errorf("requests although nothing changed: %s", q)
					}
				}
			})
		})
	}
}

func TestStatusChangeCausesNoNotificationAndNoParsing(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a", map[string]any{"podNamePartitionRegex": "a-([0-9]+)"}))
	inRunning(t, "", s, func(d *running) {
		d.want("a", true)
		d.notifications()
		before := d.Budgets("team")
		d.touch("team")
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s", notifications)
		}
		if after := d.Budgets("team"); after[0].Partition != before[0].Partition {
			d.t.Error("it was read again")
		}
		if n := testing.AllocsPerRun(10, func() { d.Budgets("team") }); n > 0 {
			d.t.Errorf("%v allocations although nothing has changed", n)
		}
		d.interrupt()
		seconds(10)
		d.touch("team")
		d.put("team", "b", covering("b"))
		d.want("a b", true)
		if after := d.Budgets("team"); after[0].Partition != before[0].Partition {
			d.t.Error("it was read again after all were listed")
		}
	})
}

func TestRecreatedBudgetIsParsedAgain(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a", limit(2)))
	inRunning(t, "", s, func(d *running) {
		d.want("a", true)
		d.refuse(http.StatusServiceUnavailable, "watch", "list")
		d.interrupt()
		seconds(1)
		d.take("team", "a")
		d.put("team", "a", covering("a", limit(3)))
		d.refuse(0, "watch", "list")
		seconds(40)
		d.want("a", true)
		if got := d.Budgets("team")[0].Limit; got != 3 {
			d.t.Errorf("limit %d", got)
		}
	})
}

func TestInvalidBudgetKeepsItsSelector(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a", limit(-1)))
	s.put("team", "b", nil)
	inRunning(t, "", s, func(d *running) {
		d.want("a? b?", true)
		want := []group.DisruptionBudget{
			{Name: "a", Invalid: "invalid value: maxUnavailable is -1: must be at least 0", Selector: group.Selector{{Key: "name", Demand: group.LabelIn, Values: []string{"a"}}}},
			{Name: "b", Invalid: "invalid value: spec is missing"},
		}
		if diff := cmp.Diff(want, d.Budgets("team")); diff != "" {
			d.t.Errorf("-want +got:\n%s", diff)
		}
		d.put("team", "a", covering("a"))
		d.want("a b?", true)
	})
}

// Deletions while no watch is open are noticed when it opens again.
func TestChangesBetweenTwoWatchesAreNoticed(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a"))
	s.put("team", "b", covering("b"))
	s.put("other", "c", covering("c"))
	inRunning(t, "", s, func(d *running) {
		d.want("a b", true)
		d.notifications()
		d.refuse(http.StatusServiceUnavailable, "watch", "list")
		d.interrupt()
		seconds(1)
		d.take("team", "a")
		d.put("team", "b", covering("b", limit(4)))
		d.take("other", "c")
		d.put("third", "d", covering("d"))
		seconds(2)
		d.refuse(0, "watch", "list")
		seconds(40)
		d.want("b", true)
		if got := d.Budgets("team")[0].Limit; got != 4 {
			d.t.Errorf("limit %d", got)
		}
		if diff := cmp.Diff([]string{"other", "team", "third"}, slices.Compact(d.notifications())); diff != "" {
			d.t.Errorf("news (-want +got):\n%s", diff)
		}
	})
}

func TestOneNamespaceCausesNoRequestsForOthers(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a"))
	s.put("other", "b", covering("b"))
	inRunning(t, "team", s, func(d *running) {
		d.want("a", true)
		d.put("other", "c", covering("c"))
		if got := d.names("other"); got != "" {
			d.t.Errorf("budgets %q of another namespace", got)
		}
		for _, q := range d.questions() {
			if !strings.HasPrefix(q, "list "+kind+" in team") && !strings.HasPrefix(q, "watch "+kind+" in team") {
				d.t.Errorf("requests: %s", q)
			}
		}
	})
}

func TestOnlyTheCRDOfBudgetsIsWatched(t *testing.T) {
	inRunning(t, "", withKind(), func(d *running) {
		synctest.Wait()
		requested := 0
		for _, q := range d.questions() {
			if strings.Contains(q, crds) {
				requested++
				if !strings.HasSuffix(q, " with metadata.name="+crd) {
					d.t.Errorf("requests: %s", q)
				}
			}
		}
		if requested == 0 {
			d.t.Error("the CRD is not watched")
		}
	})
}

// A writer of statuses needs the current status and its resourceVersion.
func TestObjectsContainTheCurrentStatus(t *testing.T) {
	s := withKind()
	s.put("team", "a", covering("a"))
	inRunning(t, "", s, func(d *running) {
		d.want("a", true)
		if got := d.Objects("team"); len(got) != 1 || got[0].Version != "102" || got[0].Generation != 1 || got[0].UID != "uid-102" || got[0].Status.DisruptionsAllowed != nil {
			d.t.Errorf("got %+v", got)
		}
		d.touched()
		d.touch("team")
		d.want("a", true)
		if got := d.Objects("team"); got[0].Version != "103" || *got[0].Status.DisruptionsAllowed != 103 || got[0].Budget.Name != "a" {
			d.t.Errorf("got %+v", got)
		}
		if got := d.touched(); len(got) != 1 || got[0] != "team" {
			d.t.Errorf("notified of %s", got)
		}
		if !d.Any("team") || d.Any("other") || !slices.Equal(d.Namespaces(), []string{"team"}) {
			d.t.Errorf("there are some in %s", d.Namespaces())
		}
		d.take("team", "a")
		if got := d.touched(); len(got) != 1 || d.Any("team") || len(d.Objects("team")) > 0 {
			d.t.Errorf("notified of %s, there is %v", got, d.Objects("team"))
		}
	})
}

// A listener may be slow for a namespace with many StatefulSets and budgets.
func TestSlowListenerDoesNotDelayTheCache(t *testing.T) {
	s := withKind()
	s.put("theirs", "a", covering("a"))
	s.put("ours", "b", covering("b"))
	inRunning(t, "", s, func(d *running) {
		d.notifications()
		goOn := d.keep("theirs")
		defer goOn()
		d.put("theirs", "a", covering("a", limit(2)))
		if diff := cmp.Diff([]string{"theirs"}, d.notifications()); diff != "" {
			d.t.Fatalf("news (-want +got):\n%s", diff)
		}
		d.put("ours", "b", covering("b", limit(0)))
		seconds(1)
		if got := d.Budgets("ours"); len(got) != 1 || got[0].Limit != 0 {
			d.t.Errorf("got %+v", got)
		}
		d.take("ours", "b")
		seconds(1)
		if got := d.names("ours"); got != "" {
			d.t.Errorf("got %q, which is deleted", got)
		}
	})
}

func TestChangeDuringANotificationCausesAnother(t *testing.T) {
	s := withKind()
	s.put("theirs", "a", covering("a"))
	s.put("ours", "b", covering("b"))
	inRunning(t, "", s, func(d *running) {
		d.notifications()
		goOn := d.keep("theirs")
		defer goOn()
		d.put("theirs", "a", covering("a", limit(2)))
		d.notifications()
		for pods := range int64(10) {
			d.put("theirs", "a", covering("a", limit(3+pods)))
			d.put("ours", "b", covering("b", limit(3+pods)))
		}
		d.touch("theirs")
		if notifications := d.notifications(); len(notifications) > 0 {
			d.t.Errorf("notified of %s, though the notification before has not returned", notifications)
		}
		goOn()
		if diff := cmp.Diff([]string{"ours", "theirs"}, d.notifications()); diff != "" {
			d.t.Errorf("news (-want +got):\n%s", diff)
		}
	})
}
