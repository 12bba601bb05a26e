package contract

import "regexp"

// Group returns the group to which a StatefulSet belongs by its labels and annotations, and whether it
// belongs to one. The annotation lockstep.dev/rollout-group takes precedence over the label rollout-group,
// because a chart may prevent a change of the label. If the annotation is not a valid name, the label counts,
// so that a mistake does not remove a zone from its group. An ignored StatefulSet has no group.
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

// Ignored reports whether the annotation lockstep.dev/ignore is exactly "true". lockstep treats such an
// object as if it had no other label or annotation of the contract.
func Ignored(annotations map[string]string) bool { return annotations[IgnoreAnnotation] == "true" }

// InvalidGroup returns the value of the annotation lockstep.dev/rollout-group, shortened, if it is not a
// valid name of a group, and otherwise "".
func InvalidGroup(annotations map[string]string) string {
	name, present := annotations[RolloutGroupAnnotation]
	if !present || groupName.MatchString(name) {
		return ""
	}
	return shorten(name)
}

// groupName matches non-empty label values, so that each group that the annotation can name can be named by
// the label as well.
var groupName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$`)
