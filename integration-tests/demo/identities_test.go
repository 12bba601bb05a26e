package main

import (
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// identityFixture applies changes to the state of the StatefulCluster, as watches deliver them. Each is 100 ms after the
// previous one.
type identityFixture struct {
	show *identityShow
	out  strings.Builder
	now  time.Time
}

// These are the ids of the identities, in the order of their birth.
const (
	firstID  = "0f3c9a5be1d27846"
	secondID = "5d1e0b7739ac4f02"
	thirdID  = "91b7d2e4c05fa683"
	fourthID = "c2a84f6610be93d7"
	lateID   = "e80d17c3f2a5946b"
)

// newIdentityFixture returns the state in which four pods serve.
func newIdentityFixture() *identityFixture {
	f := &identityFixture{now: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)}
	f.show = &identityShow{
		display: &display{verifier: newVerifier()}, state: &identities{}, image: identityBefore,
		changeLog: &changeLog{out: &f.out, widest: longestClaim},
	}
	for n, id := range []string{firstID, secondID, thirdID, fourthID} {
		f.serves(id, []string{"node-1", "node-2", "node-3", "node-4"}[n], identityBefore)
	}
	return f
}

func (f *identityFixture) apply(c memberChange) {
	f.now = f.now.Add(100 * time.Millisecond)
	c.at = f.now
	f.show.apply(c)
}

func (f *identityFixture) serves(id, node, image string) {
	started := member{id: id, name: "db-" + id, uid: "uid of " + id, wanted: image}
	f.apply(memberChange{member: &started})
	f.apply(memberChange{claim: &claim{id: id, name: "db-data-" + id}})
	started.node, started.image, started.ready = node, image, true
	f.apply(memberChange{member: &started})
}

// losesNode plays the loss of the first pod's Node up to the end of its pod.
func (f *identityFixture) losesNode() {
	s := f.show
	s.lost, s.state.filled = s.state.all[0], true
	gone := s.lost.pod
	gone.terminating = true
	f.apply(memberChange{member: &gone})
	f.serves(lateID, "node-2", identityBefore)
	f.apply(memberChange{member: &gone, deleted: true})
	f.apply(memberChange{claim: &claim{id: firstID, name: "db-data-" + firstID, spent: "NodeGone"}})
	s.born = s.state.all[len(s.state.all)-1]
}

// updates restarts a pod in place with the new image.
func (f *identityFixture) updates(id string) {
	now := f.show.state.of(id).pod
	now.wanted = identityAfter
	f.apply(memberChange{member: &now})
	restarted := now
	restarted.image = identityAfter
	f.apply(memberChange{member: &restarted})
}

func TestIdentityViewShowsTheNewPodAndTheSpentClaim(t *testing.T) {
	t.Parallel()
	f := newIdentityFixture()
	f.losesNode()
	f.updates(secondID)
	f.apply(memberChange{holder: new("statefulcluster/db")})
	now := f.show.state.of(thirdID).pod
	now.wanted = identityAfter
	f.apply(memberChange{member: &now})
	s := f.show.snapshot()
	s.image, s.heading, s.passed = identityAfter, "the image changes", 7900*time.Millisecond
	s.violations = []violation{{"east", nil, "a claim was deleted"}}
	wantText(t, view{style{symbols: unicodeSymbols}, 80}.drawIdentities(s), `
  7 s  the image changes
○ old image   × terminating or gone   ◐ starting   ● Ready

east/db · StatefulCluster · Lease held by statefulcluster/db
    pod                  node    image  claim
  × db-0f3c9a5be1d27846  node-1  db:1   db-data-0f3c9a5be1d27846  spent NodeGone
  ● db-5d1e0b7739ac4f02  node-2  db:2   db-data-5d1e0b7739ac4f02
  ◐ db-91b7d2e4c05fa683  node-3  db:1   db-data-91b7d2e4c05fa683
  ○ db-c2a84f6610be93d7  node-4  db:1   db-data-c2a84f6610be93d7
  ○ db-e80d17c3f2a5946b  node-2  db:1   db-data-e80d17c3f2a5946b  new
VIOLATED  east: a claim was deleted
`)
}

