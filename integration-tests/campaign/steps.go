package main

import (
	"context"
	"fmt"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// attempt asks once.
type attempt func(context.Context) error

// Kinds of steps, as the table names them.
const (
	stepRollout  = "rollout"
	stepUpscale  = "upscale"
	stepFollow   = "scaling by follow"
	stepShrink   = "downscale"
	stepEviction = "eviction"
)

// rolls gives all zones of a group another template.
func rolls(g group, version int, at time.Duration) step {
	return step{
		what: fmt.Sprintf("group %s gets version %d", g.name, version), kind: stepRollout, at: at,
		until: func(t *trial) attempt {
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

// scales asks for other replicas of a zone by its scale, as autoscalers do.
func scales(g group, zone int, to int32, at time.Duration) step {
	kind := stepUpscale
	switch {
	case g.follows:
		kind = stepFollow
	case to < g.replicas[zone]:
		kind = stepShrink
	}
	name := g.zone(zone)
	return step{
		what: fmt.Sprintf("%s is scaled from %d to %d", name, g.replicas[zone], to), kind: kind, at: at,
		until: func(t *trial) attempt {
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

// evicts asks for a pod to leave. One that does not exist has left.
func evicts(pod string, at time.Duration) step {
	return step{
		what: pod + " is evicted", kind: stepEviction, at: at,
		until: func(t *trial) attempt {
			return func(ctx context.Context) error {
				err := t.evict(ctx, pod, nil)
				if apierrors.IsNotFound(err) {
					return nil
				}
				return err
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
	// tryFor bounds one attempt.
	tryFor = 20 * time.Second
	// tryAgain is the pause between two.
	tryAgain = 250 * time.Millisecond
)

// insist asks until it is granted or ctx ends.
func insist(ctx context.Context, what string, try attempt) error {
	for {
		once, cancel := context.WithTimeout(ctx, tryFor)
		err := try(once)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; the last answer: %w", what, context.Cause(ctx), err)
		case <-time.After(tryAgain):
		}
	}
}
