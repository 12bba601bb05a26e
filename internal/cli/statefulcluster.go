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
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/cluster/pools"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// statefulCluster is a StatefulCluster as the API server shows it: its objects, and the status that the operator wrote.
type statefulCluster struct {
	pool.Snapshot
	status v1alpha1.StatefulClusterStatus
}

// readStatefulCluster reads a StatefulCluster live, once. It reads no nodes, because most users may not.
func (c *cluster) readStatefulCluster(ctx context.Context, name string) (statefulCluster, error) {
	log := logrus.New()
	log.Out = io.Discard
	observer, err := pools.New(pools.Options{
		Client: c.client, Dynamic: c.dynamic, Metadata: c.metadata, Namespace: c.namespace, Now: c.date, Log: log, Changed: func(plan.Key) {},
		Holds: lease.NewStore(c.client, c.namespace, actor, plan.KindStatefulCluster),
	})
	if err != nil {
		return statefulCluster{}, err
	}
	seen := statefulCluster{}
	if seen.status, err = c.statusOf(ctx, name); err != nil {
		return seen, err
	}
	if seen.Snapshot, err = observer.Live(ctx, pools.KeyOf(c.namespace, name)); err != nil {
		return seen, withStatefulClusterHint(err)
	}
	return seen, nil
}

// statusOf returns the status of a StatefulCluster. If it does not exist, the error names those that do.
func (c *cluster) statusOf(ctx context.Context, name string) (status v1alpha1.StatefulClusterStatus, err error) {
	object, err := c.dynamic.Resource(pools.Resource).Namespace(c.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return status, c.unknownStatefulCluster(ctx, name)
	case err != nil:
		return status, withStatefulClusterHint(fmt.Errorf("read StatefulCluster %s/%s: %w", c.namespace, name, err))
	}
	var read v1alpha1.StatefulCluster
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": object.Object["status"]}, &read); err != nil {
		return status, fmt.Errorf("read the status of StatefulCluster %s/%s: %w", c.namespace, name, err)
	}
	return read.Status, nil
}

// unknownStatefulCluster returns an error for a StatefulCluster that does not exist.
func (c *cluster) unknownStatefulCluster(ctx context.Context, name string) error {
	list, err := c.dynamic.Resource(pools.Resource).Namespace(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return withStatefulClusterHint(fmt.Errorf("list StatefulClusters of %s: %w", c.namespace, err))
	}
	if len(list.Items) == 0 {
		return fmt.Errorf("there is no StatefulCluster %q in namespace %q, and no other", name, c.namespace)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].GetName())
	}
	slices.SortFunc(names, plan.CompareNatural)
	return fmt.Errorf("there is no StatefulCluster %q in namespace %q; accepted: %s", name, c.namespace, few(names))
}

// withStatefulClusterHint adds what is missing to an error: permissions, or the kind itself.
func withStatefulClusterHint(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		return errors.New("the API server does not know StatefulClusters: install the CRD (docs/statefulcluster.md)")
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w\n(kubectl lockstep reads StatefulClusters, pods, PersistentVolumeClaims and Leases of the namespace; docs/kubectl.md has a role)", err)
	}
	return err
}
