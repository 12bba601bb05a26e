package e2e_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
)

// operation is one that is underway for a StatefulCluster when the leader is killed.
type operation struct {
	*pool
	before   []corev1.Pod // the members, when it begins
	since    int          // how many events came before it
	start    func()
	underway func() error // returns the reason why it is not underway
	end      func()       // waits for its end, and checks the result
}

// completesOperations kills the leader while it creates, updates in place, hands over, replaces and deletes members of five
// StatefulClusters. The next leader completes each of these operations.
func (w *world) completesOperations(t *testing.T) {
	t.Parallel()
	creation, update, surge, handOver, downscale := w.creation(t), w.updateInPlace(t), w.surge(t), w.handOver(t), w.downscale(t)
	for _, o := range []*operation{update, surge, handOver, downscale} {
		o.before = o.settles()
	}
	w.killsTheLeaderDuring(t, []*operation{creation, update, surge}, []*operation{handOver, downscale}) // these are underway for less time
	for _, o := range []*operation{creation, update, surge, handOver, downscale} {
		o.end()
	}
}

// killsTheLeaderDuring starts groups of operations one after the other, kills the leader when all of them are underway, and waits
// until another process leads.
func (w *world) killsTheLeaderDuring(t *testing.T, groups ...[]*operation) {
	t.Helper()
	w.leading.Lock()
	defer w.leading.Unlock()
	w.works(t)
	var started []*operation
	for _, group := range groups {
		for _, o := range group {
			o.since = len(o.history())
			o.start()
		}
		started = append(started, group...)
		eventually(t, "all operations are underway", func() error { return areUnderway(started) })
	}
	former := w.killsTheLeader(t)
	if err := areUnderway(started); err != nil {
		t.Fatalf("the leader was killed too late, which proves nothing: %v", err)
	}
	eventually(t, "another process leads", func() error { return w.leadsNoMore(t.Context(), former) })
	w.works(t)
}

func areUnderway(operations []*operation) error {
	var ended []error
	for _, o := range operations {
		if err := o.underway(); err != nil {
			ended = append(ended, fmt.Errorf("%s: %w", o.name, err))
		}
	}
	return errors.Join(ended...)
}

// creation creates a StatefulCluster for which a quota allows one claim, until the leader has been killed.
func (w *world) creation(t *testing.T) *operation {
	t.Helper()
	const members, allowed = 3, 1
	o := &operation{pool: w.pool(t, "leader-creates", 0, w.nodes...)}
	quota := o.allowsClaims(allowed)
	o.start = func() { o.creates(members, nil) }
	o.underway = func() (err error) {
		claims, err := o.admin.CoreV1().PersistentVolumeClaims(o.name).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		if o.before, err = o.members(t.Context()); err == nil && (len(o.before) != members || len(claims.Items) != allowed) {
			err = fmt.Errorf("%d pods and %d claims exist", len(o.before), len(claims.Items))
		}
		return err
	}
	o.end = func() {
		o.run(t, "delete", "resourcequota", quota, "--namespace="+o.name)
		after := o.settles()
		if before, after := uidsOf(o.before), uidsOf(after); !slices.Equal(before, after) {
			t.Errorf("the pods that the former leader created are %v; at the end they are %v", before, after)
		}
		o.wantOnDisks(after)
		o.wantIdentities(members)
	}
	return o
}

// allowsClaims creates a quota for claims, waits until it counts, and returns its name.
func (p *pool) allowsClaims(n int64) string {
	p.t.Helper()
	quotas := p.admin.CoreV1().ResourceQuotas(p.name)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "claims"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: *resource.NewQuantity(n, resource.DecimalSI)},
	}}
	if _, err := quotas.Create(p.t.Context(), quota, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	eventually(p.t, "the quota counts claims", func() error {
		now, err := quotas.Get(p.t.Context(), quota.Name, metav1.GetOptions{})
		if err == nil && len(now.Status.Used) == 0 {
			err = errors.New("it does not yet")
		}
		return err
	})
	return quota.Name
}

