package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Kinds that an argument can name.
const (
	groupKind = "group"
	podKind   = "pod"
	zoneKind  = "zone"

	statefulClusterKind = "statefulcluster"
)

// kinds maps words to kinds. It includes the words that kubectl prints for a StatefulSet.
var kinds = map[string]string{
	"group": groupKind, "pod": podKind, "pods": podKind, "po": podKind,
	"zone": zoneKind, "statefulset": zoneKind, "statefulsets": zoneKind, "sts": zoneKind, "statefulset.apps": zoneKind, "statefulsets.apps": zoneKind,
	"statefulcluster": statefulClusterKind, "statefulclusters": statefulClusterKind, "stc": statefulClusterKind,
	"statefulcluster.lockstep.dev": statefulClusterKind, "statefulclusters.lockstep.dev": statefulClusterKind,
}

// subject splits KIND/NAME, and returns an error if the command does not accept the kind. Without a
// kind, the first result is empty. No name of a group, pod or StatefulSet contains a slash.
func subject(argument string, accepted ...string) (kind, name string, err error) {
	word, rest, hasKind := strings.Cut(argument, "/")
	if !hasKind {
		return "", argument, nil
	}
	kind = kinds[word]
	if !slices.Contains(accepted, kind) {
		return "", "", fmt.Errorf("%q names no %s; accepted: a name, or %s/NAME", argument, strings.Join(accepted, " or "), strings.Join(accepted, "/NAME, "))
	}
	return kind, rest, nil
}

// groupOf returns the group that an argument names. Other kinds are errors.
func groupOf(argument string) (string, error) {
	_, name, err := subject(argument, groupKind)
	return name, err
}

// groupAt connects to the cluster and returns the key of the group that an argument names. Other kinds
// are errors.
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

// read reads the group that an argument names. It returns an error if the group does not exist.
func (a *app) read(ctx context.Context, argument string) (group.Snapshot, error) {
	c, key, err := a.groupAt(argument)
	if err != nil {
		return group.Snapshot{}, err
	}
	return c.existing(ctx, key)
}
