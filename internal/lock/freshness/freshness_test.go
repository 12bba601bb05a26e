package freshness_test

import (
	"sync"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/freshness"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

var key = plan.Key{Namespace: "team", Name: "store"}

func missing(log *freshness.Log, view group.Snapshot) string {
	what, _ := log.Behind(&view)
	return what
}

func TestAViewIsBehindUntilItShowsWhatWasWritten(t *testing.T) {
	pod := func(l *freshness.Log) { l.PodMoved(key, "zone-a-0", 10) }
	zone := func(l *freshness.Log) { l.ZoneWritten(key, "zone-a", 10) }
	for sentence, tc := range map[string]struct {
		written func(*freshness.Log)
		view    string
		want    string
	}{
		"without a write, every view is current":               {func(*freshness.Log) {}, "zone-a rev=1", ""},
		"a pod at the deleted version is behind":               {pod, "zone-a rev=1\n zone-a-0 ready@1", "pod zone-a-0 after version 10"},
		"a pod at an older version is behind":                  {pod, "zone-a rev=1\n zone-a-0 ready@1 version=9", "pod zone-a-0 after version 10"},
		"a terminating pod at a later version is shown":        {pod, "zone-a rev=1\n zone-a-0 terminating@1 version=11", ""},
		"an updated pod at a later version is shown":           {pod, "zone-a rev=1\n zone-a-0 ready@1 version=11", ""},
		"a replacement is shown":                               {pod, "zone-a rev=1\n zone-a-0 starting@1 uid=new version=12", ""},
		"an older pod of the name is behind":                   {pod, "zone-a rev=1\n zone-a-0 ready@1 uid=old version=3", "pod zone-a-0 after version 10"},
		"a missing pod is gone in a view as new as the write":  {pod, "pods at 10\nzone-a rev=1 replicas=1", ""},
		"a missing pod is unknown in an older view":            {pod, "pods at 9\nzone-a rev=1 replicas=1", "pod zone-a-0 after version 10"},
		"a pod that became a stray counts as well":             {pod, "zone-b rev=1\nstray zone-a-0 ready@1", "pod zone-a-0 after version 10"},
		"a zone at the written version is shown":               {zone, "zone-a rev=1", ""},
		"a zone beyond the written version is shown":           {zone, "zone-a rev=1 version=11", ""},
		"a zone before the written version is behind":          {zone, "zone-a rev=1 version=9", "StatefulSet zone-a at version 10"},
		"a missing zone is gone in a view as new as the write": {zone, "zones at 10\nzone-b rev=1", ""},
		"a missing zone is unknown in an older view":           {zone, "zones at 9\nzone-b rev=1", "StatefulSet zone-a at version 10"},
		"another zone's version does not count":                {zone, "zone-b rev=1 version=11\nzone-a rev=1 version=9", "StatefulSet zone-a at version 10"},
		"the later of two deletes counts": {
			func(l *freshness.Log) { pod(l); l.PodMoved(key, "zone-a-0", 20) },
			"zone-a rev=1\n zone-a-0 ready@1 uid=new version=20", "pod zone-a-0 after version 20",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			log := freshness.NewLog()
			tc.written(log)
			view := fixture.MustParse(tc.view)
			for range 2 { // repeating the call does not change its result
				if got := missing(log, view); got != tc.want {
					t.Errorf("got %q, want %q", got, tc.want)
				}
			}
		})
	}
}

func TestAWriteThatWasShownOnceIsForgotten(t *testing.T) {
	log := freshness.NewLog()
	log.PodMoved(key, "zone-a-0", 10)
	log.ZoneWritten(key, "zone-a", 10)
	if missing := missing(log, fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1 version=11")); missing != "" {
		t.Fatalf("behind: %s", missing)
	}
	if missing := missing(log, fixture.MustParse("zone-a rev=1 version=9\n zone-a-0 ready@1")); missing != "" {
		t.Errorf("a write that was shown is missing again: %s", missing)
	}
}

