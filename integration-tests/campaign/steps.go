package main

import (
	"context"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// attempt is one attempt of a change.
type attempt func(context.Context) error

// These are the kinds of steps in the table.
const (
	stepRollout   = "rollout"
	stepUpscale   = "upscale"
	stepFollow    = "scaling by follow"
	stepDownscale = "downscale"
	stepRaise     = "upscale beside evictions"
	stepEviction  = "eviction"
	stepAdded     = "eviction of a pod that was just added"
	stepBeside    = "eviction beside a pod that was just added"
	stepPause     = "pause of a zone"
	stepStrategy  = "other update strategy"
	stepRevert    = "" // reverts another step
)

// rollout changes the template of all zones of a group.
func rollout(g group, version int, at time.Duration) step {
	return step{
		what: fmt.Sprintf("group %s gets version %d", g.name, version), kind: stepRollout, at: at,
		attemptFor: func(t *trial) attempt {
			done := 0
			return func(ctx context.Context) error {
				for ; done < len(g.replicas); done++ {
					if err := t.setVersion(ctx, g.zone(done), version); err != nil {
						return err
					}
				}
				return nil
			}
		},
	}
}

func (t *trial) setVersion(ctx context.Context, zone string, version int) error {
	sets := t.client.AppsV1().StatefulSets(t.namespace)
	set, err := sets.Get(ctx, zone, metav1.GetOptions{})
	if err != nil {
		return err
	}
	set.Spec.Template.Spec.Containers[0].Image = image(version)
	_, err = sets.Update(ctx, set, metav1.UpdateOptions{})
	return err
}

// scale changes the replicas of a zone through the scale subresource, as autoscalers do.
func scale(g group, zone int, to int32, at time.Duration) step {
	kind := stepUpscale
	switch {
	case g.hasLeader:
		kind = stepFollow
	case to < g.replicas[zone]:
		kind = stepDownscale
	}
	name := g.zone(zone)
	return step{
		what: fmt.Sprintf("%s is scaled from %d to %d", name, g.replicas[zone], to), kind: kind, at: at,
		attemptFor: func(t *trial) attempt {
			return func(ctx context.Context) error {
				scale := &autoscalingv1.Scale{
					ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: name}, Spec: autoscalingv1.ScaleSpec{Replicas: to},
				}
				_, err := t.client.AppsV1().StatefulSets(t.namespace).UpdateScale(ctx, name, scale, metav1.UpdateOptions{})
				return err
			}
		},
	}
}

// pause pauses a zone; resume ends the pause.
func pause(zone string, at time.Duration) step {
	return patchZone(zone, stepPause, "is paused", `{"metadata":{"annotations":{"grafana.com/rollout-paused":"true"}}}`, at)
}

func resume(zone string, at time.Duration) step {
	return patchZone(zone, stepRevert, "goes on", `{"metadata":{"annotations":{"grafana.com/rollout-paused":null}}}`, at)
}

// useRollingUpdate gives the updates of a zone to the StatefulSet controller with a partition that
// replaces nothing; useOnDelete gives them back to lockstep.
func useRollingUpdate(zone string, at time.Duration) step {
	return patchZone(zone, stepStrategy, "is no longer OnDelete",
		`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1000}}}}`, at)
}

func useOnDelete(zone string, at time.Duration) step {
	return patchZone(zone, stepRevert, "is OnDelete again", `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`, at)
}

func patchZone(zone, kind, what, patch string, at time.Duration) step {
	return step{
		what: zone + " " + what, kind: kind, at: at,
		attemptFor: func(t *trial) attempt {
			return func(ctx context.Context) error {
				_, err := t.client.AppsV1().StatefulSets(t.namespace).Patch(ctx, zone, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				return err
			}
		},
	}
}

// evict evicts a pod. If no pod has the name, it waits for the next one.
func evict(pod string, at time.Duration) step {
	return step{
		what: pod + " is evicted", kind: stepEviction, at: at,
		attemptFor: func(t *trial) attempt {
			return func(ctx context.Context) error {
				return t.evict(ctx, pod, nil)
			}
		},
	}
}

func (t *trial) evict(ctx context.Context, pod string, options *metav1.DeleteOptions) error {
	return t.client.PolicyV1().Evictions(t.namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: pod}, DeleteOptions: options,
	})
}

const (
	// attemptTimeout limits one attempt.
	attemptTimeout = 20 * time.Second
	// retryInterval is the pause between two attempts.
	retryInterval = 250 * time.Millisecond
)

// retry repeats an attempt until it succeeds or ctx ends.
func retry(ctx context.Context, what string, try attempt) error {
	for {
		once, cancel := context.WithTimeout(ctx, attemptTimeout)
		err := try(once)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; the last answer: %w", what, context.Cause(ctx), err)
		case <-time.After(retryInterval):
		}
	}
}
