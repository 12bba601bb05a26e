package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// poolFaultKinds are the kinds of faults that concern StatefulClusters, and their relative frequency.
var poolFaultKinds = []struct {
	share int
	draw  func(*rand.Rand, *pool) fault
}{
	{3, podOfPoolUnready},
	{3, podOfPoolDeleted},
	{2, claimDeleted},
	{2, nodeDeleted},
	{3, podQuota},
	{3, claimQuota},
	{2, holdDeleted},
	{2, statusDeleted},
	{2, pausedAtBirth},
	{3, poolWatchesDelayed},
	{3, lateWriteOfPool},
	{2, appliedAgain},
}

// maxPoolFaults is the maximum number of faults that concern the StatefulCluster of a plan.
const maxPoolFaults = 3

// newFaults draws one to three faults that concern the StatefulCluster, none of which is excluded by the drawn ones.
func (p *pool) newFaults(random *rand.Rand, drawn []fault) []fault {
	shares := 0
	for _, s := range poolFaultKinds {
		shares += s.share
	}
	for range 1 + random.IntN(maxPoolFaults) {
		n := random.IntN(shares)
		for _, s := range poolFaultKinds {
			if n -= s.share; n >= 0 {
				continue
			}
			if f := s.draw(random, p); !f.isDuplicate(drawn) {
				drawn = append(drawn, f)
			}
			break
		}
	}
	return drawn
}

// ofPool selects the pods of StatefulClusters.
var ofPool = metav1.ListOptions{LabelSelector: poolLabel}

// podOfPoolUnready makes a ready pod not ready for a while.
func podOfPoolUnready(random *rand.Rand, _ *pool) fault {
	return podUnreadyOf(random, ofPool, "a pod of the StatefulCluster", "pod of a StatefulCluster lost Ready")
}

// podOfPoolDeleted deletes a ready pod without any check.
func podOfPoolDeleted(random *rand.Rand, _ *pool) fault {
	return podDeletedOf(random, ofPool, "a pod of the StatefulCluster", poolPodDeleted)
}

// poolPodDeleted is the kind of fault that is a deleted pod of a StatefulCluster.
const poolPodDeleted = "pod of a StatefulCluster deleted by another client"

// claimDeleted deletes a claim of a pod that serves, so that its identity lacks a part.
func claimDeleted(random *rand.Rand, _ *pool) fault {
	which, claim := random.Uint64(), random.Uint64()
	f := fault{replica: -1, at: between(random, time.Second, 8*time.Second)}
	f.description = fmt.Sprintf("after %s another client deletes a claim of a pod that serves", f.at)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		return retry(ctx, "delete a claim", func(ctx context.Context) error {
			pod, err := t.readyPod(ctx, ofPool, which)
			if err != nil {
				return err
			}
			claims := mountedClaims(pod)
			name := claims[claim%uint64(len(claims))]
			err = t.client.CoreV1().PersistentVolumeClaims(t.namespace).Delete(ctx, name, metav1.DeleteOptions{})
			return t.countUnless(err, "claim deleted by another client")
		})
	}
	return f
}

// podQuota forbids further pods of the StatefulCluster for a while.
func podQuota(random *rand.Rand, _ *pool) fault {
	ofClass := corev1.ScopedResourceSelectorRequirement{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{poolPriority}}
	return quota(random, corev1.ResourcePods, corev1.ResourceQuotaSpec{
		ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{ofClass}},
	})
}

// claimQuota forbids further claims for a while.
func claimQuota(random *rand.Rand, _ *pool) fault {
	return quota(random, corev1.ResourcePersistentVolumeClaims, corev1.ResourceQuotaSpec{})
}

// quota forbids further objects of a resource for a while, and deletes a pod of the StatefulCluster meanwhile, which needs some.
func quota(random *rand.Rand, of corev1.ResourceName, spec corev1.ResourceQuotaSpec) fault {
	q := quotaFault{of: of, spec: spec, deletesPod: true}
	q.long, q.which = between(random, 2*time.Second, 10*time.Second), random.Uint64()
	q.at = between(random, 0, 5*time.Second)
	return q.fault()
}

