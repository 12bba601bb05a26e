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
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// object is what is kept of a budget.
type object struct {
	name, uid  string
	version    string
	generation int64
	budget     func() plan.DisruptionBudget // reads it, once
	status     rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus
}

// Object is a budget as it stands at a version, for who writes its status.
type Object struct {
	Budget     plan.DisruptionBudget
	UID        string
	Version    string
	Generation int64
	Status     rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus // not to be changed
}

// namespaceBudgets has the budgets of one namespace.
type namespaceBudgets struct {
	objects map[string]*object
	read    []plan.DisruptionBudget // all of them; nil: nobody has asked since they changed
	changes int                     // how many there were
}

func (s *namespaceBudgets) list() []plan.DisruptionBudget {
	if s == nil {
		return nil
	}
	return s.read
}

func (s *namespaceBudgets) ordered() []*object {
	return slices.SortedFunc(maps.Values(s.objects), func(a, b *object) int { return cmp.Compare(a.name, b.name) })
}

// sameSpec reports whether two states of an object ask for the same.
func (o *object) sameSpec(other *object) bool {
	return o != nil && other != nil && o.uid == other.uid && o.generation == other.generation
}

// put takes a state of an object over, and returns whether it asks for something
// else than the state before. One that does not is not read again.
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

// objectOf keeps of a budget what is needed. Its spec is read when it is needed for
// the first time: most namespaces of a cluster are none of lockstep's business.
func objectOf(u *unstructured.Unstructured) *object {
	needed := map[string]any{
		"kind": u.GetKind(), "metadata": map[string]any{"name": u.GetName()}, "spec": u.Object["spec"],
	}
	o := &object{
		name: u.GetName(), uid: string(u.GetUID()), version: u.GetResourceVersion(), generation: u.GetGeneration(),
		budget: sync.OnceValue(func() plan.DisruptionBudget {
			budget, _ := contract.Budget(needed)
			return budget
		}),
	}
	if status, is := u.Object["status"].(map[string]any); is {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &o.status); err != nil {
			o.status = rolloutoperatorv1.ZoneAwarePodDisruptionBudgetStatus{} // it is written anew
		}
	}
	return o
}
