package plan

import "strings"

// Kind is a kind of objects that have a hold.
type Kind string

const (
	// KindGroup is a rollout group: its zones are rolled out and scaled one after another.
	KindGroup Kind = ""
	// KindStatefulSet is a StatefulSet without a group whose pods are called to prepare. Its
	// downscales require the hold, and lockstep never rolls it out.
	KindStatefulSet Kind = "statefulset"
	// KindBudget is the StatefulSets without a group whose pods a budget for evictions covers.
	// Their evictions require the hold, and lockstep does nothing else to their pods.
	KindBudget Kind = "budget"
	// KindStatefulCluster is a StatefulCluster: its pods have no order, and their identities are never used again.
	KindStatefulCluster Kind = "statefulcluster"
)

// Kinds returns all kinds, rollout groups first.
func Kinds() []Kind { return []Kind{KindGroup, KindStatefulSet, KindBudget, KindStatefulCluster} }

// Word returns the kind as it appears in names and annotations of Leases: group, statefulset,
// budget, statefulcluster.
func (k Kind) Word() string {
	if k == KindGroup {
		return "group"
	}
	return string(k)
}

// Key names the object of a hold within a namespace. The name of a group is the value of its
// label or annotation rollout-group; any other name is the name of an object. The name of a
// group may be empty and need not be a valid object name.
type Key struct {
	Namespace string
	Kind      Kind
	Name      string
}

// Rolled reports whether the key is a group, whose zones are rolled out and scaled.
func (k Key) Rolled() bool { return k.Kind == KindGroup }

// String returns namespace/group, and namespace/kind/name for other kinds. The name of a group
// contains no slash.
func (k Key) String() string {
	if k.Kind == KindGroup {
		return k.Namespace + "/" + k.Name
	}
	return k.Namespace + "/" + string(k.Kind) + "/" + k.Name
}

// KeyOf returns the Key whose String is namespace/name.
func KeyOf(namespace, name string) Key {
	for _, kind := range Kinds() {
		if rest, is := strings.CutPrefix(name, string(kind)+"/"); is && kind != KindGroup {
			return Key{Namespace: namespace, Kind: kind, Name: rest}
		}
	}
	return Key{Namespace: namespace, Name: name}
}
