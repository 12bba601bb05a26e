package act

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// change is a patch of a pod or a claim, which applies only to the object with this UID and version.
type change struct {
	Metadata changedMetadata `json:"metadata"`
	Spec     *changedSpec    `json:"spec,omitempty"`
	Status   *changedStatus  `json:"status,omitempty"`
}

type changedMetadata struct {
	UID             string             `json:"uid"`
	ResourceVersion string             `json:"resourceVersion"`
	Labels          map[string]*string `json:"labels,omitempty"`      // nil removes one
	Annotations     map[string]*string `json:"annotations,omitempty"` // nil removes one
}

type changedSpec struct {
	Containers []changedContainer `json:"containers"`
}

type changedContainer struct {
	Name      string       `json:"name"`
	Image     string       `json:"image,omitempty"`
	Resources *requirement `json:"resources,omitempty"`
}

func jsonOf(it any) []byte {
	text, err := json.Marshal(it)
	if err != nil {
		panic(fmt.Sprintf("encode: %v", err)) // texts and numbers can always be encoded
	}
	return text
}

// updateInPlace changes exactly the pod that was evaluated, by one patch. The pod says what was changed, so that every
// process can tell when the update is complete.
func (e *Executor) updateInPlace(ctx context.Context, s *pool.Snapshot, a pool.UpdateInPlace) error {
	update := string(jsonOf(contract.InPlaceUpdate{
		Revision: a.Revision, Version: a.Of.Version.String(), Since: e.now(), Restarts: a.Restarts,
	}))
	c := change{Metadata: changedMetadata{
		UID: a.Of.UID, ResourceVersion: a.Of.Version.String(),
		Labels:      with(a.Change.Labels, contract.RevisionLabel, a.Revision),
		Annotations: with(a.Change.Annotations, contract.InPlaceUpdateAnnotation, update),
	}}
	if len(a.Change.Images) > 0 {
		c.Spec = &changedSpec{}
		for _, name := range containersOf(s, a.Of.Pod) {
			if image, changes := a.Change.Images[name]; changes {
				c.Spec.Containers = append(c.Spec.Containers, changedContainer{Name: name, Image: image})
			}
		}
	}
	err := e.changePod(ctx, s, a.Of.Pod, "update", c)
	if apierrors.IsInvalid(err) || isForbiddenForGood(err) { // a policy forbids it, so it is impossible in place
		e.Checks.Compared(s.Key, a.Revision, a.From, pool.Change{})
	}
	return err
}

// containersOf returns the names of the containers of a pod in their order. A patch that has them in another order would change
// the order, which the API server refuses.
func containersOf(s *pool.Snapshot, pod string) []string {
	var names []string
	for i := range s.Pods {
		if s.Pods[i].Name != pod {
			continue
		}
		for _, c := range s.Pods[i].Containers {
			names = append(names, c.Name)
		}
	}
	return names
}

// relabelPod gives a pod the label of the newest revision.
func (e *Executor) relabelPod(ctx context.Context, s *pool.Snapshot, a pool.RelabelPod) error {
	return e.changePod(ctx, s, a.Pod, "relabel", change{Metadata: changedMetadata{
		UID: a.UID, ResourceVersion: a.Version.String(), Labels: with(nil, contract.RevisionLabel, a.Revision),
	}})
}

// changePod patches a pod, or a subresource of it.
func (e *Executor) changePod(ctx context.Context, s *pool.Snapshot, name, what string, c change, subresource ...string) error {
	changed, err := e.Client.CoreV1().Pods(s.Key.Namespace).Patch(ctx, name, types.StrategicMergePatchType, jsonOf(c), metav1.PatchOptions{}, subresource...)
	if err != nil {
		return fmt.Errorf("%s pod %s/%s: %w", what, s.Key.Namespace, name, classify(err))
	}
	e.podReached(s.Key, changed)
	const label = contract.RevisionLabel
	if revision := c.Metadata.Labels[label]; revision != nil && changed.Labels[label] != *revision { // it would be written all the time
		return prevented("%s pod %s/%s: something changes its label %s%s", what, s.Key.Namespace, name, label, correctIt)
	}
	return nil
}

// with returns texts with one more.
func with(texts map[string]*string, key, value string) map[string]*string {
	next := map[string]*string{key: &value}
	for k, v := range texts {
		if k != key {
			next[k] = v
		}
	}
	return next
}
