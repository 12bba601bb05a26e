package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// mix is an environment with repeated faults.
type mix struct {
	name   string
	late   map[string]time.Duration            // delay of watches, by resource
	faults func(seed uint64) faultproxy.Script // from the operator's start to its end
	away   time.Duration                       // how long the API server is unavailable during the rollout
	long   bool                                // runs only if every fault is tried
}

// A cut connection ends all watches, and client-go waits longer each time before it continues. Such
// mixes take long.
var mixes = []mix{
	{name: "lost answers", faults: onWrites(6, faultproxy.Lost()), long: true},
	{name: "repeated writes", faults: onWrites(2, faultproxy.Repeated())},
	{name: "writes held back", faults: onWrites(2, faultproxy.Held(300*time.Millisecond))},
	{name: "conflicts", faults: onWrites(3, faultproxy.Answered(409))},
	{name: "too many requests", faults: onWrites(3, faultproxy.Answered(429))},
	{name: "internal errors", faults: onWrites(3, faultproxy.Answered(500))},
	{name: "unavailable", faults: onWrites(3, faultproxy.Answered(503))},
	{name: "cut connections", faults: onWrites(6, faultproxy.Cut()), long: true},
	{name: "bad reads", faults: onReads},
	{name: "pods seen late", late: map[string]time.Duration{"pods": time.Second}},
	{name: "StatefulSets seen late", late: map[string]time.Duration{"statefulsets": time.Second}},
	{name: "Leases seen late", late: map[string]time.Duration{"leases": time.Second}},
	{name: "API server away", away: 3 * time.Second, long: true},
	{name: "API server away for a minute", away: time.Minute, long: true},
	{
		name:   "everything at once",
		late:   map[string]time.Duration{"pods": 200 * time.Millisecond, "statefulsets": 500 * time.Millisecond, "leases": 700 * time.Millisecond},
		faults: everything, away: time.Second, long: true,
	},
}

func onWrites(oneOf int, faults ...faultproxy.Fault) func(uint64) faultproxy.Script {
	return func(seed uint64) faultproxy.Script {
		return faultproxy.Sometimes(seed, faultproxy.Write, oneOf, faults...)
	}
}

func onReads(seed uint64) faultproxy.Script {
	return faultproxy.FirstOf(
		faultproxy.Sometimes(seed, faultproxy.Read, 3,
			faultproxy.Lost(), faultproxy.Answered(500), faultproxy.Answered(429), faultproxy.Held(300*time.Millisecond)),
		faultproxy.Sometimes(seed, faultproxy.Watch, 3, faultproxy.Cut(), faultproxy.Answered(500)),
	)
}

func everything(seed uint64) faultproxy.Script {
	cuts := []faultproxy.Fault{faultproxy.Lost(), faultproxy.Cut()}
	others := []faultproxy.Fault{
		faultproxy.Repeated(), faultproxy.Held(200 * time.Millisecond),
		faultproxy.Answered(409), faultproxy.Answered(429), faultproxy.Answered(500), faultproxy.Answered(503),
	}
	return faultproxy.FirstOf(
		faultproxy.Sometimes(seed, faultproxy.Write, 12, cuts...),
		faultproxy.Sometimes(seed+1, faultproxy.Write, 3, others...),
		faultproxy.Sometimes(seed, faultproxy.Event, 3, others...),
		faultproxy.Sometimes(seed, faultproxy.Read, 6, others...),
	)
}

const (
	// reconnect is how long an operator may receive no events after its connection was cut.
	// client-go waits longer each time before it continues.
	reconnect = 30 * time.Second
	// longPatience is for rollouts that wait for a reconnect.
	longPatience = 3 * time.Minute
)

func TestARolloutSurvivesFaultsAroundIt(t *testing.T) {
	t.Parallel()
	random, seed := seeded(t)
	const few, rounds = 2, 3
	short := slices.DeleteFunc(slices.Clone(mixes), func(m mix) bool { return m.long && !everyFault() })
	for _, m := range someOf(random, few, short) {
		for round := range uint64(rounds) {
			if round > 0 && !everyFault() {
				break
			}
			t.Run(fmt.Sprintf("%s, seed %d", m.name, seed+round), func(t *testing.T) {
				t.Parallel()
				m.isSurvived(t, seed+round)
			})
		}
	}
}

