package kubectl

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// zones returns the zones that an argument names: those of a group, and its name, or a
// single one.
func (c *cluster) zones(ctx context.Context, argument string) (zones []appsv1.StatefulSet, group string, err error) {
	kind, name, err := subject(argument, groupKind, zoneKind)
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

// zone returns the one of that name.
func (c *cluster) zone(ctx context.Context, name, kind string) (appsv1.StatefulSet, error) {
	set, err := c.client.AppsV1().StatefulSets(c.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && kind == zoneKind:
		return appsv1.StatefulSet{}, fmt.Errorf("there is no StatefulSet %q in namespace %q", name, c.namespace)
	case apierrors.IsNotFound(err):
		return appsv1.StatefulSet{}, fmt.Errorf("there is no StatefulSet %q either: %w", name, c.unknownGroup(ctx, c.group(name)))
	case err != nil:
		return appsv1.StatefulSet{}, allowed(fmt.Errorf("read StatefulSet %s/%s: %w", c.namespace, name, err))
	}
	if _, grouped := set.Labels[contract.GroupLabel]; !grouped {
		return appsv1.StatefulSet{}, fmt.Errorf("StatefulSet %q has no label %s, so it is not a zone of a group", name, contract.GroupLabel)
	}
	return *set, nil
}

// zonesOf returns the zones of a group in natural order.
func (c *cluster) zonesOf(ctx context.Context, group string) ([]appsv1.StatefulSet, error) {
	inGroup, err := labels.NewRequirement(contract.GroupLabel, selection.Equals, []string{group})
	if err != nil {
		return nil, nil //nolint:nilerr // what cannot be the value of a label is no group
	}
	sets, err := c.client.AppsV1().StatefulSets(c.namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.NewSelector().Add(*inGroup).String()})
	if err != nil {
		return nil, allowed(fmt.Errorf("list StatefulSets of %s: %w", c.namespace, err))
	}
	slices.SortFunc(sets.Items, func(a, b appsv1.StatefulSet) int { return plan.CompareNatural(a.Name, b.Name) })
	return sets.Items, nil
}

func namesOf(zones []appsv1.StatefulSet) []string {
	names := make([]string, len(zones))
	for i := range zones {
		names[i] = zones[i].Name
	}
	return names
}
