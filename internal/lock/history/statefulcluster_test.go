package history_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/history"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// cluster is a StatefulCluster without claims, whose pods end within a second and become Ready a second after that. A
// second passes between two rounds.
type cluster struct {
	pool.Snapshot
	begins map[string]time.Time // when a pod that is not Ready becomes so
}

// clusterOf returns a StatefulCluster of that many Ready pods.
func clusterOf(replicas, maxUnavailable int) *cluster {
	c := &cluster{begins: map[string]time.Time{}}
	drawn := 0
	c.Snapshot = pool.Snapshot{
		Key: plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, Now: fixture.Now(), Live: true, ObjectsAt: 10, PodsAt: 10, ClaimsAt: 1000,
		Object:    pool.Object{UID: "db", Hash: "1", Replicas: replicas, RevisionHistory: 10, Strategy: pool.Strategy{MaxUnavailable: pool.Share{Pods: maxUnavailable}, Policy: pool.Recreate}},
		Revisions: []pool.Revision{{Name: "db-1", Hash: "1", Number: 1}},
		Draw:      func() pool.ID { drawn++; return pool.ID(fmt.Sprint("new", drawn)) },
	}
	for i := range replicas {
		c.born(pool.ID(fmt.Sprint("old", i)), "db-1")
		c.Pods[i].Phase, c.Pods[i].ReadySince = plan.Ready, c.Now.Add(-time.Hour)
		c.Pods[i].Created = plan.UnixTime(c.Now.Add(-time.Hour).Unix())
	}
	return c
}

func (c *cluster) born(id pool.ID, revision string) {
	name := pool.PodName("db", id)
	c.PodsAt++
	c.Pods = append(c.Pods, pool.Pod{ID: id, Owner: "db", Scheduled: true, Pod: plan.Pod{
		Name: name, UID: "uid of " + name, Version: c.PodsAt, Revision: revision, Created: plan.UnixTime(c.Now.Unix()),
	}})
	c.begins[name] = c.Now.Add(2 * time.Second)
}

// template changes the template. Its pods have to be replaced.
func (c *cluster) template(number int64) {
	text := fmt.Sprint(number)
	c.Object.Hash = text
	c.Revisions = append(c.Revisions, pool.Revision{Name: "db-" + text, Hash: text, Number: number})
	c.Changes = map[string]pool.Change{}
	for _, r := range c.Revisions {
		c.Changes[r.Name] = pool.Change{}
	}
}

// round plans once, carries the plan out, and lets a second pass.
func (c *cluster) round() {
	steps := pool.Plan(c.Snapshot)
	if d := hold.Decide(&c.Snapshot, steps); d.Need == hold.Write {
		c.Hold = d.Record.Hold
		c.Hold.UID, c.Hold.Version = "lease", c.Hold.Version+1
		if c.Hold.Rollouts.Current.Begun() {
			c.Hold.Rollouts.Current.Trace = traced
		}
	}
	for _, step := range steps {
		switch a := step.(type) {
		case plan.DeletePod:
			for i := range c.Pods {
				if c.Pods[i].Name == a.Pod {
					c.Pods[i].Phase = plan.Terminating
					c.begins[a.Pod] = time.Time{}
				}
			}
		case pool.CreatePods:
			for _, id := range a.IDs {
				c.born(id, a.Revision)
			}
		}
	}
	c.pass()
}

// pass lets a second pass.
func (c *cluster) pass() {
	c.Now = c.Now.Add(time.Second)
	var left []pool.Pod
	for _, p := range c.Pods {
		begins := c.begins[p.Name]
		switch {
		case p.Phase == plan.Terminating && begins.IsZero():
			c.begins[p.Name] = c.Now
		case p.Phase == plan.Terminating:
			continue
		case p.Phase == plan.Starting && !begins.After(c.Now):
			c.PodsAt++
			p.Phase, p.ReadySince, p.Version = plan.Ready, c.Now, c.PodsAt
		}
		left = append(left, p)
	}
	c.Pods = left
}

