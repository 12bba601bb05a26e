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

// change is the planned change of a zone, and its description.
type change struct {
	patch     object // nil: no change
	message   string
	unchanged bool // the zone keeps its pause although the user wanted to change it
}

// changeZones changes zones one after the other, as decide returns, and prints each result. It
// returns errWaits if a zone was not changed.
func (a *app) changeZones(ctx context.Context, c *cluster, zones []appsv1.StatefulSet, decide func(*appsv1.StatefulSet) (change, error)) error {
	var unchanged error
	for i := range zones {
		done, err := c.patchZone(ctx, &zones[i], decide)
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

// patchZone patches the version of a zone that decide has seen. After a conflict it calls decide
// again.
func (c *cluster) patchZone(ctx context.Context, zone *appsv1.StatefulSet, decide func(*appsv1.StatefulSet) (change, error)) (change, error) {
	sets := c.client.AppsV1().StatefulSets(c.namespace)
	for left := attempts; ; left-- {
		next, err := decide(zone)
		if err != nil || next.patch == nil {
			return next, err
		}
		patch, err := patchOf(zone, next.patch)
		if err != nil {
			return next, err
		}
		_, err = sets.Patch(ctx, zone.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{FieldManager: actor})
		if !apierrors.IsConflict(err) || left == 1 {
			return next, err
		}
		if zone, err = sets.Get(ctx, zone.Name, metav1.GetOptions{}); err != nil {
			return next, err
		}
	}
}

// patchOf returns a patch with the resourceVersion of the zone as a precondition.
func patchOf(zone *appsv1.StatefulSet, patch object) ([]byte, error) {
	metadata, _ := patch["metadata"].(object)
	if metadata == nil {
		metadata = object{}
		patch["metadata"] = metadata
	}
	metadata["resourceVersion"] = zone.ResourceVersion
	return json.Marshal(patch)
}

// say prints a line.
func (a *app) say(text string) error {
	p := a.page()
	p.Line(screen.Text(text))
	return a.print(p)
}