// quotaForClaimTemplates is a quota for claims that begins before a step adds claim templates. It allows no further claim, so that
// the dry run of the new templates is refused, or a few. The templates may change again before it ends.
func quotaForClaimTemplates(random *rand.Rand, added time.Duration) fault {
	return quotaFault{
		of: corev1.ResourcePersistentVolumeClaims, at: max(0, added-between(random, 0, time.Second)), long: between(random, 4*time.Second, 12*time.Second),
		spare: random.IntN(4), deletesPod: random.IntN(3) == 0, which: random.Uint64(),
	}.fault()
}

// quotaFault is a quota for objects of a resource. It counts if it refuses a request of an operator.
type quotaFault struct {
	of         corev1.ResourceName
	spec       corev1.ResourceQuotaSpec // without the number
	at, long   time.Duration
	spare      int // number of claims that it allows beside those that exist; 0: no object at all
	deletesPod bool
	which      uint64 // pod is deleted
}

func (q quotaFault) fault() fault {
	f := fault{replica: -1, at: q.at, once: "quota for " + string(q.of)}
	f.description = fmt.Sprintf("after %s a quota forbids further %s of the StatefulCluster for %s", q.at, q.of, q.long)
	if q.spare > 0 {
		f.description += fmt.Sprintf(" once %d more exist", q.spare)
	}
	if q.deletesPod {
		f.description += ", and another client deletes one of its pods"
	}
	f.run = func(ctx context.Context, t *trial, _ *replica) error { return q.run(ctx, t) }
	return f
}

func (q quotaFault) run(ctx context.Context, t *trial) error {
	quotas, name := t.client.CoreV1().ResourceQuotas(t.namespace), "no-"+string(q.of)
	err := retry(ctx, "make a quota", func(ctx context.Context) error {
		most, err := q.most(ctx, t)
		if err != nil {
			return err
		}
		object := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: q.spec}
		object.Spec.Hard = corev1.ResourceList{q.of: most}
		_, err = quotas.Create(ctx, object, metav1.CreateOptions{})
		return ignoreExisting(err)
	})
	if err != nil {
		return err
	}
	from := time.Now()
	under, lifted := context.WithTimeout(ctx, q.long)
	defer lifted()
	if q.deletesPod {
		if err := t.deletePod(under, ofPool, q.which, poolPodDeleted); err != nil { // none may serve while the quota lasts
			t.remark(ctx, "no pod was deleted under a quota: %v", err)
		}
	}
	<-under.Done()
	err = retry(ctx, "remove a quota", func(ctx context.Context) error {
		return ignoreMissing(quotas.Delete(ctx, name, metav1.DeleteOptions{}))
	})
	switch {
	case t.wasRefused(string(q.of), from, isOfAddedTemplate):
		t.count("quota refused claims of an added template")
	case t.wasRefused(string(q.of), from, isAnyRequest):
		t.count("quota refused " + string(q.of))
	}
	return err
}

// most returns how many objects the quota allows.
func (q quotaFault) most(ctx context.Context, t *trial) (resource.Quantity, error) {
	if q.spare == 0 {
		return resource.MustParse("0"), nil
	}
	claims, err := t.client.CoreV1().PersistentVolumeClaims(t.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return resource.Quantity{}, err
	}
	return *resource.NewQuantity(int64(len(claims.Items)+q.spare), resource.DecimalSI), nil
}

func isAnyRequest(judge.Request) bool { return true }

// isOfAddedTemplate reports whether a request is for a claim of a template that a step added, and not a dry run.
func isOfAddedTemplate(r judge.Request) bool {
	return !r.DryRun && slices.ContainsFunc(addedClaimTemplates, func(name string) bool { return strings.HasPrefix(r.Name, poolName+"-"+name+"-") })
}

