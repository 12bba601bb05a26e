package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// exodus is a list of pods that are evicted one after the other, each as soon as its eviction is
// granted.
type exodus struct {
	name    string
	budget  *judge.Budget // nil if there is none
	zones   func() []*appsv1.StatefulSet
	pods    []string
	vetoed  bool     // after the first grant, a PodDisruptionBudget refuses
	holders []string // that the Lease of the group names while it records evictions
	waiting string   // the zone that waits in the queue until the first pod was removed; empty if no zone waits
}

var exoduses = []exodus{
	{
		name: "of two zones",
		zones: func() []*appsv1.StatefulSet {
			return []*appsv1.StatefulSet{zone("zone-a", 2, readyAfter(2*short)), zone("zone-b", 2)}
		},
		pods:    []string{"zone-a-0", "zone-b-0"},
		holders: []string{"eviction/zone-a", "eviction/zone-b"},
		waiting: "zone-b",
	},
	{
		name:   "by partitions",
		budget: &judge.Budget{Limit: 1, Partition: byPartition},
		zones: func() []*appsv1.StatefulSet {
			return []*appsv1.StatefulSet{zone("zone-a", 2, inBudget, readyAfter(2*short)), zone("zone-b", 2, inBudget)}
		},
		pods:    []string{"zone-a-0", "zone-b-1", "zone-b-0"},
		holders: []string{"eviction/partitions"},
	},
	{
		name:    "after an admission without effect",
		zones:   func() []*appsv1.StatefulSet { return []*appsv1.StatefulSet{zone("zone-a", 2), zone("zone-b", 2)} },
		pods:    []string{"zone-a-0"},
		vetoed:  true,
		holders: []string{"eviction/zone-a"},
	},
}

// drainableGroup returns a scene with one operator behind a proxy, which the API server calls about
// evictions. The last result starts the operator again.
func drainableGroup(t *testing.T, of exodus) (*drainable, *faultproxy.Proxy, func()) {
	t.Helper()
	e := newDrainable(t)
	if of.budget != nil {
		e.limits(*of.budget)
	}
	proxy, kubeconfig := e.proxied()
	start := func() *operator {
		return e.startOperatorWith(kubeconfig, append(serveWebhooks(), withoutElection, "-webhooks.update-ca-bundle=false")...)
	}
	e.guardBy(start())
	e.create(of.zones()...)
	return e, proxy, func() {
		e.replicas = []*operator{start()}
		e.leads()
	}
}

func TestAnEvictionSurvivesACrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	sideBySide(t, exoduses, func(of exodus) string { return of.name }, func(t *testing.T, of exodus) {
		t.Helper()
		random, _ := seeded(t)
		const few = 2
		var points []crashPoint
		for _, write := range writesOfAnExodus(t, of) {
			points = append(points, crashPoint{write, false}, crashPoint{write, true})
		}
		chosen := someOf(random, few, points)
		t.Logf("evictions %s have %d crash points; %d of them are tried", of.name, len(points), len(chosen))
		sideBySide(t, chosen, crashPoint.String, func(t *testing.T, point crashPoint) {
			t.Helper()
			switch reached := of.survives(t, point); {
			case !reached && of.needs(point.write):
				t.Error("it was not killed there")
			case !reached:
				t.Log("killed at the end of its history, which has no such write")
			}
		})
	})
}

// needs reports whether every history has this write: the Lease records each eviction and the end
// of the last one. The number of other writes to the Lease and to statuses depends on time.
func (of exodus) needs(write faultproxy.Request) bool {
	return write.Resource == "leases" && write.Number <= len(of.pods)+1
}

// writesOfAnExodus returns the writes of an exodus without a crash. Each is numbered among the
// writes of its resource, because the time of a status write varies.
func writesOfAnExodus(t *testing.T, of exodus) []faultproxy.Request {
	t.Helper()
	e, proxy, _ := drainableGroup(t, of)
	before := len(proxy.Writes())
	if of.waiting != "" {
		e.lingers(of.pods[0], never)
	}
	all := e.startEvictions(of)
	if of.waiting != "" {
		e.eventually(of.waiting+" waits in the queue", func(now present) error {
			lease := now.leases["lockstep-group-"+defaultGroup]
			if lease == nil || !strings.Contains(lease.Annotations["lockstep.dev/waiting"], of.waiting) {
				return errors.New("it does not")
			}
			return nil
		})
		e.endsLingering(of.pods[0])
	}
	all.awaitRemoved()
	e.settled()
	e.wantEvicted(of.pods...)
	e.wantHolders(of.holders...)
	writes, count := proxy.Writes()[before:], map[string]int{}
	for i := range writes {
		count[writes[i].Resource]++
		writes[i].Number = count[writes[i].Resource]
	}
	return writes
}

