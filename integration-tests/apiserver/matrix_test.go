package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// These tests and those of matrix_*_test.go are the cells of the matrix in docs/webhooks.md: the
// effect of faults near the webhooks on rollouts and downscales.

// barred is a Deployment whose downscales are forbidden.
const barred = "web"

// barsToo creates that Deployment and makes the API server call the operator about it.
func (c *trial) barsToo(ca []byte) {
	c.t.Helper()
	pod := zone(barred, 1).Spec.Template
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: barred, Labels: map[string]string{noDownscale: "true"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: pod.Labels}, Template: pod,
		},
	}
	if _, err := c.world.admin.AppsV1().Deployments(c.name).Create(c.t.Context(), deployment, createOptions); err != nil {
		c.t.Fatal(err)
	}
	c.barredAt(c.service.address, ca)
	c.eventually("the API server calls the webhook about "+barred, func(present) error {
		err := c.scaleBarred(patched, 1)
		if apierrors.IsForbidden(err) {
			return nil
		}
		return errors.Join(fmt.Errorf("got %w", err), c.scaleBarred(patched, 2))
	})
}

// scaleBarred requests a number of replicas of that Deployment once.
func (c *trial) scaleBarred(way string, to int32) error {
	c.t.Helper()
	deployments, ctx := c.world.admin.AppsV1().Deployments(c.name), c.t.Context()
	if way == scaled {
		scale := &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: barred, Namespace: c.name}, Spec: autoscalingv1.ScaleSpec{Replicas: to},
		}
		_, err := deployments.UpdateScale(ctx, barred, scale, updateOptions)
		return err
	}
	_, err := deployments.Patch(ctx, barred, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, to), metav1.PatchOptions{})
	return err
}

// keepsBarred fails the test unless downscales of that Deployment in these ways are refused.
func (c *trial) keepsBarred(ways ...string) {
	c.t.Helper()
	for _, way := range ways {
		if err := c.scaleBarred(way, 1); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), noDownscale) {
			c.t.Errorf("%s of a Deployment whose downscales are forbidden: got %v, want 403 that names the label", way, err)
		}
	}
}

// refusesAll fails the test unless every way to downscale a zone is refused with these words, and
// without a record.
func (c *trial) refusesAll(zone string, is func(error) bool, words ...string) {
	c.t.Helper()
	for _, way := range waysToScale {
		c.refuses(c.scaleBy(way, zone, -1), is, words...)
	}
	c.changedNothing()
}

func (c *trial) refuses(err error, is func(error) bool, words ...string) {
	c.t.Helper()
	for _, word := range words {
		if !is(err) || !strings.Contains(err.Error(), word) {
			c.t.Errorf("got %v, want another error, with %q", err, word)
		}
	}
}

// changedNothing fails the test if the group is held or a pod was called to prepare.
func (c *trial) changedNothing() {
	c.t.Helper()
	if err := free(c.witness.now()); err != nil {
		c.t.Error(err)
	}
	if all := c.calls(); len(all) > 0 {
		c.t.Errorf("pods were called: %v", all)
	}
}

func TestNothingIsRolledWhileTheOperatorIsAway(t *testing.T) {
	t.Parallel()
	c := onTrial(t, impatient...)
	op := c.start()
	c.create(zone("zone-a", 2), zone("zone-b", 2))
	c.changeAll(version(2), gated())
	c.opensGates("zone-a-0")
	c.awaitDeletion("zone-a-1")
	op.Kill()
	c.opensGates("zone-a-1")
	c.comesUp("zone-a-1")
	c.changeAll(version(3), gateless())
	before := c.deletions()
	c.nothingIsDeleted("while the operator is away")
	if free(c.witness.now()) == nil {
		t.Error("the group is free although its rollout is not over")
	}
	c.start()
	c.settled()
	c.wantDeletions(append(before, c.allPods()...)...)
}

