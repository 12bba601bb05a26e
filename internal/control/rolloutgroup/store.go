package rolloutgroup

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// store writes the objects of the watch into the Cache.
type store struct{ cache *Cache }

// Add implements cache.ReflectorStore.
func (s store) Add(it any) error { return s.put(it) }

// Update implements cache.ReflectorStore.
func (s store) Update(it any) error { return s.put(it) }

// Resync implements cache.ReflectorStore.
func (store) Resync() error { return nil }

func (s store) put(it any) error {
	u, err := objectIn(it)
	if err != nil {
		return err
	}
	b, n := s.cache, nameOf(u)
	b.mu.Lock()
	b.objects[n] = objectOf(u)
	b.mu.Unlock()
	b.changed(n)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s store) Delete(it any) error {
	u, err := objectIn(it)
	if err != nil {
		return err
	}
	b, n := s.cache, nameOf(u)
	b.mu.Lock()
	delete(b.objects, n)
	b.mu.Unlock()
	b.changed(n)
	return nil
}

// Replace implements cache.ReflectorStore with the list of all objects.
func (s store) Replace(all []any, _ string) error {
	objects := map[Name]object{}
	for _, it := range all {
		u, err := objectIn(it)
		if err != nil {
			return err
		}
		objects[nameOf(u)] = objectOf(u)
	}
	b := s.cache
	b.mu.Lock()
	b.objects, b.present = objects, true
	b.logState("watched", func() { b.options.Log.Info("groups are shown in RolloutGroups") })
	b.mu.Unlock()
	b.filled()
	return nil
}

func objectIn(it any) (*unstructured.Unstructured, error) {
	u, ok := it.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("cache RolloutGroup: unexpected %T", it)
	}
	return u, nil
}
