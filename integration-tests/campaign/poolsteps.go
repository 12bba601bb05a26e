package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// These are the kinds of steps of StatefulClusters in the table.
const (
	stepPoolImage    = "other image of a StatefulCluster"
	stepPoolCPU      = "other resources of a StatefulCluster"
	stepPoolMode     = "other environment of a StatefulCluster"
	stepPoolScale    = "scaling of a StatefulCluster"
	stepPoolEviction = "eviction of a pod of a StatefulCluster"
	stepPoolStop     = "updates of a StatefulCluster stopped"
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
	p.lastImage, p.imageAt, p.final.image = 2, at, 2
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

// addSurge allows one more pod during updates for half of the StatefulClusters that update by new identities. The updates of half of
// these stop for a while, which may leave more pods than are asked for. Its random source is separate, so the rest of a plan does not
// depend on it.
func (p *plan) addSurge(random *rand.Rand) {
	if !p.pool.recreates || random.IntN(2) == 0 {
		return
	}
	p.pool.surge = true
	if random.IntN(2) == 0 {
		p.lanes = append(p.lanes, p.pool.newStop(random))
	}
}

// newStop draws when updates stop, soon after the image has changed, and when they go on.
func (p *pool) newStop(random *rand.Rand) []step {
	at := p.imageAt + between(random, 100*time.Millisecond, 1500*time.Millisecond)
	return []step{
		p.amidSurge(p.updateBy(stepPoolStop, "OnDelete", at)),
		p.updateBy(stepRevert, "RollingUpdate", at+between(random, 2*time.Second, 6*time.Second)),
	}
}

// surgeComesWithin is how long a step waits for a surge.
const surgeComesWithin = 5 * time.Second

// amidSurge returns a step that waits until more pods exist than are asked for, or no surge has come.
func (p *pool) amidSurge(s step) step {
	apply := s.attemptFor
	s.attemptFor = func(t *trial) attempt {
		change, began := apply(t), time.Now()
		return func(ctx context.Context) error {
			object, err := t.env.dynamic.Resource(statefulClusters).Namespace(t.namespace).Get(ctx, p.name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			asked, _, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
			if pods := t.state.podsOfPool(); int64(len(pods)) <= asked && time.Since(began) < surgeComesWithin {
				return errors.Join(err, fmt.Errorf("there are %d pods, %d are asked for", len(pods), asked))
			}
			return change(ctx)
		}
	}
	return s
}

// updateBy changes when pods get another template.
func (p *pool) updateBy(kind, strategy string, at time.Duration) step {
	patch := map[string]any{"spec": map[string]any{"updateStrategy": map[string]any{"type": strategy}}}
	return p.patch(kind, fmt.Sprintf("StatefulCluster %s gets the update strategy %s", p.name, strategy), types.MergePatchType, patch, at)
}

// mainContainer is the path of the only container of the template.
const mainContainer = "/spec/template/spec/containers/0"

// operation is a part of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// replace changes a field of the only container of the template.
func (p *pool) replace(kind, field, value string, at time.Duration) step {
	return p.patchTemplate(kind, fmt.Sprintf("StatefulCluster %s gets %s %s", p.name, field, value), []operation{{"replace", mainContainer + field, value}}, at)
}

// patchTemplate changes templates of the pods and claims.
func (p *pool) patchTemplate(kind, what string, operations []operation, at time.Duration) step {
	return p.patch(kind, what, types.JSONPatchType, operations, at)
}

// scale changes the number of pods through the scale subresource, as autoscalers do.
func (p *pool) scale(to int, at time.Duration) step {
	patch := map[string]any{"spec": map[string]any{"replicas": to}}
	return p.patch(stepPoolScale, fmt.Sprintf("StatefulCluster %s is scaled to %d", p.name, to), types.MergePatchType, patch, at, "scale")
}

func (p *pool) patch(kind, what string, is types.PatchType, patch any, at time.Duration, subresources ...string) step {
	return step{
		what: what, kind: kind, at: at,
		attemptFor: func(t *trial) attempt {
			return func(ctx context.Context) error {
				text, err := json.Marshal(patch)
				if err != nil {
					return err
				}
				_, err = t.env.dynamic.Resource(statefulClusters).Namespace(t.namespace).Patch(ctx, p.name, is, text, metav1.PatchOptions{}, subresources...)
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