// followed formats the recorded updates with the successors of pods.
func followed(r plan.Rollouts) string {
	text := formatted(r)
	for _, update := range append([]plan.RolledGroup{r.Current}, r.Finished...) {
		for _, z := range update.Zones {
			for _, p := range z.Pods {
				if p.Successor != "" {
					text = strings.Replace(text, "    "+p.Name+" ", "    "+p.Name+" -> "+p.Successor+" ", 1)
				}
				if p.Open {
					text = strings.Replace(text, "("+p.UID+")", "open", 1)
				}
			}
		}
	}
	for _, r := range r.Replacements {
		p := r.RolledPod
		second := func(at time.Time) any {
			if at.IsZero() {
				return "-"
			}
			return at.Sub(fixture.Now()).Seconds()
		}
		text += fmt.Sprintf("replacement %s -> %q open %t deleted %v recreated %v ready %v\n", p.Name, p.Successor, p.Open, second(p.Deleted), second(p.Recreated), second(p.Ready))
	}
	return strings.NewReplacer("(uid of db-", "(", "db-", "").Replace(text)
}

func wantUpdates(t *testing.T, want string, got plan.Rollouts) {
	t.Helper()
	if diff := cmp.Diff(want, followed(got)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAnUpdateOfAStatefulClusterIsRecordedWithItsPods(t *testing.T) {
	for sentence, tc := range map[string]struct {
		maxUnavailable int
		want           string
	}{
		"one pod at a time": {1, `
finished 0..6
  db 1->2 0..6 replaced 2
    old0 -> new1 (old0) deleted 0 recreated 1 ready 3
    old1 -> new2 (old1) deleted 3 recreated 4 ready 6
`},
		"two pods at a time": {2, `
finished 0..3
  db 1->2 0..3 replaced 2
    old0 -> new1 (old0) deleted 0 recreated 1 ready 3
    old1 -> new2 (old1) deleted 0 recreated 1 ready 3
`},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := clusterOf(2, tc.maxUnavailable)
			c.template(2)
			for range 30 {
				c.round()
			}
			wantUpdates(t, tc.want, c.Hold.Rollouts)
		})
	}
}

// A corrected template follows another one: two entries of the same update. The successor of the first pod was replaced
// before it was Ready.
func TestTheTemplateChangesDuringAnUpdate(t *testing.T) {
	c := clusterOf(2, 1)
	c.template(2)
	for second := range 30 {
		if second == 2 {
			c.template(3)
		}
		c.round()
	}
	wantUpdates(t, `
finished 0..8
  db 1->2 0..2 replaced 1
    old0 -> new1 (old0) deleted 0 recreated 1 ready -
  db 2->3 2..8 replaced 2
    new1 -> new2 (new1) deleted 2 recreated 3 ready 5
    old1 -> new3 (old1) deleted 5 recreated 6 ready 8
`, c.Hold.Rollouts)
}

// Pods are also deleted for other causes under the hold of a StatefulCluster.
func TestOnlyUpdatesOfAStatefulClusterAreRecorded(t *testing.T) {
	c := clusterOf(3, 1)
	c.Object.Replicas = 2
	for range 9 {
		c.round()
	}
	if len(c.Pods) != 2 || c.Hold.Rollouts.Current.Begun() || len(c.Hold.Rollouts.Finished) > 0 {
		t.Errorf("%d pods, recorded %s", len(c.Pods), followed(c.Hold.Rollouts))
	}
}

// The StatefulCluster may have the hold already, because another pod is to be deleted.
func TestAnUpdateBeginsWithItsFirstPod(t *testing.T) {
	c := clusterOf(1, 1)
	c.template(2)
	c.Hold.Holder, c.Hold.Since = plan.StatefulClusterOperation.For("db"), c.Now.Add(-time.Hour)
	c.round()
	if got := c.Hold.Rollouts.Current.Since; !got.Equal(fixture.Now()) {
		t.Errorf("it begins %s before its first pod", fixture.Now().Sub(got))
	}
}

// An identity is also handed over because its node is lost, while no pod may be updated.
func TestAHandOverBeginsAnUpdateOnlyIfPodsMayBeUpdated(t *testing.T) {
	for _, paused := range []bool{false, true} {
		c := clusterOf(1, 1)
		c.template(2)
		c.Object.Paused = paused
		intent := plan.Intent{Zone: "db", Pod: c.Pods[0].Name, UID: c.Pods[0].UID, Version: c.Pods[0].Version, Cause: reason.IdentityHandover}
		got := history.Next(&c.Snapshot, plan.Record{Hold: plan.Hold{Holder: plan.StatefulClusterOperation.For("db"), Intents: []plan.Intent{intent}}})
		if got.Current.Begun() == paused {
			t.Errorf("paused: %t, recorded %s", paused, followed(got))
		}
	}
}