func TestIdentityChangeLogNamesPodsAndClaims(t *testing.T) {
	t.Parallel()
	f := newIdentityFixture()
	f.out.Reset()
	f.losesNode()
	f.updates(secondID)
	wantText(t, strings.Split(strings.TrimSuffix(f.out.String(), "\n"), "\n"), `
15:04:06.300  east       db-0f3c9a5be1d27846       deleted
15:04:06.400  east       db-e80d17c3f2a5946b       new identity
15:04:06.600  east       db-e80d17c3f2a5946b       Ready on node-2 with db:1
15:04:06.700  east       db-0f3c9a5be1d27846       gone
15:04:06.800  east       db-data-0f3c9a5be1d27846  spent: NodeGone
15:04:06.900  east       db-5d1e0b7739ac4f02       restarts in place with db:2
15:04:07.000  east       db-5d1e0b7739ac4f02       Ready on node-2 with db:2
`)
}

func TestIdentitiesSettleOnceAllPodsServeAndTheLeaseIsFree(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*identityFixture)
		want   bool
	}{
		"four pods serve":        {func(*identityFixture) {}, true},
		"the Lease has a holder": {func(f *identityFixture) { f.apply(memberChange{holder: new("statefulcluster/db")}) }, false},
		"a pod terminates": {func(f *identityFixture) {
			gone := f.show.state.of(firstID).pod
			gone.terminating = true
			f.apply(memberChange{member: &gone})
		}, false},
		"a new pod has taken the place": {(*identityFixture).losesNode, true},
		"a fifth pod exists":            {func(f *identityFixture) { f.serves(lateID, "node-1", identityBefore) }, false},
		"a pod runs another image":      {func(f *identityFixture) { f.updates(secondID) }, false},
		"a claim of a pod is spent": {func(f *identityFixture) {
			f.apply(memberChange{claim: &claim{id: firstID, name: "db-data-" + firstID, spent: "NodeGone"}})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newIdentityFixture()
			tc.change(f)
			if got := f.show.state.settled(identityBefore); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestIdentityResultHasNoViolation(t *testing.T) {
	t.Parallel()
	f := newIdentityFixture()
	f.losesNode()
	before := uids(f.show.state.living())
	for _, id := range []string{secondID, thirdID, fourthID, lateID} {
		f.updates(id)
	}
	f.show.verifyNames(before)
	f.show.took, f.show.updated = 1234*time.Millisecond, 4321*time.Millisecond
	wantText(t, printed(f.show.result()), `
Nothing was violated. db-e80d17c3f2a5946b was Ready 1.2 s after the Node of
db-0f3c9a5be1d27846 was deleted; its claim is spent and stays. The image of
4 pods changed in 4.3 s, and each kept its name.
`)
}

func TestIdentityViolationsAreReported(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*identityFixture){
		"before the image changed": func(f *identityFixture) {
			f.apply(memberChange{member: &member{id: secondID, name: "db-" + secondID, uid: "other"}})
		},
		"the claim db-data-" + firstID + " was deleted": func(f *identityFixture) {
			f.apply(memberChange{claim: &claim{id: firstID, name: "db-data-" + firstID}, deleted: true})
		},
		"the name db-" + firstID + " was used again": func(f *identityFixture) {
			f.apply(memberChange{member: &member{id: firstID, name: "db-" + firstID, uid: "other"}})
		},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			f := newIdentityFixture()
			f.losesNode()
			before := uids(f.show.state.living())
			change(f)
			f.show.verifyNames(before)
			text := strings.Join(printed(f.show.result()), "\n")
			if strings.Contains(text, "Nothing was violated") || !strings.Contains(text, want) {
				t.Errorf("got\n%s", text)
			}
		})
	}
}

func TestViolationsAboutStatefulClustersHaveNoNumber(t *testing.T) {
	t.Parallel()
	v := newVerifier()
	v.add([]judge.Violation{
		{Namespace: "east", Text: "db-" + firstID + " was deleted by force"},
		{Guarantee: 1, Namespace: "north", Zone: zoneA, Text: "two zones were down"},
	})
	var got []string
	for _, one := range v.violations {
		got = append(got, one.String())
	}
	wantText(t, got, `
east: db-0f3c9a5be1d27846 was deleted by force
north: two zones were down (guarantee 1)
`)
}