// fromNowOn plays a fault on a write that is numbered among the writes of its resource.
func fromNowOn(write faultproxy.Request, f faultproxy.Fault) faultproxy.Script {
	count := 0
	return func(r faultproxy.Request) faultproxy.Fault {
		if r.Kind != faultproxy.Write || r.Resource != write.Resource {
			return faultproxy.Fault{}
		}
		if count++; count != write.Number {
			return faultproxy.Fault{}
		}
		return f
	}
}

// survives tests an exodus with this crash and returns whether the exodus reached the crash point.
func (of exodus) survives(t *testing.T, point crashPoint) bool {
	t.Helper()
	e, proxy, start := drainableGroup(t, of)
	op := e.operator
	fault, crashed := killing(op, point.after)
	proxy.Play(fromNowOn(point.write, fault))
	all := e.startEvictions(of)
	select {
	case <-crashed:
	case <-all.over:
	}
	e.crashes(crashed)
	proxy.Play(nil)
	reached := len(proxy.Counts().Faults) > 0 // at its last write, the exodus may end before the operator is dead
	op.Kill()
	start()
	all.awaitRemoved()
	e.settled()
	e.wantEvicted(of.pods...)
	e.wantHolders(of.holders...)
	e.changeAll(version(2)) // no zone is blocked
	e.settled()
	e.wantEachOnce()
	return reached
}

// evictionRun is the state of the evictions of an exodus.
type evictionRun struct {
	t    *testing.T
	over chan struct{} // closed when all pods were removed, or never will be
	err  error         // set before over is closed
}

// startEvictions starts to evict the pods of an exodus.
func (e *drainable) startEvictions(of exodus) *evictionRun {
	e.t.Helper()
	if of.vetoed {
		e.forbidsEvictions()
	}
	all := &evictionRun{t: e.t, over: make(chan struct{})}
	go func() {
		defer close(all.over)
		if of.vetoed {
			all.err = e.meetsTheVeto(of.pods[0])
		}
		for _, pod := range of.pods {
			all.err = errors.Join(all.err, e.evictUntilGranted(pod))
		}
	}()
	return all
}

// awaitRemoved waits until all of them were removed.
func (l *evictionRun) awaitRemoved() {
	l.t.Helper()
	<-l.over
	if l.err != nil {
		l.t.Fatal(l.err)
	}
}

// evictUntilGranted requests an eviction until it is granted. Like a drain, it continues while no
// operator runs.
func (e *drainable) evictUntilGranted(pod string) error {
	return e.evictUntil(pod, func(err error) bool { return err == nil })
}

// forbidsEvictions creates a PodDisruptionBudget that refuses every eviction, after the webhooks.
func (e *drainable) forbidsEvictions() {
	e.t.Helper()
	_, err := e.world.admin.PolicyV1().PodDisruptionBudgets(e.name).Create(e.t.Context(), &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "veto"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{}, MaxUnavailable: new(intstr.FromInt32(0))},
	}, createOptions)
	if err != nil {
		e.t.Fatal(err)
	}
}

// meetsTheVeto requests an eviction until the PodDisruptionBudget refuses it, and deletes the
// PodDisruptionBudget.
func (e *drainable) meetsTheVeto(pod string) error {
	if err := e.evictUntil(pod, func(err error) bool {
		return apierrors.IsTooManyRequests(err) && strings.Contains(err.Error(), "disruption budget")
	}); err != nil {
		return err
	}
	return e.world.admin.PolicyV1().PodDisruptionBudgets(e.name).Delete(e.t.Context(), "veto", deleteOptions)
}

func (e *drainable) evictUntil(pod string, answered func(error) bool) error {
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		err := e.evicts(e.t.Context(), pod, nil)
		switch {
		case answered(err):
			return nil
		case time.Since(began) > e.patience:
			return fmt.Errorf("eviction of %s was not answered finally for %s: %w", pod, e.patience, err)
		}
	}
}

// wantHolders fails the test unless the Lease of the group recorded pods for exactly these holders.
func (s *scene) wantHolders(holders ...string) {
	s.t.Helper()
	history, err := s.witness.Events()
	if err != nil {
		s.t.Fatal(err)
	}
	var got []string
	for _, f := range history {
		if f.Hold != nil && len(f.Hold.Intents) > 0 && !slices.Contains(got, f.Hold.Holder) {
			got = append(got, f.Hold.Holder)
		}
	}
	if !slices.Equal(got, holders) {
		s.t.Errorf("pods were recorded for %q, %q wanted", got, holders)
	}
}