// asks makes a person ask to replace a pod.
func (c *cluster) asks() { c.Pods[0].Asked = true }

func TestAReplacementIsRecordedUntilTheSuccessorIsReady(t *testing.T) {
	c := clusterOf(2, 1)
	c.asks()
	c.round()
	c.round()
	c.round()
	wantUpdates(t, "\nreplacement old0 -> \"new1\" open true deleted 0 recreated 1 ready -\n", c.Hold.Rollouts)
	for range 3 {
		c.round()
	}
	wantUpdates(t, "\nreplacement old0 -> \"new1\" open false deleted 0 recreated 1 ready 3\n", c.Hold.Rollouts)
	version := c.Hold.Version
	c.round()
	if c.Hold.Version != version {
		t.Error("the Lease is written again")
	}
}

// A person changes the labels of the successor before it is Ready, so it is released.
func TestAReplacementEndsIfTheSuccessorIsReleased(t *testing.T) {
	c := clusterOf(2, 1)
	c.asks()
	c.round()
	c.round()
	c.begins["db-new1"] = c.Now.Add(time.Hour)
	c.round()
	i := slices.IndexFunc(c.Pods, func(p pool.Pod) bool { return p.Name == "db-new1" })
	c.Pods[i].Unmatched = true
	for range 6 {
		c.round()
	}
	wantUpdates(t, "\nreplacement old0 -> \"new1\" open false deleted 0 recreated 1 ready -\n", c.Hold.Rollouts)
}

// A pod that ends while fewer pods are asked for has no successor.
func TestAPodWithoutASuccessorIsNoReplacement(t *testing.T) {
	c := clusterOf(2, 1)
	c.asks()
	c.round()
	c.Object.Replicas = 1
	for range 6 {
		c.round()
	}
	if len(c.Pods) != 1 || len(c.Hold.Rollouts.Replacements) > 0 {
		t.Errorf("%d pods, recorded %s", len(c.Pods), followed(c.Hold.Rollouts))
	}
}

// The pod that a person asked for is replaced first.
func TestAReplacementDuringAnUpdateHasARecordOfItsOwn(t *testing.T) {
	c := clusterOf(3, 1)
	c.template(2)
	c.asks()
	for range 30 {
		c.round()
	}
	wantUpdates(t, `
finished 3..9
  db 1->2 3..9 replaced 2
    old1 -> new2 (old1) deleted 3 recreated 4 ready 6
    old2 -> new3 (old2) deleted 6 recreated 7 ready 9
replacement old0 -> "new1" open false deleted 0 recreated 1 ready 3
`, c.Hold.Rollouts)
}

// next returns the record after a write that keeps no intent, for a pod whose update was recorded.
func next(cause reason.Code, change func(*pool.Snapshot)) plan.Rollouts {
	c := clusterOf(1, 1)
	pod := &c.Pods[0]
	intent := plan.Intent{Zone: "db", Pod: pod.Name, UID: pod.UID, Version: pod.Version, Cause: cause, Since: c.Now}
	c.template(2)
	c.Hold.Rollouts = history.Next(&c.Snapshot, plan.Record{Hold: plan.Hold{Holder: plan.StatefulClusterOperation.For("db"), Intents: []plan.Intent{intent}}})
	if c.Hold.Rollouts.Current.Begun() {
		c.Hold.Rollouts.Current.Trace = traced
	}
	c.Hold.Intents = []plan.Intent{intent}
	c.Now = c.Now.Add(5 * time.Second)
	pod.Version++
	c.PodsAt++
	change(&c.Snapshot)
	return history.Next(&c.Snapshot, plan.Record{})
}

