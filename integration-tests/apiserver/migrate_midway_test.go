package apiserver_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// lockstep has deleted a pod that still terminates, and has the hold for it.
func TestARolloutThatIsGivenBackInTheMiddleIsFinishedByThePredecessor(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p, admin := s.predecessor(), s.shell()
	s.installs()
	s.create(zone("zone-a", 3, formerly), zone("zone-b", 2, formerly), zone("zone-c", 1, formerly))
	p.registers()
	admin.types(s.guide("Take over"))
	p.isForgotten()
	s.lingers("zone-a-1", never)
	s.changeAll(version(2))
	s.awaitDeletion("zone-a-1")
	if free(s.witness.now()) == nil {
		t.Error("the group has no holder, so this is not the middle")
	}

	admin.types(withoutWait(t, s.guide("Go back to the predecessor")))
	back := time.Now()
	s.hasNoLease()
	s.hasNoRolloutGroup()
	p.hasItsWebhooks()
	s.stays("the predecessor waits for the pod that lockstep sent away", aWhile, func(present) error {
		if pod := p.nextPod(); pod != "" {
			return fmt.Errorf("it would delete %s", pod)
		}
		return nil
	})
	s.endsLingering("zone-a-1")
	s.comesUp("zone-a-1")
	for _, pod := range []string{"zone-a-2", "zone-b-0", "zone-b-1", "zone-c-0"} {
		p.replaces(pod)
	}

	s.wantDeletions("zone-a-0", "zone-a-1")
	p.followedLockstep(s.allPods())
	s.wroteOnly("delete pods zone-a-[01]")
	for _, late := range s.writesOf(s.operator.user, back) {
		t.Errorf("lockstep wrote when it had given the namespace back: %s", late)
	}
	s.hasNoLease()
	s.hasNoRolloutGroup()
	p.hasItsWebhooks()
}

var untilNothingIsUnderWay = regexp.MustCompile(`(?m)^kubectl wait rolloutgroups .* &&\n`)

// withoutWait removes the wait for the end of all operations from the commands.
func withoutWait(t *testing.T, commands string) string {
	t.Helper()
	hasty := untilNothingIsUnderWay.ReplaceAllString(commands, "")
	if hasty == commands {
		t.Fatalf("there is no wait in\n%s", commands)
	}
	return hasty
}

// replaces waits until the predecessor would replace a pod next, and replaces it. It checks at
// every change; the predecessor checks every five seconds.
func (p *predecessor) replaces(pod string) {
	p.t.Helper()
	p.eventually("the predecessor would delete "+pod, func(present) error {
		if next := p.nextPod(); next != pod {
			return fmt.Errorf("it would delete %q", next)
		}
		return nil
	})
	p.removes(pod)
	p.comesUp(pod)
}

// followedLockstep fails the test unless lockstep and the predecessor together deleted these pods,
// each once and in order, one zone at a time. The predecessor uses neither a Lease nor
// preconditions of a delete, so violations of these two rules are ignored.
func (p *predecessor) followedLockstep(pods []string) {
	p.t.Helper()
	history, requests, err := p.evidence()
	if err != nil {
		p.t.Fatal(err)
	}
	itself := judge.Operator{User: "system:serviceaccount:" + p.name + ":" + former, Namespaces: []string{p.name}}
	verdict := judge.Verify(history, requests, judge.Rules{Operators: append(p.operators(), itself)})
	for _, v := range verdict.Violations {
		if !strings.Contains(v.Text, "without a Lease of its group") && !strings.Contains(v.Text, "without preconditions on UID") {
			p.t.Error(v)
		}
	}
	var names []string
	for _, d := range verdict.Disruptions {
		names = append(names, d.Pod)
	}
	if !slices.Equal(names, pods) {
		p.t.Errorf("deleted were\n  %q, wanted\n  %q\n%s", names, pods, p.describe())
	}
}