// wasRefused reports whether the API server has refused such a request of an operator to create an object of a resource since a time.
func (t *trial) wasRefused(resource string, from time.Time, is func(judge.Request) bool) bool {
	requests, err := t.env.requests(t.namespace, t.user())
	if err != nil {
		return false // the plan cannot be judged either
	}
	for _, r := range requests {
		if r.User == t.user() && r.Verb == "create" && r.Resource == resource && r.Code == http.StatusForbidden && r.At.After(from) && is(r) {
			return true
		}
	}
	return false
}

// holdDeleted deletes the Lease of the StatefulCluster while it records nothing, as the guarantees assume.
func holdDeleted(random *rand.Rand, _ *pool) fault {
	f := fault{replica: -1, at: between(random, 500*time.Millisecond, 6*time.Second), once: "hold deleted"}
	f.description = fmt.Sprintf("after %s another client deletes the Lease of the StatefulCluster while it has no intents", f.at)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		ctx, cancel := context.WithTimeout(ctx, maxTriggerWait)
		defer cancel()
		leases := t.client.CoordinationV1().Leases(t.namespace)
		err := retry(ctx, "delete the Lease of a StatefulCluster", func(ctx context.Context) error {
			l, err := leases.Get(ctx, poolLease, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if len(judge.PoolHoldOf(l).Intents) > 0 {
				return errors.New("it has intents")
			}
			err = leases.Delete(ctx, poolLease, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &l.UID, ResourceVersion: &l.ResourceVersion}})
			return t.countUnless(err, "Lease of a StatefulCluster deleted")
		})
		if ctx.Err() != nil {
			return nil // it always had intents, or there was none
		}
		return err
	}
	return f
}

// statusDeleted empties the status of the StatefulCluster.
func statusDeleted(random *rand.Rand, p *pool) fault {
	f := fault{replica: -1, at: between(random, 500*time.Millisecond, 8*time.Second), once: "status deleted"}
	f.description = fmt.Sprintf("after %s another client empties the status of the StatefulCluster", f.at)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		objects := t.env.dynamic.Resource(statefulClusters).Namespace(t.namespace)
		return retry(ctx, "empty the status", func(ctx context.Context) error {
			o, err := objects.Get(ctx, p.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			o.Object["status"] = map[string]any{}
			_, err = objects.UpdateStatus(ctx, o, metav1.UpdateOptions{})
			return t.countUnless(err, "status of a StatefulCluster emptied")
		})
	}
	return f
}

// pausedAtBirth stops an operator while it creates a pod. It continues after another one has become the leader.
func pausedAtBirth(random *rand.Rand, _ *pool) fault {
	long := between(random, 5*time.Second, 8*time.Second)
	f := fault{replica: -1, at: between(random, 0, 5*time.Second), once: "paused"}
	f.description = fmt.Sprintf("after %s the operator that creates a pod is stopped for %s meanwhile", f.at, long)
	f.pauseAt(long, func(q faultproxy.Request) bool {
		return q.Kind == faultproxy.Write && q.Method == http.MethodPost && q.Resource == "pods"
	})
	return f
}

// poolWatchesDelayed delays the watches of kinds that only StatefulClusters need.
func poolWatchesDelayed(random *rand.Rand, _ *pool) fault {
	resources := []string{"statefulclusters", "persistentvolumeclaims", "controllerrevisions"}
	late := map[string]time.Duration{}
	for _, i := range random.Perm(len(resources))[:1+random.IntN(len(resources))] {
		late[resources[i]] = between(random, 200*time.Millisecond, 4*time.Second)
	}
	f := fault{watchDelays: late, replica: anyReplica(random), once: "late"}
	f.description = fmt.Sprintf("for StatefulClusters, %s see late: %v", ownerOf(f.replica), late)
	return f
}

