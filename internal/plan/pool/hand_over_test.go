package pool_test

import (
	"slices"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// With all of its claims in each mark, an identity whose second new claim does not come would look like one that has lost a claim.
func TestNewClaimsOfAnIdentityThatWasHandedOverNameThoseThatItHad(t *testing.T) {
	s := mustParse(t, `# The next pod of an identity waits for the second of two new claims.
pool web replicas=1 claims=data,index,logs
pod a gated uid=next successor mounts=data,index,logs
claim a/data siblings=data from=a
claim a/index siblings=data from=a`)
	completions := plan.Only[pool.CompletePod](pool.Plan(s))
	if len(completions) != 1 || !slices.Equal(completions[0].Siblings, []string{"data"}) || completions[0].From != "a" {
		t.Errorf("the plan completes %+v", completions)
	}
}

func TestTheHandOverOfAPodThatNeverRanNamesThePodBefore(t *testing.T) {
	s := mustParse(t, `# The next pod of an identity waits for a claim that the template does not ask for any more.
pool web replicas=1 claims=data
revision 1 claims=data,extra
revision 2
change 1
live
pod a gated rev=1 uid=next successor mounts=data,extra
claim a/data siblings=data from=a`)
	steps := pool.Plan(s)
	deletions := plan.Only[plan.DeletePod](steps)
	if len(deletions) != 1 || deletions[0].UID != "next" || deletions[0].From != "a" {
		t.Errorf("the plan deletes %+v", deletions)
	}
	if recorded := hold.Decide(&s, steps).Record.Intents; len(recorded) != 1 || recorded[0].From != "a" {
		t.Errorf("the Lease records %+v", recorded)
	}
}

func TestAHandOverDependsOnTheClaimsThatTheIdentityHad(t *testing.T) {
	s := mustParse(t, `# A former pod has ended.
pool web replicas=1 claims=data,logs
hold statefulcluster/web own
intent a@10 IdentityHandover
claim a/data siblings=data,logs from=a
claim a/logs siblings=data,logs from=a
claim a/scratch`)
	handovers := plan.Only[pool.HandOver](pool.Plan(s))
	if len(handovers) != 1 || !slices.Equal(namesOf(handovers[0].Had), []string{"web-data-a", "web-logs-a"}) {
		t.Errorf("the plan hands over %+v", handovers)
	}
}

// A claim that an identity has never had would be missed for ever.
func TestClaimsOfAFormerObjectNameThoseThatTheIdentityHad(t *testing.T) {
	s := mustParse(t, `# A pod was adopted while it waits for another claim.
pool web replicas=1 claims=data,logs,cache
live
pod a gated uid=next successor mounts=data,logs,cache
claim a/data of=former siblings=data,logs from=a
claim a/logs of=former siblings=data,logs from=a`)
	labels := plan.Only[pool.LabelClaims](pool.Plan(s))
	if len(labels) != 1 || !slices.Equal(labels[0].Siblings, []string{"data", "logs"}) {
		t.Errorf("the plan labels %+v", labels)
	}
}

func namesOf(claims []pool.Claim) (names []string) {
	for _, c := range claims {
		names = append(names, c.Name)
	}
	return names
}

func mustParse(t *testing.T, text string) pool.Snapshot {
	t.Helper()
	parsed, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.snapshot
}

// A mark without the request would take the request back.
func TestMarksOfNewClaimsKeepTheRequestToKeepAnIdentity(t *testing.T) {
	s := mustParse(t, `# The next pod of an identity that a person wants to keep has got a new claim.
pool web replicas=1 claims=data,logs
live
pod a gated uid=next successor mounts=data,logs
claim a/data siblings=data from=a retain
claim a/logs siblings=data from=a`)
	marks := plan.Only[pool.PrepareHandover](pool.Plan(s))
	if len(marks) != 1 || !marks[0].Retain || marks[0].From != "a" {
		t.Errorf("the plan marks %+v", marks)
	}
}

// A late mark is taken back as it was: for the pod before, with what a person asked for, and only while this pod exists.
func TestClaimsThatAreMarkedAgainKeepWhatAPersonAskedFor(t *testing.T) {
	s := mustParse(t, `# A late mark for another pod has reached the claims.
pool web replicas=1 claims=data,logs
revision 2
at pods=10 claims=30
pod a starting gated uid=next version=10 successor
claim a/data siblings=data,logs from=other version=30 retain
claim a/logs siblings=data,logs from=other version=8`)
	marks := plan.Only[pool.PrepareHandover](pool.Plan(s))
	if len(marks) != 1 || marks[0].From != "a" || len(marks[0].Claims) != 2 || !marks[0].Retain || !marks[0].Newer {
		t.Errorf("the claims are marked as %+v", marks)
	}
	for i := range s.Claims {
		s.Claims[i].From = "next"
	}
	if marks := plan.Only[pool.PrepareHandover](pool.Plan(s)); len(marks) > 0 {
		t.Errorf("marks for the pod itself are taken back: %+v", marks)
	}
}