func TestWhatIsRecordedOfAPodOfAStatefulCluster(t *testing.T) {
	at := func(seconds int) time.Time { return fixture.Now().Add(time.Duration(seconds) * time.Second) }
	const nothing = `
current 0..-
  db 1->2 0..- replaced 0
`
	for sentence, tc := range map[string]struct {
		cause  reason.Code
		change func(*pool.Snapshot)
		want   string
	}{
		"a pod that was updated in place and became Ready again": {reason.UpdatedInPlace, func(s *pool.Snapshot) {
			s.Pods[0].Revision, s.Pods[0].ReadySince = "db-2", at(3)
			s.Pods[0].Update = pool.InPlaceUpdate{Revision: "db-2", At: s.Hold.Intents[0].Version}
		}, `
finished 0..5
  db 1->2 0..5 replaced 1
    old0 (old0) deleted 0 recreated 0 ready 3
`},
		"a pod that became Ready again within the second": {reason.UpdatedInPlace, func(s *pool.Snapshot) {
			s.Pods[0].Revision, s.Pods[0].ReadySince = "db-2", at(0)
			s.Pods[0].Update = pool.InPlaceUpdate{Revision: "db-2", At: s.Hold.Intents[0].Version}
		}, `
finished 0..5
  db 1->2 0..5 replaced 1
    old0 (old0) deleted 0 recreated 0 ready 0
`},
		"a pod that was Ready all the time": {reason.UpdatedInPlace, func(s *pool.Snapshot) {
			s.Pods[0].Revision = "db-2"
			s.Pods[0].Update = pool.InPlaceUpdate{Revision: "db-2", At: s.Hold.Intents[0].Version}
		}, `
finished 0..5
  db 1->2 0..5 replaced 1
    old0 (old0) deleted 0 recreated 0 ready 5
`},
		"a pod whose update was withdrawn":            {reason.UpdatedInPlace, func(*pool.Snapshot) {}, nothing},
		"a pod that ended during its update in place": {reason.UpdatedInPlace, func(s *pool.Snapshot) { s.Pods = nil }, nothing},
		"an identity that was handed over": {reason.IdentityHandover, func(s *pool.Snapshot) {
			s.Pods[0].UID, s.Pods[0].Revision, s.Pods[0].Created, s.Pods[0].ReadySince = "next", "db-2", plan.UnixTime(at(2).Unix()), at(4)
		}, `
finished 0..5
  db 1->2 0..5 replaced 1
    old0 (old0) deleted 0 recreated 2 ready 4
`},
		"an identity that was given up, and has no successor yet": {reason.IdentityHandover, func(s *pool.Snapshot) { s.Pods = nil }, `
current 0..-
  db 1->2 0..- replaced 1
    old0 open deleted 0 recreated 0 ready -
`},
		"a pod of a StatefulCluster that was deleted": {reason.UpdatedByNewIdentity, func(s *pool.Snapshot) { s.Pods, s.Object = nil, pool.Object{} }, `
finished 0..5
  db 1->2 0..5 replaced 1
    old0 (old0) deleted 0 recreated 0 ready -
`},
	} {
		t.Run(sentence, func(t *testing.T) { wantUpdates(t, tc.want, next(tc.cause, tc.change)) })
	}
}

// afterReplacement returns the replacement that is recorded once a deletion leaves the record, of a StatefulCluster with those
// pods. The deletion was half a second after the beginning.
func afterReplacement(t *testing.T, pods ...pool.Pod) plan.Replacement {
	t.Helper()
	c := clusterOf(1, 1)
	old := c.Pods[0]
	c.Hold.Intents = []plan.Intent{{Zone: "db", Pod: old.Name, UID: old.UID, Version: old.Version, Cause: reason.ReplacementAsked, Since: c.Now.Add(500 * time.Millisecond)}}
	c.Pods, c.PodsAt, c.Now = pods, 1000, c.Now.Add(5*time.Second)
	got := history.Next(&c.Snapshot, plan.Record{}).Replacements
	if len(got) != 1 {
		t.Fatalf("%d replacements are recorded", len(got))
	}
	return got[0]
}

// bornAt returns a pod that was created some seconds after the beginning.
func bornAt(name string, seconds int) pool.Pod {
	return pool.Pod{Owner: "db", Pod: plan.Pod{Name: name, UID: name, Created: plan.UnixTime(fixture.Now().Unix() + int64(seconds))}}
}