// lateWriteOfPool is lateWrites for requests that only StatefulClusters need.
func lateWriteOfPool(random *rand.Rand, _ *pool) fault {
	return lateWriteOf(random, []string{"persistentvolumeclaims", "pods/resize"}[random.IntN(2)])
}

// appliedAgain deletes the StatefulCluster without its pods and applies it again.
func appliedAgain(random *rand.Rand, p *pool) fault {
	away := between(random, 0, 3*time.Second)
	f := fault{replica: -1, at: between(random, time.Second, 8*time.Second), once: "applied again"}
	f.description = fmt.Sprintf("after %s the StatefulCluster is deleted without its pods, and applied again %s later", f.at, away)
	f.run = func(ctx context.Context, t *trial, _ *replica) error {
		if err := t.deletePoolWithoutPods(ctx); err != nil {
			return err
		}
		wait(ctx, away)
		objects := t.env.dynamic.Resource(statefulClusters).Namespace(t.namespace)
		return retry(ctx, "apply the StatefulCluster again", func(ctx context.Context) error {
			again := p.object()
			again.Object["spec"] = t.state.deletedPool().Object["spec"]
			_, err := objects.Create(ctx, again, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return t.countUnless(err, "StatefulCluster applied again")
		})
	}
	return f
}

// orphanedWithin is how long the garbage collection may take to make the pods of a StatefulCluster orphans. After failures it
// may try again only minutes later.
const orphanedWithin = 30 * time.Second

// deletePoolWithoutPods deletes the StatefulCluster of the plan, and returns once it is gone. If the garbage collection takes
// too long, the campaign does its work.
func (t *trial) deletePoolWithoutPods(ctx context.Context) error {
	objects, orphan := t.env.dynamic.Resource(statefulClusters).Namespace(t.namespace), metav1.DeletePropagationOrphan
	err := retry(ctx, "delete the StatefulCluster without its pods", func(ctx context.Context) error {
		return objects.Delete(ctx, t.plan.pool.name, metav1.DeleteOptions{PropagationPolicy: &orphan})
	})
	if err != nil {
		return err
	}
	isGone := func(context.Context) error {
		if t.state.deletedPool() == nil {
			return errors.New("it is still there")
		}
		return nil
	}
	patient, cancel := context.WithTimeout(ctx, orphanedWithin)
	defer cancel()
	if retry(patient, "wait for the end of the StatefulCluster", isGone) == nil {
		return nil
	}
	t.count("StatefulCluster orphaned by the campaign")
	if err := retry(ctx, "make the pods of the StatefulCluster orphans", t.orphanPods); err != nil {
		return err
	}
	return retry(ctx, "wait for the end of the StatefulCluster", isGone)
}

// orphanPods does what the garbage collection does for an object that is deleted without its pods: the pods have no owner any
// more, and then nothing keeps the object.
func (t *trial) orphanPods(ctx context.Context) error {
	objects := t.env.dynamic.Resource(statefulClusters).Namespace(t.namespace)
	object, err := objects.Get(ctx, t.plan.pool.name, metav1.GetOptions{})
	if err != nil {
		return ignoreMissing(err)
	}
	for _, p := range t.state.podsOfPool() {
		disown := fmt.Appendf(nil, `{"metadata":{"uid":%q,"ownerReferences":[{"$patch":"delete","uid":%q}]}}`, p.UID, object.GetUID())
		if _, err := t.client.CoreV1().Pods(t.namespace).Patch(ctx, p.Name, types.StrategicMergePatchType, disown, metav1.PatchOptions{}); ignoreMissing(err) != nil {
			return err
		}
	}
	release := fmt.Appendf(nil, `{"metadata":{"uid":%q,"finalizers":null}}`, object.GetUID())
	_, err = objects.Patch(ctx, object.GetName(), types.MergePatchType, release, metav1.PatchOptions{})
	return ignoreMissing(err)
}
