package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/cluster/pools"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// changePool changes a StatefulCluster as decide returns, and prints the result. It returns errWaits if it was not changed.
func (a *app) changePool(ctx context.Context, c *cluster, name string, decide func(*v1alpha1.StatefulCluster) (change, error)) error {
	o, err := c.statefulCluster(ctx, name)
	if err != nil {
		return err
	}
	done, err := c.poolTarget().change(ctx, o, decide)
	if err != nil {
		return fmt.Errorf("change StatefulCluster %s/%s: %w", c.namespace, name, err)
	}
	if err := a.say("statefulcluster.lockstep.dev/" + name + " " + done.message); err != nil || !done.unchanged {
		return err
	}
	return errWaits
}

func (c *cluster) poolTarget() target[*v1alpha1.StatefulCluster] {
	return target[*v1alpha1.StatefulCluster]{
		patch: func(ctx context.Context, name string, patch []byte) error {
			_, err := c.dynamic.Resource(pools.Resource).Namespace(c.namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: actor})
			return err
		},
		read: c.statefulCluster,
	}
}

func (a *app) restartStatefulCluster(ctx context.Context, c *cluster, name, zone string) error {
	if zone != "" {
		return errors.New("--zone has no effect on a StatefulCluster, which has no zones; accepted: restart statefulcluster/NAME")
	}
	return a.changePool(ctx, c, name, func(o *v1alpha1.StatefulCluster) (change, error) {
		return change{patch: restartPatch(a.now()), message: restarted(o, a.now())}, checkRestart(&o.Spec)
	})
}

// checkRestart returns an error if a new template restarts no pod.
func checkRestart(spec *v1alpha1.StatefulClusterSpec) error {
	switch strategy := &spec.UpdateStrategy; {
	case strategy.Type == "OnDelete":
		return errors.New("spec.updateStrategy.type is OnDelete, so only new pods get another template; accepted: RollingUpdate, or kubectl lockstep replace POD for each pod")
	case pool.PodUpdatePolicy(strategy.RollingUpdate.PodUpdatePolicy) == pool.InPlaceOnly:
		return fmt.Errorf("spec.updateStrategy.rollingUpdate.podUpdatePolicy is %s, and no pod restarts in place; accepted: %s or %s", pool.InPlaceOnly, pool.InPlaceIfPossible, pool.RecreateKeepIdentity)
	}
	return nil
}

// restarted describes what the restart of a StatefulCluster does.
func restarted(o *v1alpha1.StatefulCluster, now time.Time) string {
	text, rolling := "restarted", &o.Spec.UpdateStrategy.RollingUpdate
	if pool.PodUpdatePolicy(rolling.PodUpdatePolicy) == pool.Recreate {
		text += "; each pod is replaced by a new identity with new claims, because podUpdatePolicy is Recreate"
	}
	if p := rolling.Partition; p != nil && p.String() != "0" && p.String() != "0%" {
		text += "; the last pods stay as they are, because partition is " + p.String()
	}
	if _, paused := pausingOfPool(o, now); paused {
		text += "; pods restart once it is resumed (kubectl lockstep resume)"
	}
	return text
}