func TestWhichPodIsTheSuccessorOfAReplacedOne(t *testing.T) {
	terminates, seenBefore, seenAfter := bornAt("db-b", 3), bornAt("db-b", 0), bornAt("db-b", 0)
	terminates.Phase = plan.Terminating
	seenBefore.Seen.Created = plan.SightingOf(fixture.Now(), fixture.Now().Add(400*time.Millisecond))
	seenAfter.Seen.Created = plan.SightingOf(fixture.Now(), fixture.Now().Add(600*time.Millisecond))
	for sentence, tc := range map[string]struct {
		pods []pool.Pod
		want string
	}{
		"the youngest of two":                                 {[]pool.Pod{bornAt("db-a", 2), bornAt("db-b", 3), bornAt("db-c", 1)}, "db-b"},
		"not one that was there before":                       {[]pool.Pod{bornAt("db-a", -1)}, ""},
		"not one that terminates":                             {[]pool.Pod{bornAt("db-a", 2), terminates}, "db-a"},
		"one that was created in the second of the end":       {[]pool.Pod{bornAt("db-a", 0)}, "db-a"},
		"one that was seen after the end in that second":      {[]pool.Pod{seenAfter}, "db-b"},
		"not one that was seen before the end in that second": {[]pool.Pod{seenBefore}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := afterReplacement(t, tc.pods...).Successor; got != tc.want {
				t.Errorf("the successor is %q, want %q", got, tc.want)
			}
		})
	}
}

// waits returns a StatefulCluster of one pod, which is the successor of a replaced one, as the hold records.
func waits() *cluster {
	c := clusterOf(1, 1)
	c.Hold.Exists = true
	c.Hold.Rollouts.Replacements = []plan.Replacement{{RolledPod: plan.RolledPod{Name: "db-old", UID: "old", Successor: c.Pods[0].Name, Deleted: c.Now, Recreated: c.Now, Open: true}}}
	return c
}

func TestTheRecordOfAReplacementEndsWithItsSuccessor(t *testing.T) {
	for sentence, tc := range map[string]struct {
		change func(*pool.Snapshot)
		open   bool
	}{
		"the successor starts":     {func(s *pool.Snapshot) { s.Pods[0].Phase = plan.Starting }, true},
		"the successor is Ready":   {func(*pool.Snapshot) {}, false},
		"the successor terminates": {func(s *pool.Snapshot) { s.Pods[0].Phase = plan.Terminating }, false},
		"the successor has ended":  {func(s *pool.Snapshot) { s.Pods = nil }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := waits()
			tc.change(&c.Snapshot)
			if got := history.Next(&c.Snapshot, plan.Record{}).Replacements; len(got) != 1 || got[0].Open != tc.open {
				t.Errorf("want one replacement that is open: %t; got %+v", tc.open, got)
			}
			if writes := hold.Decide(&c.Snapshot, nil).Need == hold.Write; writes == tc.open {
				t.Errorf("the Lease is written: %t", writes)
			}
		})
	}
}

// Replacements have the room that pods of updates leave.
func TestTheOldestReplacementsAreForgottenFirst(t *testing.T) {
	var of plan.Rollouts
	of.Current.Zones = []plan.RolledZone{{Name: "db", Pods: make([]plan.RolledPod, history.MaxPods-2)}}
	for n := range 5 {
		of.Replacements = append(of.Replacements, plan.Replacement{RolledPod: plan.RolledPod{Name: fmt.Sprint(n)}})
	}
	got := history.Bounded(of).Replacements
	if len(got) != 2 || got[0].Name != "3" || got[1].Name != "4" {
		t.Errorf("got the replacements %+v, want the latest two", got)
	}
}

func TestTheOldestUnitsOfAnUpdateAreForgottenFirst(t *testing.T) {
	var of plan.Rollouts
	for n := range history.MaxZones + 1 {
		of.Current.Zones = append(of.Current.Zones, plan.RolledZone{Name: fmt.Sprint(n)})
	}
	if got := history.Bounded(of).Current.Zones; len(got) != history.MaxZones || got[0].Name != "1" {
		t.Errorf("got %d units, the first one is %s", len(got), got[0].Name)
	}
}