func (m mix) isSurvived(t *testing.T, seed uint64) {
	t.Helper()
	s := unmanaged(t)
	s.patience = longPatience
	s.rules = rules{grace: defaultGrace + reconnect, unordered: true} // two pods may be recorded together, and only one of them may be deleted
	s.create(zone("zone-a", 3), zone("zone-b", 3, maxUnavailable("2")), zone("zone-c", 2))
	s.withRole()
	proxy, kubeconfig := s.proxied()
	for resource, d := range m.late {
		proxy.DelayWatches(resource, d)
	}
	if m.faults != nil {
		proxy.Play(m.faults(seed))
	}
	s.startOperatorWith(kubeconfig, withoutElection)
	s.changeAll(version(2))
	if m.away > 0 {
		s.awaitDeletion("zone-a-1")
		proxy.Leave()
		time.Sleep(m.away)
		if err := proxy.Return(); err != nil {
			t.Fatal(err)
		}
	}
	s.settled()
	s.wantEachOnce()
	m.happened(t, proxy.Counts())
}

// happened fails the test if no fault occurred.
func (m mix) happened(t *testing.T, counts faultproxy.Counts) {
	t.Helper()
	t.Logf("%v; faults %v", counts.Requests, counts.Faults)
	if m.faults != nil && len(counts.Faults) == 0 {
		t.Error("there was no fault")
	}
	for resource := range m.late {
		if counts.Watches[resource] == 0 {
			t.Errorf("no watch of %s came through the proxy, so nothing was late", resource)
		}
	}
}

func TestADeletionThatFailsIsTriedAgainWithBackOff(t *testing.T) {
	t.Parallel()
	for _, code := range []int{403, 409, 500} {
		t.Run(fmt.Sprint("answered ", code), func(t *testing.T) {
			t.Parallel()
			s := unmanaged(t)
			s.create(zone("zone-a", 2), zone("zone-b", 1))
			s.withRole()
			proxy, kubeconfig := s.proxied()
			s.startOperatorWith(kubeconfig, withoutElection)
			proxy.Play(func(r faultproxy.Request) faultproxy.Fault {
				if r.Method == http.MethodDelete {
					return faultproxy.Answered(code)
				}
				return faultproxy.Fault{}
			})
			s.changeAll(version(2))
			s.eventually("a deletion failed", func(present) error {
				if len(proxy.Counts().Faults) == 0 {
					return errors.New("not yet")
				}
				return nil
			})
			time.Sleep(3 * time.Second)
			// An attempt writes the intent again and sends the delete. The shortest backoff, after
			// a conflict, doubles from 2 ms up to a second: twelve attempts in three seconds. The
			// bound allows three more. A loop without backoff makes far more.
			const attemptsIn3s, writesPerAttempt = 12 + 3, 2
			const most = attemptsIn3s * writesPerAttempt
			if writes := proxy.Writes(); len(writes) > most {
				t.Errorf("%d writes, at most %d wanted; the last ones: %v", len(writes), most, writes[len(writes)-4:])
			}
			proxy.Play(nil)
			s.settled()
			s.wantEachOnce()
		})
	}
}

func TestLabelsOfNamespacesSeenLateAreFollowedLate(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.rules.grace = defaultGrace + behind
	s.create(zone("zone-a", 3), zone("zone-b", 2))
	s.managesByLabel()
	kubeconfig := s.lateWatches("namespaces")
	s.startOperatorWith(kubeconfig, withoutElection, "-kubernetes.namespace=", "-namespaces.selector="+s.own.Selector.String())
	s.changeAll(version(2), readyAfter(short))
	s.nothingIsDeleted("before the label is set")
	s.label(ownLabel, s.name)
	s.awaitDeletion("zone-a-0")
	s.label(ownLabel, "")
	time.Sleep(defaultGrace + behind)
	s.nothingIsDeleted("after the label was removed")
	s.label(ownLabel, s.name)
	s.settled()
	s.wantEachOnce()
}

// ownLabel selects the namespaces of one scene's operator.
const ownLabel = "lockstep.test/scene"

// managesByLabel runs the scene's own operator cluster-wide, for namespaces that have ownLabel with
// the scene's name.
func (s *scene) managesByLabel() {
	s.t.Helper()
	s.withRole()
	s.own = judge.Operator{User: user(s.name), Selector: labels.SelectorFromSet(labels.Set{ownLabel: s.name}), LeadershipNamespace: s.name}
	s.mayEverywhere(account)
	s.eventually("the API server has received the binding", func(present) error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: s.own.User, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list", Resource: "namespaces"},
		}}
		answer, err := s.world.admin.AuthorizationV1().SubjectAccessReviews().Create(s.t.Context(), review, createOptions)
		if err == nil && !answer.Status.Allowed {
			err = fmt.Errorf("not allowed: %s", answer.Status.Reason)
		}
		return err
	})
}

// mayEverywhere binds a ClusterRole to the scene's operator.
func (s *scene) mayEverywhere(role string) {
	s.t.Helper()
	bindings, name := s.world.admin.RbacV1().ClusterRoleBindings(), s.name+"-"+role
	_, err := bindings.Create(s.t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: s.name}},
	}, createOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := bindings.Delete(context.WithoutCancel(s.t.Context()), name, deleteOptions); err != nil {
			s.t.Error(err)
		}
	})
}
