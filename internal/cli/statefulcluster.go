package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/cluster/pools"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// statefulCluster is a StatefulCluster as the API server shows it: its objects, and the status that the operator wrote.
type statefulCluster struct {
	pool.Snapshot
	status      v1alpha1.StatefulClusterStatus
	pauseReason string // why a person paused it
}

// pool returns the key of a StatefulCluster in the namespace of the command.
func (c *cluster) pool(name string) plan.Key { return pools.KeyOf(c.namespace, name) }

// readStatefulCluster reads a StatefulCluster live, once. It reads neither revisions, nor nodes, which most users may not
// read.
func (c *cluster) readStatefulCluster(ctx context.Context, name string) (statefulCluster, error) {
	observer, err := c.poolObserver(c.namespace)
	if err != nil {
		return statefulCluster{}, err
	}
	return c.readPool(ctx, observer, name)
}

// readForPlanner reads all of a StatefulCluster that the planner needs: its revisions, too, and its nodes if the user may read
// them.
func (c *cluster) readForPlanner(ctx context.Context, name string) (statefulCluster, error) {
	namespace := c.namespace
	if c.mayReadNodes(ctx) {
		namespace = "" // an observer of all namespaces reads nodes
	}
	observer, err := c.poolObserver(namespace)
	if err != nil {
		return statefulCluster{}, err
	}
	if _, err := c.statefulCluster(ctx, name); err != nil {
		return statefulCluster{}, err
	}
	if err := observer.ListRevisions(ctx, c.pool(name)); err != nil {
		return statefulCluster{}, withStatefulClusterHint(err)
	}
	return c.readPool(ctx, observer, name)
}

func (c *cluster) mayReadNodes(ctx context.Context) bool {
	_, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
	return err == nil
}

func (c *cluster) poolObserver(namespace string) (*pools.Observer, error) {
	log := logrus.New()
	log.Out = io.Discard
	return pools.New(pools.Options{
		Client: c.client, Dynamic: c.dynamic, Metadata: c.metadata, Namespace: namespace, Now: c.date, Log: log, Changed: func(plan.Key) {},
		Holds: lease.NewStore(c.client, c.namespace, actor, plan.KindStatefulCluster),
	})
}

func (c *cluster) readPool(ctx context.Context, observer *pools.Observer, name string) (seen statefulCluster, err error) {
	o, err := c.statefulCluster(ctx, name)
	if err != nil {
		return seen, err
	}
	seen.status, seen.pauseReason = o.Status, o.Annotations[contract.PausedReasonAnnotation]
	if seen.Snapshot, err = observer.Live(ctx, c.pool(name)); err != nil {
		return seen, withStatefulClusterHint(err)
	}
	seen.Draw = newIdentity
	return seen, nil
}

// newIdentity stands for the identities that the operator draws, which are others than a reader would draw.
func newIdentity() pool.ID { return "<new>" }

// statefulCluster reads a StatefulCluster without its templates, of which any field may be one that this version does not
// know. If it does not exist, the error names those that do.
func (c *cluster) statefulCluster(ctx context.Context, name string) (*v1alpha1.StatefulCluster, error) {
	read, err := c.dynamic.Resource(pools.Resource).Namespace(c.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, c.unknownStatefulCluster(ctx, name)
	case err != nil:
		return nil, withStatefulClusterHint(fmt.Errorf("read StatefulCluster %s/%s: %w", c.namespace, name, err))
	}
	return objectWithoutTemplates(read)
}

// objectWithoutTemplates converts a StatefulCluster without its templates. It changes what was read.
func objectWithoutTemplates(read *unstructured.Unstructured) (*v1alpha1.StatefulCluster, error) {
	unstructured.RemoveNestedField(read.Object, "spec", "template")
	unstructured.RemoveNestedField(read.Object, "spec", "volumeClaimTemplates")
	o := &v1alpha1.StatefulCluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(read.Object, o); err != nil {
		return nil, fmt.Errorf("read StatefulCluster %s/%s: %w", read.GetNamespace(), read.GetName(), err)
	}
	return o, nil
}

// poolNames returns the StatefulClusters of the namespace, in natural order.
func (c *cluster) poolNames(ctx context.Context) ([]string, error) {
	list, err := c.dynamic.Resource(pools.Resource).Namespace(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, withStatefulClusterHint(fmt.Errorf("list StatefulClusters of %s: %w", c.namespace, err))
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	slices.SortFunc(names, plan.CompareNatural)
	return names, nil
}

// unknownStatefulCluster returns an error for a StatefulCluster that does not exist.
func (c *cluster) unknownStatefulCluster(ctx context.Context, name string) error {
	names, err := c.poolNames(ctx)
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		return fmt.Errorf("there is no StatefulCluster %q in namespace %q, and no other", name, c.namespace)
	}
	return fmt.Errorf("there is no StatefulCluster %q in namespace %q; accepted: %s", name, c.namespace, few(names))
}

// withStatefulClusterHint adds what is missing to an error: permissions, or the kind itself.
func withStatefulClusterHint(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return errors.New("the API server does not know StatefulClusters: install the CRD (docs/statefulcluster.md)")
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w\n(kubectl lockstep reads StatefulClusters, their revisions, pods, PersistentVolumeClaims and Leases of the namespace; docs/kubectl.md has a role)", err)
	}
	return err
}
