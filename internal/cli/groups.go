package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// groupNames returns the groups of a namespace, in natural order.
func (c *cluster) groupNames(ctx context.Context, namespace string) ([]string, error) {
	sets, err := c.client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{}) // a selector cannot select annotations
	if err != nil {
		return nil, withPermissionHint(fmt.Errorf("list StatefulSets of %s: %w", namespace, err))
	}
	var names []string
	for i := range sets.Items {
		if name, grouped := contract.Group(sets.Items[i].Labels, sets.Items[i].Annotations); grouped {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, plan.CompareNatural)
	return slices.Compact(names), nil
}

// unknownGroup returns an error for a group that does not exist. It names the existing groups.
func (c *cluster) unknownGroup(ctx context.Context, key plan.Key) error {
	names, err := c.groupNames(ctx, key.Namespace)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no group %q in namespace %q, and no other: no StatefulSet there has the label %s or the annotation %s", key.Name, key.Namespace, contract.GroupLabel, contract.RolloutGroupAnnotation)
	}
	return fmt.Errorf("there is no group %q in namespace %q; accepted: %s", key.Name, key.Namespace, few(names))
}

// few joins the first names and the number of the others.
func few(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}
