package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Kinds that a name can be told to be of.
const (
	groupKind = "group"
	podKind   = "pod"
	zoneKind  = "zone"
)

// kinds are the words for them; what kubectl prints of a StatefulSet is among them.
var kinds = map[string]string{
	"group": groupKind, "pod": podKind, "pods": podKind, "po": podKind,
	"zone": zoneKind, "statefulset": zoneKind, "statefulsets": zoneKind, "sts": zoneKind, "statefulset.apps": zoneKind, "statefulsets.apps": zoneKind,
}

// subject takes apart KIND/NAME, and objects to a kind that a command does not accept.
// The kind is empty where only the name was given. No group, pod or StatefulSet has a
// slash in its name.
func subject(argument string, accepted ...string) (kind, name string, err error) {
	word, rest, told := strings.Cut(argument, "/")
	if !told {
		return "", argument, nil
	}
	kind = kinds[word]
	if !slices.Contains(accepted, kind) {
		return "", "", fmt.Errorf("%q names no %s; accepted: a name, or %s/NAME", argument, strings.Join(accepted, " or "), strings.Join(accepted, "/NAME, "))
	}
	return kind, rest, nil
}

// groupOf returns the group that an argument names, where nothing but a group is
// accepted.
func groupOf(argument string) (string, error) {
	_, name, err := subject(argument, groupKind)
	return name, err
}

// groupAt connects to the cluster, and returns the key of the group that an argument
// names, where nothing but a group is accepted.
func (a *app) groupAt(argument string) (*cluster, plan.Key, error) {
	name, err := groupOf(argument)
	if err != nil {
		return nil, plan.Key{}, err
	}
	c, err := a.connect()
	if err != nil {
		return nil, plan.Key{}, err
	}
	return c, c.group(name), nil
}

// read reads the group that an argument names, and that has to exist.
func (a *app) read(ctx context.Context, argument string) (plan.Snapshot, error) {
	c, key, err := a.groupAt(argument)
	if err != nil {
		return plan.Snapshot{}, err
	}
	return c.existing(ctx, key)
}
