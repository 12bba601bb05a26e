package budgets

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// store writes the objects of the watch into the Cache. It does not wait for listeners, which are
// called later.
type store struct{ cache *Cache }

// Add implements cache.ReflectorStore.
func (s store) Add(object any) error { return s.put(object) }

// Update implements cache.ReflectorStore.
func (s store) Update(object any) error { return s.put(object) }

// Resync implements cache.ReflectorStore.
func (store) Resync() error { return nil }

func (s store) put(it any) error {
	u, err := budgetIn(it)
	if err != nil {
		return err
	}
	namespace := u.GetNamespace()
	b := s.cache
	b.mu.Lock()
	changed := b.of(namespace).put(objectOf(u))
	b.mu.Unlock()
	b.notifications.add(namespace, changed)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s store) Delete(it any) error {
	u, err := budgetIn(it)
	if err != nil {
		return err
	}
	namespace := u.GetNamespace()
	b := s.cache
	b.mu.Lock()
	b.take(namespace, u.GetName())
	b.mu.Unlock()
	b.notifications.add(namespace, true)
	return nil
}

// Replace implements cache.ReflectorStore with the list of all budgets.
func (s store) Replace(objects []any, _ string) error {
	all := map[string]map[string]*object{}
	for _, it := range objects {
		u, err := budgetIn(it)
		if err != nil {
			return err
		}
		if all[u.GetNamespace()] == nil {
			all[u.GetNamespace()] = map[string]*object{}
		}
		all[u.GetNamespace()][u.GetName()] = objectOf(u)
	}
	s.cache.replace(all)
	return nil
}

func budgetIn(it any) (*unstructured.Unstructured, error) {
	u, ok := it.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("cache budget: unexpected %T", it)
	}
	return u, nil
}

// of returns the budgets of a namespace, for adding one. Callers hold the lock.
func (b *Cache) of(namespace string) *namespaceBudgets {
	s := b.namespaces[namespace]
	if s == nil {
		s = &namespaceBudgets{objects: map[string]*object{}}
		b.namespaces[namespace] = s
	}
	return s
}

// take removes a budget. Callers hold the lock.
func (b *Cache) take(namespace, name string) {
	s := b.namespaces[namespace]
	if s == nil {
		return
	}
	s.take(name)
	if len(s.objects) == 0 {
		delete(b.namespaces, namespace)
	}
}

// replace stores the list of all budgets and notifies the listeners of changed namespaces.
func (b *Cache) replace(all map[string]map[string]*object) {
	changed := map[string]bool{} // by namespace; true if a spec has changed
	b.mu.Lock()
	for namespace, s := range b.namespaces {
		for name := range s.objects {
			if all[namespace][name] == nil {
				changed[namespace] = true
				b.take(namespace, name)
			}
		}
	}
	for namespace, objects := range all {
		for _, o := range objects {
			changed[namespace] = b.of(namespace).put(o) || changed[namespace]
		}
	}
	if b.streams {
		for _, namespace := range b.refreshed() {
			changed[namespace] = true
		}
		b.recordSuccess()
	}
	b.filled, b.absent, b.answered = true, false, true
	b.mu.Unlock()
	for namespace, spec := range changed {
		b.notifications.add(namespace, spec)
	}
}
