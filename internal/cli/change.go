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

// object is a part of a document in JSON.
type object = map[string]any

// change is what becomes of a zone, and what is said of it.
type change struct {
	patch object // nil: nothing
	said  string
	stays bool // although something was to become of it
}

// changeZones changes one zone after the other by what decide makes of it, and says of
// each what was done. It ends with errWaits where a zone stays as it is.
func (a *app) changeZones(ctx context.Context, c *cluster, zones []appsv1.StatefulSet, decide func(*appsv1.StatefulSet) (change, error)) error {
	var stays error
	for i := range zones {
		done, err := c.amend(ctx, &zones[i], decide)
		if err != nil {
			return fmt.Errorf("change StatefulSet %s/%s: %w", c.namespace, zones[i].Name, err)
		}
		if done.stays {
			stays = errWaits
		}
		if err := a.say("statefulset.apps/" + zones[i].Name + " " + done.said); err != nil {
			return err
		}
	}
	return stays
}

// amend changes the very version of a zone that decide has judged. Where somebody else
// has written it meanwhile, decide judges it anew.
func (c *cluster) amend(ctx context.Context, zone *appsv1.StatefulSet, decide func(*appsv1.StatefulSet) (change, error)) (change, error) {
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

// patchOf returns a patch that fails where the zone is not as it was seen.
func patchOf(zone *appsv1.StatefulSet, patch object) ([]byte, error) {
	metadata, _ := patch["metadata"].(object)
	if metadata == nil {
		metadata = object{}
		patch["metadata"] = metadata
	}
	metadata["resourceVersion"] = zone.ResourceVersion
	return json.Marshal(patch)
}

// say writes one line.
func (a *app) say(text string) error {
	p := a.page()
	p.Line(screen.Text(text))
	return a.print(p)
}
