package apiserver_test

import (
	"fmt"
	"maps"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// atRest are the conditions of a StatefulCluster that has reached its goal.
var atRest = map[string]string{
	"Ready": "True", "Reconciling": "False", "Stalled": "False", "Available": "True", "SpecValid": "True", "Progressing": "True", "VolumesResizing": "False",
}

// hasConditions waits until the conditions are those at rest, except for some.
func (p pool) hasConditions(what string, except map[string]string) {
	p.t.Helper()
	want := maps.Clone(atRest)
	maps.Copy(want, except)
	p.eventually(what, func(present) error {
		o, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for kind, is := range want {
			if got := conditionOf(o, kind); got != is {
				return fmt.Errorf("%s is %q, want %q: %v", kind, got, is, list)
			}
		}
		return nil
	})
}

func TestStatefulClusterShowsItsStateAsConditions(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 3, map[string]any{"progressDeadlineSeconds": int64(3)})
	p.hasConditions("all pods are available", nil)

	p.updates(withContainer("db:broken", ""))
	p.hasConditions("an update makes no progress", map[string]string{"Ready": "False", "Stalled": "True", "Progressing": "False"})

	p.updates(withContainer("db:2", `, "ports": [{"containerPort": 99999}]`))
	p.hasConditions("the template cannot be used", map[string]string{"Ready": "False", "Stalled": "True", "SpecValid": "False"})

	p.updates(withContainer("db:2", `, "ports": null`))
	p.hasConditions("the update is complete", nil)

	p.updates(`{"spec": {"paused": true}}`)
	p.updates(withContainer("db:3", ""))
	p.hasConditions("updates are paused", map[string]string{"Ready": "False"})
}
