package cli

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// zones returns the zones that an argument names: the zones of a group, with its name, or a
// single zone.
func (c *cluster) zones(ctx context.Context, argument string) (zones []appsv1.StatefulSet, group string, err error) {
	kind, name, err := subject(argument, groupKind, zoneKind, statefulClusterKind) // the last one never gets here
	if err != nil {
		return nil, "", err
	}
	if kind != zoneKind {
		zones, err := c.zonesOf(ctx, name)
		if err != nil || len(zones) > 0 {
			return zones, name, err
		}
	}
	if kind == groupKind {
		return nil, "", c.unknownGroup(ctx, c.group(name))
	}
	zone, err := c.zone(ctx, name, kind)
	return []appsv1.StatefulSet{zone}, "", err
}

// zone returns the zone with this name.
func (c *cluster) zone(ctx context.Context, name, kind string) (appsv1.StatefulSet, error) {
	set, err := c.client.AppsV1().StatefulSets(c.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && kind == zoneKind:
		return appsv1.StatefulSet{}, fmt.Errorf("there is no StatefulSet %q in namespace %q", name, c.namespace)
	case apierrors.IsNotFound(err):
		return appsv1.StatefulSet{}, fmt.Errorf("there is no StatefulSet %q either: %w", name, c.unknownGroup(ctx, c.group(name)))
	case err != nil:
		return appsv1.StatefulSet{}, withPermissionHint(fmt.Errorf("read StatefulSet %s/%s: %w", c.namespace, name, err))
	}
	if _, grouped := contract.Group(set.Labels, set.Annotations); !grouped {
		return appsv1.StatefulSet{}, fmt.Errorf("StatefulSet %q is not a zone of a group: %s", name, whyNoGroup(set))
	}
	return *set, nil
}

// whyNoGroup returns why a StatefulSet belongs to no group.
func whyNoGroup(set *appsv1.StatefulSet) string {
	if contract.Ignored(set.Annotations) {
		return "its annotation " + contract.IgnoreAnnotation + " is true"
	}
	if name := contract.InvalidGroup(set.Annotations); name != "" {
		return fmt.Sprintf("its annotation %s is %s, which is not the name of a group, and it has no label %s", contract.RolloutGroupAnnotation, name, contract.GroupLabel)
	}
	return fmt.Sprintf("it has neither the label %s nor the annotation %s", contract.GroupLabel, contract.RolloutGroupAnnotation)
}

// zonesOf returns the zones of a group in natural order.
func (c *cluster) zonesOf(ctx context.Context, group string) ([]appsv1.StatefulSet, error) {
	sets, err := c.client.AppsV1().StatefulSets(c.namespace).List(ctx, metav1.ListOptions{}) // a selector cannot select annotations
	if err != nil {
		return nil, withPermissionHint(fmt.Errorf("list StatefulSets of %s: %w", c.namespace, err))
	}
	zones := slices.DeleteFunc(sets.Items, func(set appsv1.StatefulSet) bool {
		name, grouped := contract.Group(set.Labels, set.Annotations)
		return !grouped || name != group
	})
	slices.SortFunc(zones, func(a, b appsv1.StatefulSet) int { return plan.CompareNatural(a.Name, b.Name) })
	return zones, nil
}

func namesOf(zones []appsv1.StatefulSet) []string {
	names := make([]string, len(zones))
	for i := range zones {
		names[i] = zones[i].Name
	}
	return names
}