// updateInPlace changes the image of members that start slowly.
func (w *world) updateInPlace(t *testing.T) *operation {
	t.Helper()
	o := &operation{pool: w.pool(t, "leader-updates", 0, w.nodes...)}
	o.creates(3, nil, variable("MEMBER_START", "8s"))
	o.start = func() { o.changesTemplate(image(images.NextMember)) }
	o.underway = func() error {
		members, err := o.members(t.Context())
		if err != nil {
			return err
		}
		updated := 0
		for i := range members {
			if imageOf(&members[i]) == images.NextMember {
				updated++
			}
		}
		if updated == 0 || updated == len(members) {
			err = fmt.Errorf("%d of %d members have the next image", updated, len(members))
		}
		return err
	}
	o.end = func() {
		o.wantKept(o.before, o.settles(), 0)
		o.wantOneDownAtATime(o.before, o.since)
		if err := o.isUpdated(len(o.before)); err != nil {
			t.Error(err)
		}
	}
	return o
}

// surge replaces members by new identities that start slowly, each before another one leaves.
func (w *world) surge(t *testing.T) *operation {
	t.Helper()
	o := &operation{pool: w.pool(t, "leader-surges", 2, slices.Concat(w.nodes, w.nodes)...)}
	o.creates(2, strategy("rollingUpdate", oneMoreAtATime))
	o.start = func() { o.changesTemplate(revision("2"), variable("MEMBER_START", "10s")) }
	o.underway = func() error {
		members, err := o.members(t.Context())
		if err == nil && (len(members) != 3 || !o.hasSome(members)) {
			err = fmt.Errorf("%d members exist", len(members))
		}
		return err
	}
	o.end = func() {
		after := o.settles()
		if o.hasSome(after) {
			t.Errorf("of the members %v some are left", uidsOf(o.before))
		}
		o.wantOneMoreAtATime(2, o.since)
		o.wantIdentities(4)
	}
	return o
}

// hasSome reports whether members from before the operation are among these.
func (o *operation) hasSome(members []corev1.Pod) bool {
	before := uidsOf(o.before)
	return slices.ContainsFunc(uidsOf(members), func(uid string) bool { return slices.Contains(before, uid) })
}

// handOver hands members over that stop slowly.
func (w *world) handOver(t *testing.T) *operation {
	t.Helper()
	o := &operation{pool: w.pool(t, "leader-hands-over", 2, w.nodes...)}
	o.creates(2, nil, stopsSlowly)
	o.start = func() { o.changesTemplate(revision("2"), variable("MEMBER_STOP", "0s")) }
	o.underway = func() error { return o.terminating(1) }
	o.end = func() {
		after := o.settles()
		o.wantKept(o.before, after, 2)
		o.wantOneDownAtATime(o.before, o.since)
		for i := range after {
			o.wantSuccession(&o.before[i], &after[i])
		}
	}
	return o
}

// downscale asks for fewer members, which stop slowly. Their claims are deleted after that.
func (w *world) downscale(t *testing.T) *operation {
	t.Helper()
	o := &operation{pool: w.pool(t, "leader-scales-down", 2, w.nodes...)}
	o.creates(3, deletesClaimsIf("whenScaled"), stopsSlowly)
	o.start = func() { o.scales(1) }
	o.underway = func() error { return o.terminating(2) }
	o.end = func() {
		after := o.settles()
		if len(after) != 1 || !o.hasSome(after) {
			t.Errorf("the members were %v, and are %v", uidsOf(o.before), uidsOf(after))
		}
		for i := range o.before {
			if pod := &o.before[i]; !slices.Contains(uidsOf(after), string(pod.UID)) {
				o.losesClaim(pod)
			}
		}
		o.wantOnDisks(after)
		o.wantIdentities(3)
	}
	return o
}

// stopsSlowly lets members take longer to stop than another process takes to become the leader.
func stopsSlowly(s *appsv1.StatefulSet) {
	variable("MEMBER_STOP", "15s")(s)
	s.Spec.Template.Spec.TerminationGracePeriodSeconds = new(int64(30))
}

// terminating returns an error unless so many members terminate.
func (o *operation) terminating(want int) error {
	pods, err := o.admin.CoreV1().Pods(o.name).List(o.t.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	n := 0
	for i := range pods.Items {
		if pods.Items[i].DeletionTimestamp != nil {
			n++
		}
	}
	if n != want {
		err = fmt.Errorf("%d members terminate", n)
	}
	return err
}

// uidsOf returns the UIDs of pods in their order.
func uidsOf(pods []corev1.Pod) (uids []string) {
	for i := range pods {
		uids = append(uids, string(pods[i].UID))
	}
	return uids
}
