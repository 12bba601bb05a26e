package plan

import "strings"

// Kind is a kind of things that have a hold.
type Kind string

const (
	// KindGroup is a rollout group: its zones are rolled and scaled one after another.
	KindGroup Kind = ""
	// KindStatefulSet is a StatefulSet without a group whose pods are asked to prepare. It is
	// scaled down under a hold, and never rolled.
	KindStatefulSet Kind = "statefulset"
	// KindBudget are the StatefulSets without a group whose pods a budget for evictions covers.
	// Pods are evicted under the hold, and nothing else is done to them.
	KindBudget Kind = "budget"
)

// Kinds returns all kinds, rollout groups first.
func Kinds() []Kind { return []Kind{KindGroup, KindStatefulSet, KindBudget} }

// Word returns the kind as names and annotations of Leases have it: group, statefulset, budget.
func (k Kind) Word() string {
	if k == KindGroup {
		return "group"
	}
	return string(k)
}

// Key names what a hold is about, within a namespace: a group as the label or the annotation
// rollout-group does, everything else as its object is called. The name of a group may be empty
// and need not be a valid object name.
type Key struct {
	Namespace string
	Kind      Kind
	Name      string
}

// Rolled reports whether it is a group whose zones are rolled and scaled.
func (k Key) Rolled() bool { return k.Kind == KindGroup }

// String returns namespace/group, and namespace/kind/name for other kinds: no group has a slash
// in its name.
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
