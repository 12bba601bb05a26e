package cli

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
)

// object is a JSON object.
type object = map[string]any

// change is the planned change of an object, and its description.
type change struct {
	patch     object // nil: no change
	message   string
	unchanged bool // the zone keeps its pause although the user wanted to change it
}

// target is how objects of one kind are patched and read.
type target[O metav1.Object] struct {
	patch func(ctx context.Context, name string, patch []byte) error
	read  func(ctx context.Context, name string) (O, error)
}

// change patches the version of an object that decide has seen. After a conflict it calls decide again.
func (t target[O]) change(ctx context.Context, o O, decide func(O) (change, error)) (change, error) {
	for left := attempts; ; left-- {
		next, err := decide(o)
		if err != nil || next.patch == nil {
			return next, err
		}
		patch, err := patchOf(o, next.patch)
		if err != nil {
			return next, err
		}
		err = t.patch(ctx, o.GetName(), patch)
		if !apierrors.IsConflict(err) || left == 1 {
			return next, err
		}
		if o, err = t.read(ctx, o.GetName()); err != nil {
			return next, err
		}
	}
}

// changeZones changes zones one after the other, as decide returns, and prints each result. It
// returns errWaits if a zone was not changed.
func (a *app) changeZones(ctx context.Context, c *cluster, zones []appsv1.StatefulSet, decide func(*appsv1.StatefulSet) (change, error)) error {
	var unchanged error
	for i := range zones {
		done, err := c.zoneTarget().change(ctx, &zones[i], decide)
		if err != nil {
			return fmt.Errorf("change StatefulSet %s/%s: %w", c.namespace, zones[i].Name, err)
		}
		if done.unchanged {
			unchanged = errWaits
		}
		if err := a.say("statefulset.apps/" + zones[i].Name + " " + done.message); err != nil {
			return err
		}
	}
	return unchanged
}

func (c *cluster) zoneTarget() target[*appsv1.StatefulSet] {
	sets := c.client.AppsV1().StatefulSets(c.namespace)
	return target[*appsv1.StatefulSet]{
		patch: func(ctx context.Context, name string, patch []byte) error {
			_, err := sets.Patch(ctx, name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: actor})
			return err
		},
		read: func(ctx context.Context, name string) (*appsv1.StatefulSet, error) {
			return sets.Get(ctx, name, metav1.GetOptions{})
		},
	}
}

// patchOf returns a patch with the resourceVersion of the object as a precondition.
func patchOf(o metav1.Object, patch object) ([]byte, error) {
	metadata, _ := patch["metadata"].(object)
	if metadata == nil {
		metadata = object{}
		patch["metadata"] = metadata
	}
	metadata["resourceVersion"] = o.GetResourceVersion()
	return json.Marshal(patch)
}

// say prints a line.
func (a *app) say(text string) error {
	p := a.page()
	p.Line(screen.Text(text))
	return a.print(p)
}
