package group_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// contestant is a group of a leader and a follower that is planned every second, with what a
// process remembers of it.
type contestant struct {
	t                *testing.T
	at               time.Duration
	leader, follower int
	known            map[string]group.Contest
	writes           []time.Duration // when lockstep wrote to the follower
}

func (c *contestant) snapshot() group.Snapshot {
	s := fixture.Group(
		fixture.Zone("zone-a", "1", fixture.Pods("1"), fixture.Replicas(c.leader)),
		fixture.Zone("zone-b", "1", fixture.Pods("1"), fixture.Replicas(c.follower), fixture.Follows("zone-a")),
	)
	s.Now = fixture.Now().Add(c.at)
	for i := range s.Zones {
		s.Zones[i].Contest = c.known[s.Zones[i].UID]
	}
	return s
}

// plan makes one plan, carries out its SetReplicas, and advances the time by a second.
func (c *contestant) plan() {
	c.t.Helper()
	s := c.snapshot()
	var done []plan.Receipt
	for _, a := range plan.Only[group.SetReplicas](group.Plan(s)) {
		if a.Zone != "zone-b" {
			c.t.Fatalf("sets %s", a)
		}
		c.follower, c.writes = a.To, append(c.writes, c.at)
		done = append(done, plan.Receipt{Step: a})
	}
	c.known = group.Contests(s, done)
	c.at += time.Second
}

func (c *contestant) contested() bool {
	remarks := group.Remarks(c.snapshot())
	return len(remarks) == 1 && remarks[0].Zone == "zone-b" && remarks[0].Because.Code == reason.ReplicasContested
}

// fight plans for a time, while another writer sets two replicas before each plan.
func (c *contestant) fight(lasts time.Duration) {
	c.t.Helper()
	for end := c.at + lasts; c.at < end; {
		c.follower = 2
		c.plan()
	}
}

func seconds(all []time.Duration) []float64 {
	var s []float64
	for _, d := range all {
		s = append(s, d.Seconds())
	}
	return s
}

func TestWritesAgainstAnotherWriterAreSpacedOut(t *testing.T) {
	c := &contestant{t: t, leader: 4, follower: 2}
	c.fight(time.Hour)
	want := []float64{0, 1, 2, 12, 32, 72, 152, 312, 612, 912, 1212, 1512, 1812, 2112, 2412, 2712, 3012, 3312}
	if diff := cmp.Diff(want, seconds(c.writes)); diff != "" {
		t.Errorf("lockstep writes at other seconds (-want +got):\n%s", diff)
	}
	if !c.contested() {
		t.Error("the contest is not reported")
	}
}

func TestAThirdOverwriteIsReported(t *testing.T) {
	c := &contestant{t: t, leader: 4, follower: 2}
	for overwrites := range 4 {
		c.fight(time.Second)
		if got, want := c.contested(), overwrites >= 3; got != want {
			t.Errorf("after %d overwrites: reported %t, want %t", overwrites, got, want)
		}
	}
}

func TestAContestEndsOnceReplicasAreNotOverwritten(t *testing.T) {
	c := &contestant{t: t, leader: 4, follower: 2}
	c.fight(time.Minute)
	for end := c.at + 15*time.Minute; c.at < end; {
		if !c.contested() {
			t.Fatalf("is over %s after the last overwrite", 15*time.Minute-(end-c.at))
		}
		c.plan()
	}
	for range 60 {
		c.plan()
	}
	if c.contested() || c.follower != 4 || len(c.known) > 0 {
		t.Errorf("contested %t, %d replicas, remembered: %v", c.contested(), c.follower, c.known)
	}
}

// An autoscaler changes the leader during a contest.
func TestALeaderIsFollowedAtOnceWhileAnotherWriterOverwrites(t *testing.T) {
	c := &contestant{t: t, leader: 4, follower: 2}
	c.fight(5 * time.Minute)
	for _, leader := range []int{5, 6, 4, 2, 4} {
		c.leader = leader
		c.plan()
		if c.follower != leader {
			t.Errorf("the leader has %d replicas, its follower %d", leader, c.follower)
		}
		c.fight(3 * time.Second)
		if !c.contested() {
			t.Error("the contest is forgotten")
		}
	}
}

// Another client scales the leader up alone, and the leader and the follower down together.
func TestALeaderThatGoesUpAndDownIsNoOverwrite(t *testing.T) {
	c := &contestant{t: t, leader: 4, follower: 2}
	for range 20 {
		c.leader = 4
		c.plan()
		c.leader, c.follower = 2, 2
		c.plan()
	}
	if len(c.writes) != 20 || c.contested() || c.known[c.snapshot().Zones[1].UID].Overwrites > 0 {
		t.Errorf("%d writes, contested %t, remembered %v", len(c.writes), c.contested(), c.known)
	}
}

func TestAToolThatAppliesEveryTenMinutesIsReported(t *testing.T) {
	c := &contestant{t: t, leader: 4, follower: 2}
	for range 4 {
		c.follower = 2
		c.plan()
		if c.follower != 4 {
			t.Error("the pause is over, and the follower keeps its number")
		}
		for range 600 {
			c.plan()
		}
	}
	if !c.contested() {
		t.Error("the contest is not reported")
	}
}

func TestAWriteThatFailedIsNotRemembered(t *testing.T) {
	c := &contestant{t: t, leader: 4, follower: 2}
	s := c.snapshot()
	failed := plan.Receipt{Step: group.Plan(s)[0], Err: errors.New("conflict")}
	if got := group.Contests(s, []plan.Receipt{failed}); len(got) > 0 {
		t.Errorf("remembers %v", got)
	}
}

func TestAClockThatIsSetBackMakesNoPauseLonger(t *testing.T) {
	for _, back := range []time.Duration{time.Second, time.Minute, time.Hour, 30 * 365 * 24 * time.Hour} {
		t.Run(fmt.Sprint(back), func(t *testing.T) {
			c := &contestant{t: t, leader: 4, follower: 2}
			c.fight(time.Hour)
			c.at, c.follower = c.writes[len(c.writes)-1]-back, 2
			before := len(c.writes)
			c.plan()
			if len(c.writes) != before+1 {
				t.Error("lockstep waits")
			}
		})
	}
}