func TestOneShownWriteDoesNotHideAnother(t *testing.T) {
	log := freshness.NewLog()
	log.PodMoved(key, "zone-a-0", 10)
	log.PodMoved(key, "zone-a-1", 10)
	view := fixture.MustParse("zone-a rev=1\n zone-a-0 terminating@1 version=11 zone-a-1 ready@1")
	if got, want := missing(log, view), "pod zone-a-1 after version 10"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAViewIsStaleUntilItShowsTheLiveRead(t *testing.T) {
	const zoneA = "zone-a rev=1 version=40\n zone-a-0 ready@1 version=30\n"
	const read = "live\nzones at 50\npods at 50\n" + zoneA
	const before = "zones at 49\npods at 49\n" + zoneA
	for sentence, tc := range map[string]struct{ view, want string }{
		"the same is shown":                                    {read, ""},
		"later states are shown":                               {"zone-a rev=2 version=60\n zone-a-0 terminating@1 version=61", ""},
		"an older zone is behind":                              {"zone-a rev=1 version=39\n zone-a-0 ready@1 version=30", "StatefulSet zone-a at version 40"},
		"an older pod is behind":                               {"zone-a rev=1 version=40\n zone-a-0 ready@1 version=29", "pod zone-a-0 at version 30"},
		"a pod that the view does not show yet is behind":      {"pods at 29\nzone-a rev=1 version=40 replicas=1", "pod zone-a-0 at version 30"},
		"a pod that was deleted since is shown":                {"pods at 62\nzone-a rev=1 version=40 replicas=1", ""},
		"a zone that the view does not show yet is behind":     {"zones at 39", "StatefulSet zone-a at version 40"},
		"a zone that left since is shown":                      {"zones at 62\npods at 62", ""},
		"a pod that was deleted before is behind":              {before + " zone-a-1 ready@1 version=49", "the end of pod zone-a-1 before version 50"},
		"a view newer than the live read has its own pods":     {read + " zone-a-1 ready@1 version=49", ""},
		"a pod that was created later is shown":                {read + " zone-a-1 ready@1 version=51", ""},
		"a pod that was created after the live read is shown":  {before + " zone-a-1 ready@1 version=51", ""},
		"a zone that left before is behind":                    {before + "zone-b rev=1 version=49", "the end of StatefulSet zone-b before version 50"},
		"a zone that joined with old pods is shown":            {before + "zone-b rev=1 version=51\n zone-b-0 ready@1 version=3", ""},
		"a recreated zone with its former pods is shown":       {before[:len(before)-len(zoneA)] + "zone-a rev=1 uid=anew version=60\n zone-a-0 ready@1 version=30 adopted=no", ""},
		"a recreated zone with a pod deleted before is behind": {before[:len(before)-len(zoneA)] + "zone-a rev=1 uid=anew version=60\n zone-a-0 ready@1 version=30 zone-a-1 ready@1 version=3 adopted=no", "the end of pod zone-a-1 before version 50"},
		"a zone that was created later is shown":               {read + "zone-b rev=1 version=51", ""},
		"a replacement with the same name is shown":            {"zone-a rev=1 version=40\n zone-a-0 starting@1 uid=new version=70", ""},
		"a predecessor with the same name is behind":           {"zone-a rev=1 version=40\n zone-a-0 ready@1 uid=old version=3", "pod zone-a-0 at version 30"},
	} {
		t.Run(sentence, func(t *testing.T) {
			log := freshness.NewLog()
			log.ReadLive(new(fixture.MustParse(read)))
			if got := missing(log, fixture.MustParse(tc.view)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestAViewIsStaleUntilItShowsTheOrphansOfTheLiveRead(t *testing.T) {
	const read = "live\nzones at 50\npods at 50\nzone-a rev=1 replicas=2 version=40\n orphan zone-a-0 ready@1 version=30\norphaned zone-b\n zone-b-0 ready@1 version=30\n"
	const view = "zones at 49\npods at 49\nzone-a rev=1 replicas=2 version=40\n"
	for sentence, tc := range map[string]struct{ view, want string }{
		"the same is shown":                                       {read, ""},
		"an older orphan is behind":                               {view + " orphan zone-a-0 ready@1 version=29", "pod zone-a-0 at version 30"},
		"an orphan that the view does not show yet is behind":     {"pods at 29\nzone-a rev=1 replicas=2 version=40", "pod zone-a-0 at version 30"},
		"an orphan that was deleted since is shown":               {"pods at 62\nzone-a rev=1 replicas=2 version=40", ""},
		"an orphan that was adopted since is shown":               {view + " zone-a-0 ready@1 version=48", ""},
		"an orphan that was deleted before is behind":             {view + " orphan zone-a-0 ready@1 version=30 zone-a-1 ready@1 version=20", "the end of pod zone-a-1 before version 50"},
		"an orphan that was created after the live read is shown": {view + " orphan zone-a-0 ready@1 version=30 zone-a-1 ready@1 version=51", ""},
		"a pod that was orphaned before is behind":                {view + " zone-a-0 ready@1 version=29", "pod zone-a-0 at version 30"},
		"an older pod of a zone that left is behind":              {view + " orphan zone-a-0 ready@1 version=30\norphaned zone-b\n zone-b-0 ready@1 version=29", "pod zone-b-0 at version 30"},
		"a deleted pod of a zone that returned is behind":         {view + " orphan zone-a-0 ready@1 version=30\nzone-b rev=1 uid=anew version=60\n zone-b-0 ready@1 version=30 adopted=no zone-b-1 ready@1 version=20 adopted=no", "the end of pod zone-b-1 before version 50"},
		"a deleted pod of a zone that left is behind":             {view + " orphan zone-a-0 ready@1 version=30\norphaned zone-b\n zone-b-0 ready@1 version=30 zone-b-1 ready@1 version=20", "the end of pod zone-b-1 before version 50"},
	} {
		t.Run(sentence, func(t *testing.T) {
			log := freshness.NewLog()
			log.ReadLive(new(fixture.MustParse(read)))
			if got := missing(log, fixture.MustParse(tc.view)); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A live read that lists no zone of the group is newer than any view. Its list of pods of a zone that left is
// not.
func TestAViewShowsAPodThatAZoneCreatedAfterItLeft(t *testing.T) {
	read := fixture.MustParse("live\nrelabelled zone-b rev=1 version=40\n zone-b-0 ready@1 version=30")
	read.PodsAt, read.FormerZones[0].PodsAt = ^plan.Version(0), 50
	log := freshness.NewLog()
	log.ReadLive(&read)
	const view = "zones at 60\npods at 60\nrelabelled zone-b rev=1 version=40\n zone-b-0 ready@1 version=30 zone-b-1 ready@1 version=55"
	if got := missing(log, fixture.MustParse(view)); got != "" {
		t.Errorf("behind: %s", got)
	}
}

// The StatefulSet of a zone that left is read by its name, after the list of the group.
func TestAViewNeedNotShowTheStatefulSetOfAZoneThatLeft(t *testing.T) {
	log := freshness.NewLog()
	log.ReadLive(new(fixture.MustParse("live\nzones at 50\npods at 50\nrelabelled zone-b rev=1 version=70\n zone-b-0 ready@1 version=30")))
	if got := missing(log, fixture.MustParse("zones at 60\npods at 60")); got != "" {
		t.Errorf("behind: %s", got)
	}
}

// The live read lists the pods of each zone by a separate request. A pod that one of these lists showed to be
// deleted must not return in a view.
func TestALiveReadIsALowerBoundForEachZone(t *testing.T) {
	read := fixture.MustParse("live\nzones at 50\npods at 50\nzone-a rev=1 version=40\n zone-a-0 ready@1 version=30\nzone-b rev=1 version=40\n")
	read.Zones[1].PodsAt = 60
	const cached = "zone-a rev=1 version=40\n zone-a-0 ready@1 version=30\nzone-b rev=1 version=40\n zone-b-1 ready@1 version=55\n"
	for at, want := range map[string]string{
		"pods at 56\n": "the end of pod zone-b-1 before version 60",
		"pods at 60\n": "",
	} {
		log := freshness.NewLog()
		log.ReadLive(&read)
		if got := missing(log, fixture.MustParse(at+cached)); got != want {
			t.Errorf("%s got %q, want %q", at, got, want)
		}
	}
}

func TestALaterLiveReadReplacesAnEarlierOne(t *testing.T) {
	log := freshness.NewLog()
	log.ReadLive(new(fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1 version=30")))
	log.ReadLive(new(fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1 version=31")))
	if got, want := missing(log, fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1 version=30")), "pod zone-a-0 at version 31"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := missing(log, fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1 version=31")); got != "" {
		t.Errorf("behind: %s", got)
	}
}

func TestASlowLiveReadHidesNothingOfANewerOne(t *testing.T) {
	log := freshness.NewLog()
	log.ReadLive(new(fixture.MustParse("live\npods at 100\nzone-a rev=1\n zone-a-0 terminating@1 version=99 zone-a-1 ready@1 version=30")))
	log.ReadLive(new(fixture.MustParse("live\npods at 95\nzone-a rev=1\n zone-a-0 ready@1 version=30 zone-a-1 ready@1 version=30")))
	if got, want := missing(log, fixture.MustParse("pods at 97\nzone-a rev=1\n zone-a-0 ready@1 version=30 zone-a-1 ready@1 version=30")), "pod zone-a-0 at version 99"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAViewThatWasTakenBeforeOneThatShowedAllIsBehind(t *testing.T) {
	for older, want := range map[string]string{
		"pods at 97\n":  "pods at version 100",
		"zones at 97\n": "StatefulSets at version 100",
	} {
		log := freshness.NewLog()
		log.PodMoved(key, "zone-a-0", 90)
		const shown = "zone-a rev=1\n zone-a-0 starting@1 version=91\n"
		if missing := missing(log, fixture.MustParse("zones at 100\npods at 100\n"+shown)); missing != "" {
			t.Fatalf("behind: %s", missing)
		}
		if got := missing(log, fixture.MustParse(older+shown)); got != want {
			t.Errorf("%s got %q, want %q", older, got, want)
		}
	}
}

func TestGroupsAreIndependent(t *testing.T) {
	log := freshness.NewLog()
	log.PodMoved(plan.Key{Namespace: "other", Name: "store"}, "zone-a-0", 10)
	if missing := missing(log, fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1")); missing != "" {
		t.Errorf("behind for another namespace's group: %s", missing)
	}
}

func TestForgetDropsAGroup(t *testing.T) {
	for name, forget := range map[string]func(*freshness.Log){
		"by its key":         func(l *freshness.Log) { l.Forget(key) },
		"with its namespace": func(l *freshness.Log) { l.ForgetBut(key.Namespace, []plan.Key{{Namespace: "team", Name: "other"}}) },
	} {
		t.Run(name, func(t *testing.T) {
			log := freshness.NewLog()
			log.PodMoved(key, "zone-a-0", 10)
			forget(log)
			if missing := missing(log, fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1")); missing != "" {
				t.Errorf("behind: %s", missing)
			}
		})
	}
}

func TestForgetButKeepsTheGivenGroups(t *testing.T) {
	log := freshness.NewLog()
	log.PodMoved(key, "zone-a-0", 10)
	log.ForgetBut("other", nil)
	log.ForgetBut(key.Namespace, []plan.Key{key})
	if missing(log, fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1")) == "" {
		t.Error("it is forgotten")
	}
}

// This test is for the race detector.
func TestALogMayBeUsedByMany(t *testing.T) {
	log := freshness.NewLog()
	view := fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				log.PodMoved(key, "zone-a-0", 10)
				log.ZoneWritten(key, "zone-a", 10)
				log.Behind(&view)
				log.Forget(key)
			}
		})
	}
	all.Wait()
	if missing := missing(log, view); missing != "" {
		t.Errorf("behind after everything was forgotten: %s", missing)
	}
}

func TestHowLongViewsHaveBeenBehind(t *testing.T) {
	log := freshness.NewLog()
	log.PodMoved(key, "zone-a-0", 10)
	view := fixture.MustParse("zone-a rev=1\n zone-a-0 ready@1")
	if _, lasting := log.Behind(&view); lasting != 0 {
		t.Errorf("behind for %s at the first question", lasting)
	}
	view.Now = view.Now.Add(7 * time.Second)
	if _, lasting := log.Behind(&view); lasting != 7*time.Second {
		t.Errorf("behind for %s, want 7s", lasting)
	}
	view.Now = view.Now.Add(-time.Hour)
	if _, lasting := log.Behind(&view); lasting != 0 {
		t.Errorf("behind for %s once the clock was set back", lasting)
	}
}