func TestOnlyDownscalesAreRefusedWhileTheOperatorIsAway(t *testing.T) {
	t.Parallel()
	c := onTrial(t, impatient...)
	op := c.start()
	c.isCalled()
	c.barsToo(c.secret().Data["ca"])
	c.create(zone("zone-a", 2, prepares), zone("zone-b", 1, prepares), zone("lonely", 2, alone))
	op.Kill()
	const hook = "prepare-downscale.lockstep.dev"
	c.refusesAll("zone-a", apierrors.IsInternalError, hook)
	c.refusesAll("lonely", apierrors.IsInternalError, hook) // the webhook is called about every StatefulSet
	for what, pass := range map[string]func() error{
		"an increase": func() error { return c.scaleBy(scaled, "zone-a", 1) },
		"a downscale that only the label forbids": func() error { return c.scaleBarred(patched, 1) },
	} {
		if err := pass(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	c.change("zone-b", version(2)) // the template changes as well
	c.start()
	c.scalesDownAtLast(scaled, "zone-a")
	c.settled()
	c.removedPrepared("zone-a-2")
	c.noPreparedPodStays("zone-a-0", "zone-a-1", "zone-b-0")
}

// leadership gives the leader Lease to a holder for an hour. Without a name, any replica may take
// it.
func (c *trial) leadership(holder string) {
	c.t.Helper()
	leases := c.world.admin.CoordinationV1().Leases(c.name)
	c.eventually("the leader Lease is given to "+holder, func(present) error {
		l, err := leases.Get(c.t.Context(), "lockstep-leader", getOptions)
		if err != nil {
			return err
		}
		now := metav1.NowMicro()
		l.Spec = coordinationv1.LeaseSpec{
			HolderIdentity: &holder, AcquireTime: &now, RenewTime: &now, LeaseDurationSeconds: new(int32(3600)), LeaseTransitions: new(int32(1)),
		}
		_, err = leases.Update(c.t.Context(), l, updateOptions)
		return err
	})
}

// leaderless returns a trial with two replicas, of which none is the leader.
func leaderless(t *testing.T) (*trial, []*operator) {
	t.Helper()
	c := onTrial(t, impatient...)
	replicas := []*operator{c.start(), c.start()}
	c.isCalled()
	c.barsToo(c.secret().Data["ca"])
	c.create(zone("zone-a", 4, prepares), zone("zone-b", 3, prepares))
	c.leadership("another-holder")
	c.eventually("neither replica leads", func(present) error {
		if slices.ContainsFunc(replicas, leads) {
			return errors.New("one does")
		}
		return nil
	})
	return c, replicas
}

// eachRefuses downscales zone-a, and fails the test unless each replica refuses a downscale of
// zone-b meanwhile.
func (c *trial) eachRefuses(replicas []*operator) {
	c.t.Helper()
	c.lingers("zone-a-3", never)
	c.awaitScalable("zone-a")
	if err := c.scaleBy(scaled, "zone-a", -1); err != nil {
		c.t.Fatal(err)
	}
	for _, o := range replicas {
		c.service.leadTo(webhookAddress(c.t, o))
		_ = c.heldUpBy("downscale/zone-a", func() error { return c.scaleBy(patched, "zone-b", -1) })
		c.keepsBarred(patched, scaled)
	}
	c.endsLingering("zone-a-3")
}

func TestNothingIsRolledWithoutALeader(t *testing.T) {
	t.Parallel()
	c, replicas := leaderless(t)
	c.changeAll(version(2))
	c.nothingIsDeleted("while no replica leads")
	for _, o := range replicas {
		if code, body := o.get("/ready"); code != 200 {
			t.Errorf("a replica is not ready: %s", body)
		}
		if _, metrics := o.get("/metrics"); !strings.Contains(metrics, "\nlockstep_leader 0\n") {
			t.Error("no metric shows that it does not lead")
		}
	}
	c.leadership("")
	c.settled()
	c.wantDeletions(c.allPods()...)
}

func TestAReplicaThatDoesNotLeadShowsTheRefusalsOfExistingGroups(t *testing.T) {
	t.Parallel()
	c, replicas := leaderless(t)
	c.eachRefuses(replicas)
	for _, o := range replicas {
		if _, metrics := o.get("/metrics"); !hasSeries(metrics, "lockstep_group_refusals_total", c.name, `webhook="prepare-downscale"`, `reason="GroupHeld"`) {
			t.Error("the refusal is not counted")
		}
	}
	c.remove("zone-a")
	c.remove("zone-b")
	c.eventually("the group is not shown any more", func(present) error {
		for _, o := range replicas {
			if _, metrics := o.get("/metrics"); hasSeries(metrics, "lockstep_group_", c.name) {
				return errors.New("there are metrics of it")
			}
		}
		return nil
	})
}

func TestEveryReplicaAnswersDownscalesWithoutALeader(t *testing.T) {
	t.Parallel()
	c, replicas := leaderless(t)
	c.eachRefuses(replicas)
	c.scalesDownAtLast(patched, "zone-b") // once the pod of zone-a was removed
	set, err := c.world.admin.AppsV1().StatefulSets(c.name).Get(t.Context(), "zone-b", getOptions)
	if err != nil {
		t.Fatal(err)
	}
	c.eventually("a downscale with an invalid result is admitted and never takes place", func(present) error {
		set.Spec.Replicas, set.Spec.ServiceName, set.ResourceVersion = new(int32(1)), "another", ""
		_, err := c.world.admin.AppsV1().StatefulSets(c.name).Update(t.Context(), set, updateOptions)
		if apierrors.IsInvalid(err) {
			return nil
		}
		return fmt.Errorf("got %w", err)
	})
	c.stays("the hold is taken", aWhile, func(now present) error {
		if free(now) == nil {
			return errors.New("it is free")
		}
		return nil
	})
	if all := c.callsTo("zone-b-1"); !strings.HasSuffix(all, "POST 200") {
		t.Errorf("zone-b-1 received %q", all)
	}
	c.leadership("")
	c.settled()
	c.removedPrepared("zone-a-3")
	c.removedPrepared("zone-b-2")
	c.noPreparedPodStays("zone-a-0", "zone-a-1", "zone-a-2", "zone-b-0", "zone-b-1")
}
