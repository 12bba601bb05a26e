package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// theLease is the name of the default group's Lease.
const theLease = "lockstep-group-" + defaultGroup

func TestUnreadableIntentsAreRespectedAndReported(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON at all":       `{"version":1,"pods":[`,
		"a future version":     `{"version":2,"pods":[]}`,
		"a future field":       `{"version":1,"pods":[],"partitions":[]}`,
		"an entry without UID": `{"version":1,"pods":[{"pod":"zone-a-0","zone":"zone-a","resourceVersion":"7"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := managed(t)
			s.create(zone("zone-a", 2), zone("zone-b", 2))
			s.changeAll(version(2), gated())
			s.awaitDeletion("zone-a-0")
			s.isBroken("zone-a-0")
			before := s.lease(theLease).Annotations[intentsAnnotation]
			s.editLease(func(l *coordinationv1.Lease) { l.Annotations[intentsAnnotation] = text })
			s.gate("zone-a-0", corev1.ConditionTrue)
			s.awaitEvent("Warning", "HoldUnreadable", "zone-a")
			s.nothingIsDeleted("while the intents are unreadable")
			if got := s.lease(theLease).Annotations[intentsAnnotation]; got != text {
				t.Errorf("the annotation became %q", got)
			}
			if _, metrics := s.operator.get("/metrics"); !hasSeries(metrics, "lockstep_group_zone_waiting", s.name, `reason="HoldUnreadable"`) {
				t.Error("the wait is not among the metrics")
			}
			s.editLease(func(l *coordinationv1.Lease) { l.Annotations[intentsAnnotation] = before })
			s.opensGates("zone-a-1", "zone-b-0", "zone-b-1")
			s.settledSoon()
			s.wantEachOnce()
		})
	}
}

// editLease changes the group's Lease, as a person would.
func (s *scene) editLease(change func(*coordinationv1.Lease)) {
	s.t.Helper()
	leases := s.world.admin.CoordinationV1().Leases(s.name)
	err := retry.RetryOnConflict(oftenAndSoon, func() error {
		l, err := leases.Get(s.t.Context(), theLease, getOptions)
		if err != nil {
			return err
		}
		change(l)
		_, err = leases.Update(s.t.Context(), l, updateOptions)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// opensGates waits until each of these pods is replaced, and opens its gate.
func (s *scene) opensGates(pods ...string) {
	s.t.Helper()
	for _, pod := range pods {
		s.awaitDeletion(pod)
		s.isBroken(pod)
		s.gate(pod, corev1.ConditionTrue)
	}
}

func TestEditsOfTheLeaseDuringARolloutBreakNothing(t *testing.T) {
	t.Parallel()
	farAway := metav1.NewMicroTime(time.Now().Add(1000 * time.Hour))
	for name, edit := range map[string]func(*coordinationv1.Lease){
		"the holder is taken out": func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = nil },
		"the intents are taken out": func(l *coordinationv1.Lease) {
			delete(l.Annotations, intentsAnnotation)
		},
		"holder and intents are taken out": func(l *coordinationv1.Lease) {
			l.Spec.HolderIdentity = nil
			delete(l.Annotations, intentsAnnotation)
		},
		"it names another zone":    func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("rollout/zone-b") },
		"it names an unknown zone": func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("rollout/zone-x") },
		"it has no times": func(l *coordinationv1.Lease) {
			l.Spec.RenewTime, l.Spec.AcquireTime, l.Spec.LeaseDurationSeconds = nil, nil, nil
		},
		"it was renewed in the future": func(l *coordinationv1.Lease) {
			l.Spec.RenewTime = &farAway
		},
		"it is relabelled": func(l *coordinationv1.Lease) { l.Labels = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := managed(t)
			s.rules.unordered = true // the zone with the hold goes first
			s.create(zone("zone-a", 2), zone("zone-b", 2))
			s.changeAll(version(2), gated())
			s.awaitDeletion("zone-a-0")
			s.isBroken("zone-a-0")
			s.editLease(edit)
			s.nothingIsDeleted("while a pod is down, whatever the Lease contains")
			s.opensGatesAsTheyClose()
			s.settledSoon()
			s.wantEachOnce()
		})
	}
}

// opensGatesAsTheyClose opens the gate of every pod of the newest template, in the order in which
// the pods are created.
func (s *scene) opensGatesAsTheyClose() {
	s.t.Helper()
	s.eventually("every pod is replaced and serves", func(now present) error {
		var waiting error
		for _, name := range s.allPods() {
			p := now.pods[name]
			if p == nil || p.DeletionTimestamp != nil || p.Status.PodIP == "" || len(p.Spec.ReadinessGates) == 0 {
				waiting = fmt.Errorf("%s is not replaced yet", name)
			} else if !judge.PodOf(p).Serving() {
				s.gate(name, corev1.ConditionTrue)
				waiting = fmt.Errorf("%s does not serve yet", name)
			}
		}
		return waiting
	})
}

func TestALeaseDeletedDuringARolloutIsCreatedAgain(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 2))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.isBroken("zone-a-0")
	if err := s.world.admin.CoordinationV1().Leases(s.name).Delete(t.Context(), theLease, deleteOptions); err != nil {
		t.Fatal(err)
	}
	s.nothingIsDeleted("while a pod is down, with or without a Lease")
	s.gate("zone-a-0", corev1.ConditionTrue)
	s.opensGates("zone-a-1", "zone-b-0", "zone-b-1")
	s.settledSoon()
	s.wantEachOnce()
}

func TestZonesWithTheSameSelectorRollTheirOwnPods(t *testing.T) {
	t.Parallel()
	s := managed(t)
	same := map[string]string{"name": "store"}
	s.create(zone("zone-a", 2, podLabels(same)), zone("zone-b", 3, podLabels(same)), zone("other", 1, podLabels(same), inGroup("other")))
	s.changeAll(version(2), readyAfter(short))
	s.settledSoon()
	s.wantEachOnce()
}

func TestAPodOfAnotherOwnerWithTheNameOfAZonesPodStopsTheRollout(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 2), zone("zone-b", 1))
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.isBroken("zone-a-0")
	s.gate("zone-a-0", corev1.ConditionTrue)
	s.awaitDeletion("zone-a-1")
	s.isBroken("zone-a-1")
	squatter := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "zone-b-1"},
		Spec:       corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Name: "main", Image: "example.com/other:1"}}},
	}
	if _, err := s.world.admin.CoreV1().Pods(s.name).Create(t.Context(), squatter, createOptions); err != nil {
		t.Fatal(err)
	}
	s.change("zone-b", replicas(2)) // its second pod cannot be created now
	s.gate("zone-a-1", corev1.ConditionTrue)
	s.nothingIsDeleted("while a zone misses a pod")
	s.awaitWaiting("PodMissing", "zone-b")
	s.deletePod("zone-b-1")
	s.isBroken("zone-b-1")
	s.gate("zone-b-1", corev1.ConditionTrue)
	s.opensGates("zone-b-0")
	s.settled()
}

// awaitWaiting waits until the metrics show that a zone waits for a reason.
func (s *scene) awaitWaiting(reason, zone string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%s waits because %s", zone, reason), func(present) error {
		_, metrics := s.operator.get("/metrics")
		if !hasSeries(metrics, "lockstep_group_zone_waiting", s.name, fmt.Sprintf("zone=%q", zone), fmt.Sprintf("reason=%q", reason)) {
			return errors.New("no series shows that")
		}
		return nil
	})
}

func TestANamespaceDeletedDuringARolloutAffectsNoOtherNamespace(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.rules.unasked, s.rules.contested = true, true
	slowly := removedAfter(2 * underWay) // so that lockstep has objects to write to for long enough
	s.create(zone("zone-a", 3, slowly), zone("zone-b", 3, slowly))
	s.changeAll(version(2), readyAfter(short))
	s.awaitDeletion("zone-a-0")
	s.zones = nil
	if err := s.world.admin.CoreV1().Namespaces().Delete(t.Context(), s.name, deleteOptions); err != nil {
		t.Fatal(err)
	}
	s.awaitOptOut()
	noticed := time.Now()
	s.eventually("the namespace is empty, and forgotten", func(now present) error {
		if len(now.pods)+len(now.sets)+len(now.leases) > 0 {
			return fmt.Errorf("there are %d pods, %d StatefulSets, %d Leases", len(now.pods), len(now.sets), len(now.leases))
		}
		if _, metrics := s.operator.get("/metrics"); hasSeries(metrics, "lockstep_group_", s.name) {
			return errors.New("there are metrics of it")
		}
		return nil
	})
	for _, r := range s.writesOf(s.operator.user, noticed.Add(underWay)) {
		t.Errorf("%s after the deletion of the namespace was noticed: %s", r.At.Sub(noticed), r)
	}
}

func TestAGroupWithMoreZonesThanTheHoldCanRecord(t *testing.T) {
	t.Parallel()
	s, size := managed(t), int32(130)
	if everyFault() {
		size, s.patience = 1000, longPatience
	}
	s.create(zone("zone-a", size, maxUnavailable("100%")), zone("zone-b", 1))
	s.changeAll(version(2))
	s.settled()
	s.wantEachOnce()
}

// An operator that lacks a verb names it in /ready, the log and the metrics. It does nothing else
// wrong, and continues without a restart once the verb is granted.
func TestAMissingPermissionIsNamed(t *testing.T) {
	t.Parallel()
	const limited = "limited" // not an operator's account, because the suite fails on any other refusal
	for name, tc := range map[string]struct {
		resource, verb string
		named          string
	}{
		"to delete pods":        {"pods", "delete", "delete pods in "},
		"to write the Lease":    {"leases", "update", "update leases.coordination.k8s.io in "},
		"to adopt the revision": {"statefulsets/status", "patch", "patch statefulsets/status.apps in "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := unmanaged(t)
			s.create(zone("zone-a", 1), zone("zone-b", 1))
			s.withRole()
			s.bindTo(limited)
			user := s.person()
			s.setVerb(limited, tc.resource, tc.verb, false)
			op := s.startOperatorAs(limited, "-leader-election.enabled=false")
			s.changeAll(version(2))
			s.awaitEvent("Warning", "RequestForbidden", "zone-a")
			user.isShown("RequestForbidden", stuckCase{zone: "zone-a"})
			s.eventually("the missing permission is named", func(present) error {
				code, ready := op.get("/ready")
				_, metrics := op.get("/metrics")
				switch {
				case code != 200 || !strings.Contains(ready, "missing: "+tc.named+s.name):
					return fmt.Errorf("/ready answers %d: %s", code, ready)
				case !strings.Contains(op.Logs(), "missing\":\""+tc.named+s.name):
					return errors.New("the log does not name it")
				case !strings.Contains(metrics, "lockstep_permissions_missing 1\n"):
					return errors.New("the metric does not count it")
				case !hasSeries(metrics, "lockstep_group_zone_waiting", s.name, `reason="RequestForbidden"`):
					return errors.New("no metric of the group shows that")
				}
				return nil
			})
			s.setVerb(limited, tc.resource, tc.verb, true)
			s.patience = longPatience // after many failures, the operator retries within a minute
			s.settled()
			s.wantEachOnce()
		})
	}
}

// bindTo binds the scene's roles to another account.
func (s *scene) bindTo(account string) {
	s.t.Helper()
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}
	if _, err := s.world.admin.CoreV1().ServiceAccounts(s.name).Create(s.t.Context(), made, createOptions); err != nil {
		s.t.Fatal(err)
	}
	bindings, err := s.world.admin.RbacV1().RoleBindings(s.name).List(s.t.Context(), listOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, b := range bindings.Items {
		b.Subjects[0].Name = account
		if _, err := s.world.admin.RbacV1().RoleBindings(s.name).Update(s.t.Context(), &b, updateOptions); err != nil {
			s.t.Fatal(err)
		}
	}
}

// setVerb grants or revokes a verb in the scene's Role for its subjects, and waits until the API
// server applies the change.
func (s *scene) setVerb(subject, resource, verb string, granted bool) {
	s.t.Helper()
	roles := s.world.admin.RbacV1().Roles(s.name)
	role, err := roles.Get(s.t.Context(), account, getOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	var right *authorizationv1.ResourceAttributes
	for i := range role.Rules {
		rule := &role.Rules[i]
		if !slices.Contains(rule.Resources, resource) {
			continue
		}
		without := slices.DeleteFunc(slices.Clone(rule.Verbs), func(v string) bool { return v == verb || v == "-" })
		if granted || len(without) < len(rule.Verbs) {
			right = new(rightBy(*rule, s.name))
			right.Verb = verb
		}
		if rule.Verbs = append(without, "-"); granted { // the API server rejects a rule without verbs
			rule.Verbs = append(without, verb)
		}
	}
	if right == nil {
		s.t.Fatalf("no rule of the Role has %s %s", verb, resource)
	}
	user := "system:serviceaccount:" + s.name + ":" + subject
	s.awaitRight(user, *right, !granted)
	if _, err := roles.Update(s.t.Context(), role, updateOptions); err != nil {
		s.t.Fatal(err)
	}
	s.awaitRight(user, *right, granted)
}
