package apiserver_test

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// These tests show the state that lockstep finds in a namespace in which the predecessor was in a
// rollout, in a downscale or idle, and how lockstep continues. docs/migrate.md promises no more.

// wroteOnly fails the test if the operator wrote other objects here than those of the patterns, the
// group's Lease, its RolloutGroup and Events. A pattern like "patch statefulsets zone-[bc]" allows
// any number of writes. The same applies to all webhook configurations except the operator's own.
func (s *scene) wroteOnly(patterns ...string) {
	s.t.Helper()
	known := append([]string{
		"create leases*", "update leases lockstep-group-" + defaultGroup, "create events*", "patch events*",
		"create rolloutgroups*", "patch rolloutgroups/status " + defaultGroup,
		"patch validatingwebhookconfigurations " + s.own.LeadershipNamespace,
	}, patterns...)
	for _, r := range slices.Concat(s.writesOf(s.operator.user, time.Time{}), s.injections(s.operator.user)) {
		requestKind := strings.TrimSpace(r.Verb + " " + r.Resource + " " + r.Name)
		expected := slices.ContainsFunc(known, func(pattern string) bool {
			is, err := path.Match(pattern, requestKind)
			return err == nil && is
		})
		if !expected {
			s.t.Errorf("unexpected %q: %s", requestKind, r)
		}
	}
}

// comesToRest waits until the operator has written nothing here for two seconds. If two values
// alternate, this never happens.
func (s *scene) comesToRest() {
	s.t.Helper()
	const quiet = 2 * time.Second
	since := time.Now()
	s.eventually("the operator makes no more writes", func(present) error {
		if until := time.Until(since.Add(quiet)); until > 0 {
			return fmt.Errorf("%s to go", until)
		}
		if lately := s.writesOf(s.operator.user, time.Now().Add(-quiet)); len(lately) > 0 {
			return errors.New(last(lately).String())
		}
		return nil
	})
}

// sizes returns the numbers of replicas that a zone had, in order.
func (s *scene) sizes(zone string) []int {
	s.t.Helper()
	history, err := s.witness.Events()
	if err != nil {
		s.t.Fatal(err)
	}
	var all []int
	for _, f := range history {
		if f.Zone != nil && f.Zone.Name == zone && !f.Zone.Deleted {
			all = append(all, f.Zone.Replicas)
		}
	}
	return slices.Compact(all)
}

// wantSizes fails the test unless zones had exactly these numbers of replicas, in order.
func (s *scene) wantSizes(want map[string][]int) {
	s.t.Helper()
	for zone, sizes := range want {
		if got := s.sizes(zone); !slices.Equal(got, sizes) {
			s.t.Errorf("%s had %v replicas, want %v", zone, got, sizes)
		}
	}
}

