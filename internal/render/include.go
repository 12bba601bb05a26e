package render

import (
	"reflect"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// Includes reports whether a pod that another controller created has everything that a rendered pod has: both are JSON as the
// API server returns them, each for its own identity. What lockstep adds to each pod, and what distinguishes pods of one
// template, does not count. The pod may have more, such as containers that admission has added.
func Includes(pod, rendered []byte) (bool, error) {
	found, err := normalized(pod)
	if err != nil {
		return false, err
	}
	wanted, err := normalized(rendered)
	if err != nil {
		return false, err
	}
	withoutIdentity(wanted)
	for _, field := range []string{"labels", "annotations"} {
		if !includes(child(child(found, "metadata"), field), child(child(wanted, "metadata"), field)) {
			return false, nil
		}
	}
	return includes(found["spec"], wanted["spec"]), nil
}

// withoutIdentity removes from a rendered pod what differs between pods of one template, and what only lockstep adds.
func withoutIdentity(pod object) {
	metadata, spec := child(pod, "metadata"), child(pod, "spec")
	labels := child(metadata, "labels")
	id, _ := labels[contract.InstanceIDLabel].(string)
	delete(labels, contract.PoolLabel)
	delete(labels, contract.InstanceIDLabel)
	if spec["hostname"] == metadata["name"] {
		delete(spec, "hostname")
	}
	for _, field := range []string{"schedulingGates", "readinessGates", "nodeName", "tolerations"} {
		delete(spec, field)
	}
	for _, v := range list(spec["volumes"]) {
		v, _ := v.(object)
		if claim, is := v["persistentVolumeClaim"].(object); is {
			if name, _ := claim["claimName"].(string); strings.HasSuffix(name, "-"+id) {
				delete(claim, "claimName")
			}
		}
	}
}

// includes reports whether a value has everything that another one has. Objects in lists may be in any order, and others may
// be among them.
func includes(found, wanted any) bool {
	switch wanted := wanted.(type) {
	case object:
		found, is := found.(object)
		if !is {
			return false
		}
		for field, value := range wanted {
			if has, is := found[field]; !is || !includes(has, value) {
				return false
			}
		}
		return true
	case []any:
		if found, is := found.([]any); is {
			return allIncluded(found, wanted)
		}
	}
	return reflect.DeepEqual(found, wanted)
}

func allIncluded(found, wanted []any) bool {
	isText := func(v any) bool { _, is := v.(object); return !is }
	if slices.ContainsFunc(wanted, isText) {
		return reflect.DeepEqual(found, wanted) // as arguments of a command, whose order counts
	}
	return !slices.ContainsFunc(wanted, func(element any) bool {
		return !slices.ContainsFunc(found, func(has any) bool { return includes(has, element) })
	})
}
