package budgets

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	rolloutoperatorv1 "github.com/lockstep-dev/lockstep/internal/api/rolloutoperator/v1"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// object is the cached part of a budget.
type object struct {
	name, uid  string
	version    string
	generation int64
	budget     func() group.DisruptionBudget // parses the spec, once
	status     rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus
}

// Object is a budget at a resourceVersion, for writers of its status.
type Object struct {
	Budget     group.DisruptionBudget
	UID        string
	Version    string
	Generation int64
	Status     rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus // read-only
}

// namespaceBudgets contains the budgets of one namespace.
type namespaceBudgets struct {
	objects map[string]*object
	read    []group.DisruptionBudget // all of them, parsed; nil: not parsed since the last change
	changes int                      // number of changes
}

func (s *namespaceBudgets) list() []group.DisruptionBudget {
	if s == nil {
		return nil
	}
	return s.read
}

func (s *namespaceBudgets) ordered() []*object {
	return slices.SortedFunc(maps.Values(s.objects), func(a, b *object) int { return cmp.Compare(a.name, b.name) })
}

// sameSpec reports whether two states of an object have the same spec.
func (o *object) sameSpec(other *object) bool {
	return o != nil && other != nil && o.uid == other.uid && o.generation == other.generation
}

// put stores a state of an object and returns whether its spec has changed. An unchanged spec is
// not parsed again.
func (s *namespaceBudgets) put(o *object) (changed bool) {
	before := s.objects[o.name]
	s.objects[o.name] = o
	if before.sameSpec(o) {
		o.budget = before.budget
		return false
	}
	s.change()
	return true
}

func (s *namespaceBudgets) take(name string) {
	delete(s.objects, name)
	s.change()
}

func (s *namespaceBudgets) change() {
	s.read = nil
	s.changes++
}

// objectOf returns the cached part of a budget. Its spec is parsed when it is needed for the first
// time, because lockstep does not manage most namespaces of a cluster.
func objectOf(u *unstructured.Unstructured) *object {
	needed := map[string]any{
		"kind": u.GetKind(), "metadata": map[string]any{"name": u.GetName()}, "spec": u.Object["spec"],
	}
	o := &object{
		name: u.GetName(), uid: string(u.GetUID()), version: u.GetResourceVersion(), generation: u.GetGeneration(),
		budget: sync.OnceValue(func() group.DisruptionBudget {
			budget, _ := contract.Budget(needed)
			return budget
		}),
	}
	if status, is := u.Object["status"].(map[string]any); is {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &o.status); err != nil {
			o.status = rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus{} // it will be overwritten
		}
	}
	return o
}
