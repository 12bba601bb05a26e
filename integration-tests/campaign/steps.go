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

// attempt asks once.
type attempt func(context.Context) error

// Kinds of steps, as the table names them.
const (
	stepRollout  = "rollout"
	stepUpscale  = "upscale"
	stepFollow   = "scaling by follow"
	stepShrink   = "downscale"
	stepRaise    = "upscale beside evictions"
	stepEviction = "eviction"
	stepAdded    = "eviction of a pod that was just added"
	stepBeside   = "eviction beside a pod that was just added"
	stepPause    = "pause of a zone"
	stepStrategy = "other update strategy"
	stepBack     = "" // takes back what another one asked for
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

// pauses pauses a zone, and resumes lets it go on.
func pauses(zone string, at time.Duration) step {
	return patches(zone, stepPause, "is paused", `{"metadata":{"annotations":{"grafana.com/rollout-paused":"true"}}}`, at)
}

func resumes(zone string, at time.Duration) step {
	return patches(zone, stepBack, "goes on", `{"metadata":{"annotations":{"grafana.com/rollout-paused":null}}}`, at)
}

// takesOver makes a zone's updates somebody else's business, who replaces nothing, and
// givesBack makes them lockstep's again.
func takesOver(zone string, at time.Duration) step {
	return patches(zone, stepStrategy, "is no longer OnDelete",
		`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1000}}}}`, at)
}

func givesBack(zone string, at time.Duration) step {
	return patches(zone, stepBack, "is OnDelete again", `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`, at)
}

func patches(zone, kind, what, patch string, at time.Duration) step {
	return step{
		what: zone + " " + what, kind: kind, at: at,
		until: func(t *trial) attempt {
			return func(ctx context.Context) error {
				_, err := t.client.AppsV1().StatefulSets(t.namespace).Patch(ctx, zone, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
				return err
			}
		},
	}
}

// evicts asks for a pod to leave. Where there is none of the name, the next one is
// waited for.
func evicts(pod string, at time.Duration) step {
	return step{
		what: pod + " is evicted", kind: stepEviction, at: at,
		until: func(t *trial) attempt {
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
