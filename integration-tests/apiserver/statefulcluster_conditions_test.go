package apiserver_test

import (
	"fmt"
	"maps"
	"strings"
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

func TestStatefulClusterShowsRemarksInItsStatus(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, nil)
	p.settles(2)
	remarks := func(want ...string) {
		t.Helper()
		p.eventually(fmt.Sprintf("SpecValid says %q", want), func(present) error {
			o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
			if err != nil {
				return err
			}
			valid := conditionNamed(o, "SpecValid")
			for _, text := range want {
				if message, _ := valid["message"].(string); valid["status"] != "True" || !strings.Contains(message, text) {
					return fmt.Errorf("%v", valid)
				}
			}
			return nil
		})
	}
	p.updates(`{"metadata": {"labels": {"rollout-group": "db"}, "annotations": {"lockstep.dev/paused-until": "tomorrow"}}, "spec": {"updateStrategy": {"rollingUpdate": {"inPlace": {"gracePeriodSeconds": 1}}}}}`)
	remarks("label rollout-group has no effect", "lockstep.dev/paused-until has no effect without spec.paused", "2 of 2 pods")
	p.updates(`{"spec": {"paused": true}}`)
	remarks("the pause does not end by itself", "label rollout-group has no effect")
	p.updates(`{"metadata": {"labels": {"rollout-group": null}, "annotations": {"lockstep.dev/paused-until": null}}, "spec": {"paused": null, "updateStrategy": null}}`)
	remarks("the API server accepts the pod template")
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
