package render

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// Compare returns how a pod differs from an earlier one. Both are JSON as the API server returns them, for the same
// identity. What it draws for each pod does not count.
func Compare(earlier, newest []byte) (pool.Change, error) {
	from, err := normalized(earlier)
	if err != nil {
		return pool.Change{}, err
	}
	to, err := normalized(newest)
	if err != nil {
		return pool.Change{}, err
	}
	before, after := images(from), images(to)
	change := pool.Change{
		From: before, Images: changed(before, after), Resources: changedResources(from, to),
		Labels: changes(from, to, "labels"), Annotations: changes(from, to, "annotations"),
	}
	for _, pod := range []object{from, to} {
		withoutImages(pod)
		withoutResources(pod, change.Resources)
	}
	samePod := reflect.DeepEqual(from["spec"], to["spec"]) && qualityOf(from) == qualityOf(to)
	nothing := len(change.Images)+len(change.Labels)+len(change.Annotations)+len(change.Resources) == 0
	change.Equal = samePod && nothing
	change.InPlace = samePod && !nothing && !readByEnvironment(to, change) && change.Annotations[contract.RestartedAtAnnotation] == nil
	return change, nil
}

// tokenVolume is the volume with the token of the service account. The API server draws its name for each pod.
var tokenVolume = regexp.MustCompile(`"kube-api-access-[a-z0-9]{5}"`)

// normalized returns a pod without what distinguishes it from others of its template.
func normalized(pod []byte) (object, error) {
	decoded, err := decode(tokenVolume.ReplaceAll(pod, []byte(`"kube-api-access"`)))
	if err != nil {
		return nil, fmt.Errorf("read pod: %w", err)
	}
	labels := child(child(decoded, "metadata"), "labels")
	delete(labels, contract.RevisionLabel)
	return decoded, nil
}

// images returns the images of the containers by their names.
func images(pod object) map[string]string {
	found := map[string]string{}
	for _, c := range containers(pod, "containers") {
		name, _ := c["name"].(string)
		image, _ := c["image"].(string)
		found[name] = image
	}
	return found
}

func withoutImages(pod object) {
	for _, c := range containers(pod, "containers") {
		delete(c, "image")
	}
}

func containers(pod object, field string) []object {
	var all []object
	for _, c := range list(child(pod, "spec")[field]) {
		if c, is := c.(object); is {
			all = append(all, c)
		}
	}
	return all
}

// changed returns the images of containers that have another one before. Containers that are new or gone make the pods
// differ anyway.
func changed(before, after map[string]string) map[string]string {
	maps.DeleteFunc(after, func(name, image string) bool { return before[name] == image })
	return after
}

// changes returns the labels or annotations that change; nil for those that are removed.
func changes(from, to object, field string) map[string]*string {
	before, after := texts(from, field), texts(to, field)
	found := map[string]*string{}
	for key, value := range after {
		if was, had := before[key]; !had || was != value {
			found[key] = &value
		}
	}
	for key := range before {
		if _, has := after[key]; !has {
			found[key] = nil
		}
	}
	return found
}

func texts(pod object, field string) map[string]string {
	found := map[string]string{}
	values, _ := child(pod, "metadata")[field].(object)
	for key, value := range values {
		found[key], _ = value.(string)
	}
	return found
}

// readByEnvironment reports whether a container has a changed label or annotation in its environment, which only a new
// pod gets.
func readByEnvironment(pod object, change pool.Change) bool {
	read := map[string]bool{}
	for _, c := range slices.Concat(containers(pod, "containers"), containers(pod, "initContainers")) {
		for _, variable := range list(c["env"]) {
			variable, _ := variable.(object)
			from, _ := variable["valueFrom"].(object)
			field, _ := from["fieldRef"].(object)
			if path, is := field["fieldPath"].(string); is {
				read[path] = true
			}
		}
	}
	for field, changed := range map[string]map[string]*string{"labels": change.Labels, "annotations": change.Annotations} {
		for key := range changed {
			if read[fmt.Sprintf("metadata.%s['%s']", field, key)] {
				return true
			}
		}
	}
	return false
}