func TestANamespaceAtRestIsTakenOverWithoutAWrite(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p, admin := s.predecessor(), s.shell()
	s.installs()
	p.comesFromHelm()
	s.template("web", 3)
	s.create(zone("zone-a", 3, formerly, mirrors("web"), apartByLabel("12h")), zone("zone-b", 3, formerly, mirrors("web"), apartByLabel("12h")),
		zone("zone-c", 3, formerly, follows("zone-b"), apartByLabel("12h")))
	if _, err := s.resources(budgets).Create(t.Context(), zpdb(t, "store", `{`+store+`,"maxUnavailable":1}`), createOptions); err != nil {
		t.Fatal(err)
	}
	if _, err := s.resources(templates).Patch(t.Context(), "web", types.MergePatchType, []byte(`{"status":{"replicas":3}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	p.seesReady()
	p.tracks(map[string]time.Time{"zone-a": time.Now().Add(-time.Hour)})
	tracked, pods := p.tracked(), s.witness.now().pods
	p.registers()
	admin.types(strings.Replace(s.guide("Take over"), "deployment="+former+"\n", "deployment="+released+"\n", 1))

	if n := p.running(s.witness.now()); n > 0 {
		t.Errorf("the predecessor has %d pods", n)
	}
	s.showsGroup(defaultGroup, "Settled, 9/9, Ready, Current")
	s.comesToRest()
	s.wroteOnly("patch zoneawarepoddisruptionbudgets/status store")
	if n := len(s.writesOf(s.operator.user, time.Time{})); n > 8 {
		t.Errorf("it wrote %d times, and a group and a budget have a status", n)
	}
	if err := free(s.witness.now()); err != nil {
		t.Errorf("no change was needed: %v", err)
	}
	for name, pod := range s.witness.now().pods {
		if pod.UID != pods[name].UID {
			t.Errorf("%s is not the pod that it was", name)
		}
	}
	if p.tracked().ResourceVersion != tracked.ResourceVersion {
		t.Error("the zone tracker was written")
	}
	if left := p.bundles(); len(left) > 0 {
		t.Errorf("its webhooks are still there: %d", len(left))
	}
}

func TestATakeOverThatCannotStopThePredecessorChangesNothing(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p, admin := s.predecessor(), s.shell()
	p.comesFromHelm()
	p.registers()
	if said, err := admin.tries(guided(t, "Take over", "sh")); err == nil || !strings.Contains(said, former) {
		t.Errorf("a missing Deployment was stopped (%v):\n%s", err, said)
	}
	namespace, err := s.world.admin.CoreV1().Namespaces().Get(t.Context(), s.name, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	if _, in := namespace.Labels[optIn]; in {
		t.Error("the namespace has opted in")
	}
	if n := len(p.bundles()); n != 4 {
		t.Errorf("%d of its 4 webhook configurations are unchanged", n)
	}
	if n := p.running(s.witness.now()); n != 1 {
		t.Errorf("the predecessor has %d pods", n)
	}
}

func TestAnUnfinishedRolloutOfThePredecessorIsFinished(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p, admin := s.predecessor(), s.shell()
	s.installs()
	s.create(zone("zone-a", 3, formerly), zone("zone-b", 3, formerly), zone("zone-c", 3, formerly))
	s.changeAll(version(2), readyAfter(short))
	p.removes("zone-a-0")
	s.comesUp("zone-a-0")
	s.lingers("zone-a-1", never)
	p.removes("zone-a-1")
	p.registers()
	admin.types(s.guide("Take over"))
	s.awaitWaiting("PodTerminating", "zone-a")
	s.endsLingering("zone-a-1")
	s.settled()
	s.wantDeletions("zone-a-2", "zone-b-0", "zone-b-1", "zone-b-2", "zone-c-0", "zone-c-1", "zone-c-2")
	s.comesToRest()
	s.wroteOnly("delete pods zone-[abc]-[012]", "patch statefulsets/status zone-[abc]")
}

// lingers delays the termination of a pod.
func (s *scene) lingers(pod string, d time.Duration) {
	s.t.Helper()
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{"lockstep.test/gone-after":%q}}}`, d)
	if _, err := s.world.admin.CoreV1().Pods(s.name).Patch(s.t.Context(), pod, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// endsLingering ends the delay of lingers.
func (s *scene) endsLingering(pod string) {
	s.t.Helper()
	s.lingers(pod, time.Millisecond)
}

// The predecessor stops after it replaced the last pod of a zone and before the zone's
// currentRevision changes.
func TestAZoneThatLacksOnlyItsRevisionGetsOnlyThat(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p := s.predecessor()
	s.create(zone("zone-a", 1, formerly), zone("zone-b", 1, formerly))
	s.changeAll(version(2))
	for _, pod := range s.allPods() {
		p.removes(pod)
		s.comesUp(pod)
	}
	s.optsIn(true)
	s.settled()
	s.wantDeletions()
	s.comesToRest()
	s.wroteOnly("patch statefulsets/status zone-[ab]")
}

// Zone-a was scaled down by the predecessor, the other zones follow.
func TestAnUnfinishedDownscaleOfThePredecessorIsFinished(t *testing.T) {
	t.Parallel()
	for name, remembers := range map[string]func(*predecessor){
		"with the zone tracker": func(p *predecessor) { p.tracks(map[string]time.Time{"zone-a": time.Now().Add(-time.Minute)}) },
		"with stamps alone":     func(p *predecessor) { p.stamps("zone-a", time.Now().Add(-time.Minute)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := unmanaged(t)
			s.answersLike(nil)
			s.rules.guarded = true
			p := s.predecessor()
			s.create(zone("zone-a", 2, formerly, prepares, apartByLabel("1h")),
				zone("zone-b", 3, formerly, prepares, apartByLabel("1h"), follows("zone-a")),
				zone("zone-c", 3, formerly, prepares, apartByLabel("1h"), follows("zone-b")))
			remembers(p)
			s.optsIn(true)
			s.awaitWaiting("DownscaleTooSoon", "zone-b")
			s.comesToRest()
			s.wroteOnly()
			s.wantSizes(map[string][]int{"zone-a": {2}, "zone-b": {3}, "zone-c": {3}})
			if all := s.calls(); len(all) > 0 {
				t.Errorf("pods were called: %v", all)
			}

			s.changeAll(apartByLabel("4s")) // zone-a was scaled down a minute ago
			s.sized(map[string]int32{"zone-a": 2, "zone-b": 2, "zone-c": 2})
			s.removedPrepared("zone-b-2")
			s.removedPrepared("zone-c-2")
			s.comesToRest()
			s.wroteOnly("patch statefulsets zone-[bc]")
			s.wantSizes(map[string][]int{"zone-a": {2}, "zone-b": {3, 2}, "zone-c": {3, 2}})
			s.wantDeletions()
		})
	}
}

// The predecessor writes the time of a downscale before the API server has accepted the downscale.
func TestAStampWithoutADownscaleCountsAsOne(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.rules.guarded = true
	p := s.predecessor()
	s.create(zone("zone-a", 3, formerly, apartByLabel("1h")), zone("zone-b", 3, formerly, apartByLabel("1h")))
	p.stamps("zone-a", time.Now())
	s.changeAll(forced("2"))
	s.optsIn(true)
	s.awaitWaiting("DownscaleTooSoon", "zone-b")
	s.eventually("the zone that was stamped continues", func(now present) error { return finished(now, "zone-a") })
	s.comesToRest()
	s.wantSizes(map[string][]int{"zone-a": {3, 2}, "zone-b": {3}})
	s.wroteOnly("patch statefulsets zone-a")
}

func TestADownscaleInProgressIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.rules.unordered = true
	p := s.predecessor()
	s.create(zone("zone-a", 2, formerly), zone("zone-b", 3, formerly))
	s.changeAll(version(2))
	s.lingers("zone-b-2", never)
	p.stamps("zone-b", time.Now())
	p.scalesDown("zone-b", 2)
	s.optsIn(true)
	s.eventually("the downscale has the group", func(now present) error {
		l := now.leases["lockstep-group-"+defaultGroup]
		if l == nil || *l.Spec.HolderIdentity != "downscale/zone-b" {
			return errors.New("it has not")
		}
		return nil
	})
	s.endsLingering("zone-b-2")
	s.settled()
	s.wantEachOnce()
	history, err := s.witness.Events()
	if err != nil {
		t.Fatal(err)
	}
	gone := slices.IndexFunc(history, func(f judge.Event) bool { return f.Pod != nil && f.Pod.Name == "zone-b-2" && f.Pod.Deleted })
	if first := s.disruptions()[0]; gone < 0 || first.Version < history[gone].Version {
		t.Errorf("%s was deleted before zone-b-2 was removed", first.Pod)
	}
	s.wantSizes(map[string][]int{"zone-a": {2}, "zone-b": {3, 2}})
	s.comesToRest()
	s.wroteOnly("delete pods zone-[ab]-[01]", "patch statefulsets/status zone-[ab]", "patch statefulsets zone-b")
}

// An hour ago, pods were notified of their removal. If lockstep called them to stay, they
// would lose that time.
func TestADelayedDownscaleOfThePredecessorIsNotCancelled(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.rules.guarded = true
	s.answersLike(nil)
	p := s.predecessor()
	s.template("web", 2)
	s.create(zone("zone-a", 3, formerly, mirrors("web"), delays("4s")), zone("zone-b", 4, formerly, mirrors("web"), delays("4s")))
	leaving := []string{"zone-a-2", "zone-b-2", "zone-b-3"}
	s.withVoices(func(v *voices) {
		for _, pod := range leaving {
			v.leaving[s.name+"/"+pod] = time.Now().Add(-time.Hour)
		}
	})
	p.seesReady()
	s.optsIn(true)
	s.sized(map[string]int32{"zone-a": 2, "zone-b": 2})
	s.awaitReport(templates, "web", 2)
	for _, pod := range leaving {
		s.awaitCalls(pod, "POST 200")
		s.terminatesAfter(pod, 4*time.Second)
	}
	for _, pod := range s.allPods() {
		s.awaitCalls(pod, "DELETE 200")
	}
	s.comesToRest()
	s.wantDeletions()
	s.wroteOnly("patch statefulsets zone-[ab]", "patch replicatemplates/status web")
}
