package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// These are the kinds of steps of StatefulClusters in the table.
const (
	stepPoolImage    = "other image of a StatefulCluster"
	stepPoolCPU      = "other resources of a StatefulCluster"
	stepPoolMode     = "other environment of a StatefulCluster"
	stepPoolScale    = "scaling of a StatefulCluster"
	stepPoolEviction = "eviction of a pod of a StatefulCluster"
)

// stepsOf draws the steps of a StatefulCluster.
func (p *pool) stepsOf(random *rand.Rand) [][]step {
	lanes := [][]step{p.newUpdates(random)}
	if random.IntN(3) > 0 {
		lanes = append(lanes, p.newScaling(random))
	}
	for range random.IntN(3) {
		lanes = append(lanes, []step{p.evict(random.IntN(p.replicas), between(random, 0, 8*time.Second))})
	}
	return lanes
}

// newUpdates draws another image, and often another environment or other resources.
func (p *pool) newUpdates(random *rand.Rand) []step {
	at := between(random, 0, 4*time.Second)
	p.final.image = 2
	steps := []step{p.replace(stepPoolImage, "/image", image(2), at)}
	if random.IntN(2) == 0 {
		at += between(random, 500*time.Millisecond, 3*time.Second)
		p.final.mode = "fast"
		steps = append(steps, p.replace(stepPoolMode, "/env/0/value", p.final.mode, at))
	}
	if random.IntN(2) == 0 {
		at += between(random, 500*time.Millisecond, 3*time.Second)
		p.final.cpu = "200m"
		steps = append(steps, p.replace(stepPoolCPU, "/resources/requests/cpu", p.final.cpu, at))
	}
	return steps
}

// newScaling draws one or two changes of the number of pods.
func (p *pool) newScaling(random *rand.Rand) []step {
	var steps []step
	at := time.Duration(0)
	for range 1 + random.IntN(2) {
		at += between(random, 0, 4*time.Second)
		to := 1 + random.IntN(5)
		steps = append(steps, p.scale(to, at))
		p.finalReplicas = to
	}
	return steps
}

// replace changes a field of the only container of the template.
func (p *pool) replace(kind, field, value string, at time.Duration) step {
	patch := fmt.Appendf(nil, `[{"op":"replace","path":"/spec/template/spec/containers/0%s","value":%q}]`, field, value)
	return p.patch(kind, fmt.Sprintf("StatefulCluster %s gets %s %s", p.name, field, value), types.JSONPatchType, patch, at)
}

// scale changes the number of pods through the scale subresource, as autoscalers do.
func (p *pool) scale(to int, at time.Duration) step {
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, to)
	return p.patch(stepPoolScale, fmt.Sprintf("StatefulCluster %s is scaled to %d", p.name, to), types.MergePatchType, patch, at, "scale")
}

func (p *pool) patch(kind, what string, is types.PatchType, patch []byte, at time.Duration, subresources ...string) step {
	return step{
		what: what, kind: kind, at: at,
		attemptFor: func(t *trial) attempt {
			return func(ctx context.Context) error {
				_, err := t.env.dynamic.Resource(statefulClusters).Namespace(t.namespace).Patch(ctx, p.name, is, patch, metav1.PatchOptions{}, subresources...)
				return err
			}
		},
	}
}

// evict evicts one of the pods. If that pod is gone before it is evicted, another one takes its place.
func (p *pool) evict(which int, at time.Duration) step {
	return step{
		what: fmt.Sprintf("serving pod number %d of StatefulCluster %s is evicted", which, p.name), kind: stepPoolEviction, at: at,
		attemptFor: func(t *trial) attempt {
			var chosen types.UID
			return func(ctx context.Context) error {
				pods := t.state.podsOfPool()
				for _, pod := range pods {
					if pod.UID == chosen && pod.DeletionTimestamp == nil {
						return t.evict(ctx, pod.Name, nil)
					}
				}
				serving := t.state.servingPodsOfPool()
				if len(serving) == 0 {
					return errors.New("no pod serves")
				}
				pod := serving[which%len(serving)]
				chosen = pod.UID
				return t.evict(ctx, pod.Name, nil)
			}
		},
	}
}
