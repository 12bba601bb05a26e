package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/contract"
)

// conversion is that of a manifest to a StatefulCluster. It changes nothing that it does not know.
type conversion struct {
	from    map[string]any
	remarks []string // what is left out, and why
}

// mostOfName is the longest name of a StatefulCluster: the name of a pod is a host name.
const mostOfName = 46

// mostPods is the highest number of pods of a StatefulCluster.
const mostPods = 10000

func (c *conversion) isConvertible() bool { return c.isStatefulSet() || c.isOriginal() }

func (c *conversion) isStatefulSet() bool {
	return c.from["kind"] == "StatefulSet" && strings.HasPrefix(textAt(c.from, "apiVersion"), "apps/")
}

func (c *conversion) isOriginal() bool {
	return c.from["kind"] == "StatefulCluster" && strings.HasPrefix(textAt(c.from, "apiVersion"), "enge.me/")
}

// name returns how messages name the object.
func (c *conversion) name() string {
	kind, name := textAt(c.from, "kind"), textAt(objectAt(c.from, "metadata"), "name")
	if kind == "" || name == "" {
		return "a document without kind or metadata.name"
	}
	return kind + " " + name
}

// statefulCluster returns the StatefulCluster that takes the object over.
func (c *conversion) statefulCluster() (map[string]any, error) {
	metadata, spec := objectAt(c.from, "metadata"), maps.Clone(objectAt(c.from, "spec"))
	switch name := textAt(metadata, "name"); {
	case name == "":
		return nil, errors.New("it has no metadata.name")
	case len(name) > mostOfName:
		return nil, fmt.Errorf("its name has %d characters, and that of a StatefulCluster has at most %d, because the name of a pod is a host name", len(name), mostOfName)
	case len(spec) == 0:
		return nil, errors.New("it has no spec")
	}
	if _, orders := spec["ordinals"]; orders {
		delete(spec, "ordinals")
		c.leftOut("spec.ordinals", "pods have no ordinals")
	}
	if c.isStatefulSet() {
		c.withoutOrder(spec)
		c.onlyKnown(spec)
	}
	withoutHugePartition(spec)
	if templates, has := spec["volumeClaimTemplates"].([]any); has {
		spec["volumeClaimTemplates"] = claimTemplatesOf(templates)
	}
	if template := objectAt(spec, "template"); template != nil {
		spec["template"] = map[string]any{"metadata": withoutServerFields(objectAt(template, "metadata")), "spec": template["spec"]}
	}
	return map[string]any{
		"apiVersion": v1alpha1.GroupName + "/v1alpha1", "kind": "StatefulCluster", "metadata": c.metadata(metadata), "spec": spec,
	}, nil
}

func (c *conversion) leftOut(what, because string) {
	c.remarks = append(c.remarks, what+" is left out: "+because)
}

// metadata returns the name, the namespace, the labels and the annotations, and asks to adopt pods.
func (c *conversion) metadata(from map[string]any) map[string]any {
	to := map[string]any{"name": from["name"]}
	if namespace, has := from["namespace"]; has {
		to["namespace"] = namespace
	}
	if labels := maps.Clone(objectAt(from, "labels")); len(labels) > 0 {
		if _, has := labels[contract.GroupLabel]; has {
			delete(labels, contract.GroupLabel)
			c.leftOut("label "+contract.GroupLabel, "a StatefulCluster is no zone of a group")
		}
		to["labels"] = labels
	}
	annotations := map[string]any{}
	for key, value := range objectAt(from, "annotations") {
		if key != "kubectl.kubernetes.io/last-applied-configuration" {
			annotations[key] = value
		}
	}
	annotations[contract.AdoptAnnotation] = "true"
	to["annotations"] = annotations
	return to
}

// withoutOrder leaves out how a StatefulSet orders its pods.
func (c *conversion) withoutOrder(spec map[string]any) {
	if spec["podManagementPolicy"] != "Parallel" {
		c.leftOut("podManagementPolicy OrderedReady", "missing pods are created all at once; write it again if they must be created one at a time")
	}
	delete(spec, "podManagementPolicy")
}

// ofStatefulSets are the fields of the specification that both kinds have.
var ofStatefulSets = []string{
	"replicas", "selector", "template", "volumeClaimTemplates", "serviceName", "minReadySeconds", "revisionHistoryLimit", "updateStrategy",
	"persistentVolumeClaimRetentionPolicy",
}

func (c *conversion) onlyKnown(spec map[string]any) {
	for _, field := range slices.Sorted(maps.Keys(spec)) {
		if !slices.Contains(ofStatefulSets, field) {
			delete(spec, field)
			c.leftOut("spec."+field, "a StatefulCluster has no such field")
		}
	}
}

// withoutHugePartition writes a partition that holds all pods back as 100%.
func withoutHugePartition(spec map[string]any) {
	strategy := maps.Clone(objectAt(spec, "updateStrategy"))
	rolling := maps.Clone(objectAt(strategy, "rollingUpdate"))
	number, isNumber := rolling["partition"].(json.Number)
	if n, err := number.Int64(); isNumber && (err != nil || n > mostPods) {
		rolling["partition"] = "100%"
		strategy["rollingUpdate"] = rolling
		spec["updateStrategy"] = strategy
	}
}

// claimTemplatesOf returns claim templates without what the API server has added.
func claimTemplatesOf(templates []any) []any {
	converted := make([]any, 0, len(templates))
	for _, t := range templates {
		if template, is := t.(map[string]any); is {
			converted = append(converted, map[string]any{"metadata": withoutServerFields(objectAt(template, "metadata")), "spec": template["spec"]})
		}
	}
	return converted
}

func withoutServerFields(metadata map[string]any) map[string]any {
	kept := map[string]any{}
	for _, field := range []string{"name", "labels", "annotations"} {
		if value, has := metadata[field]; has {
			kept[field] = value
		}
	}
	return kept
}

// objectAt returns the object of that name; nil if there is none.
func objectAt(in map[string]any, name string) map[string]any {
	object, _ := in[name].(map[string]any)
	return object
}

// textAt returns the text of that name; empty if there is none.
func textAt(in map[string]any, name string) string {
	text, _ := in[name].(string)
	return text
}
