package cli

import (
	"context"
	"time"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
)

// pausePool pauses the updates of a StatefulCluster. An existing pause is kept unless both have the same reason, or overwrite
// is set.
func (a *app) pausePool(ctx context.Context, c *cluster, name, why string, lasts time.Duration, overwrite bool) error {
	return a.changePool(ctx, c, name, func(o *v1alpha1.StatefulCluster) (change, error) {
		now, err := c.atLeast.now()
		if err != nil {
			return change{}, err
		}
		wanted := pausingFor(why, lasts, now)
		before, paused := pausingOfPool(o, now)
		switch {
		case paused && before == wanted:
			return change{message: "is " + before.span() + " already"}, nil
		case paused && !overwrite && !wanted.replaces(before, why != ""):
			return before.stays(), nil
		}
		patch := object{"metadata": object{"annotations": wanted.annotations()}, "spec": object{"paused": true}}
		return change{patch: patch, message: wanted.span() + "; missing pods are still created"}, nil
	})
}

// resumePool ends the pause of a StatefulCluster, and removes what is left of a pause that is over. If a reason is named, only the
// pause for that reason ends.
func (a *app) resumePool(ctx context.Context, c *cluster, name, why string, named bool) error {
	return a.changePool(ctx, c, name, func(o *v1alpha1.StatefulCluster) (change, error) {
		now, err := c.atLeast.now()
		if err != nil {
			return change{}, err
		}
		p, paused := pausingOfPool(o, now)
		switch {
		case paused && named && why != p.reason:
			return p.goesOn(), nil
		case !marksPause(o) && p == (pausing{}):
			return change{message: "was not paused"}, nil
		}
		return change{patch: withoutPause(o), message: "resumed"}, nil
	})
}

// pausingOfPool returns the pause of a StatefulCluster. The second result is false if it is not paused, or the pause is over.
func pausingOfPool(o *v1alpha1.StatefulCluster, now time.Time) (pausing, bool) {
	return pausingIn(o.Annotations, marksPause(o), now)
}

// marksPause reports whether a field of the spec pauses updates.
func marksPause(o *v1alpha1.StatefulCluster) bool {
	return o.Spec.Paused || o.Spec.UpdateStrategy.RollingUpdate.Paused
}

// withoutPause returns a patch that removes both fields that pause a StatefulCluster, and the end and the reason of its pause.
func withoutPause(o *v1alpha1.StatefulCluster) object {
	patch, spec := object{"metadata": object{"annotations": pausing{}.annotations()}}, object{}
	if o.Spec.Paused {
		spec["paused"] = nil
	}
	if o.Spec.UpdateStrategy.RollingUpdate.Paused {
		spec["updateStrategy"] = object{"rollingUpdate": object{"paused": nil}}
	}
	if len(spec) > 0 {
		patch["spec"] = spec
	}
	return patch
}
