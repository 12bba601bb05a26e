package contract

import "regexp"

// Group returns the group that a StatefulSet belongs to by its labels and annotations, and
// whether it belongs to one. The annotation lockstep.dev/rollout-group counts before the label
// rollout-group, since a chart may fix a label. If the annotation is no valid name, the label
// counts: a mistake must not take a zone out of its group. An ignored StatefulSet has no group.
func Group(labels, annotations map[string]string) (name string, grouped bool) {
	if Ignored(annotations) {
		return "", false
	}
	if name := annotations[RolloutGroupAnnotation]; groupName.MatchString(name) {
		return name, true
	}
	name, grouped = labels[GroupLabel]
	return name, grouped
}

// Ignored reports whether the annotation lockstep.dev/ignore is exactly true. lockstep treats
// such an object as if it had none of the labels and annotations of the contract.
func Ignored(annotations map[string]string) bool { return annotations[IgnoreAnnotation] == "true" }

// InvalidGroup returns the value of the annotation lockstep.dev/rollout-group, shortened, if it
// is not the name of a group.
func InvalidGroup(annotations map[string]string) string {
	name, present := annotations[RolloutGroupAnnotation]
	if !present || groupName.MatchString(name) {
		return ""
	}
	return shorten(name)
}

// groupName is the grammar of a label value that is not empty: whatever the annotation names,
// a label can name as well.
var groupName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
