package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
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

// workloadAt connects to the cluster and returns the key of the group or StatefulCluster that an argument
// names. Without a kind, it is a group. Other kinds are errors.
func (a *app) workloadAt(argument string) (*cluster, plan.Key, error) {
	kind, name, err := subject(argument, groupKind, statefulClusterKind)
	if err != nil {
		return nil, plan.Key{}, err
	}
	c, err := a.connect()
	if err != nil {
		return nil, plan.Key{}, err
	}
	if kind == statefulClusterKind {
		return c, c.pool(name), nil
	}
	return c, c.group(name), nil
}

// poolAt connects to the cluster and returns the name of the StatefulCluster that an argument names. Other
// kinds are errors.
func (a *app) poolAt(argument string) (*cluster, string, error) {
	_, name, err := subject(argument, statefulClusterKind)
	if err != nil {
		return nil, "", err
	}
	c, err := a.connect()
	return c, name, err
}

// isPool reports whether an argument names a StatefulCluster, and returns its name.
func isPool(argument string) (name string, is bool) {
	kind, name, err := subject(argument, statefulClusterKind)
	return name, err == nil && kind == statefulClusterKind
}
