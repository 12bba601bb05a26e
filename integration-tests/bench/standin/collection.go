package standin

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// resource is the group version of a resource and its Go types.
type resource struct {
	version schema.GroupVersion
	object  func() runtime.Object // returns an empty object
	list    func() runtime.Object
}

// storedObject is a record and the resourceVersion of its last write.
type storedObject struct {
	record

	version uint64
}

// storedEvent is a change of an object. The event of a deleted object has the version of the deletion.
type storedEvent struct {
	eventType watch.EventType
	object    storedObject
}

// collection contains the objects of one resource and all events since the start. The lock of its
// server guards it.
type collection struct {
	resource resource
	objects  map[string]map[string]storedObject // by namespace and name
	events   []storedEvent
	changed  chan struct{} // closed at the next event
}

func newCollection(r resource) *collection {
	return &collection{resource: r, objects: map[string]map[string]storedObject{}, changed: make(chan struct{})}
}

// put stores a record without an event.
func (c *collection) put(version uint64, r record) storedObject {
	namespace, name := r.names()
	if c.objects[namespace] == nil {
		c.objects[namespace] = map[string]storedObject{}
	}
	t := storedObject{r, version}
	c.objects[namespace][name] = t
	return t
}

// write stores a record and adds an event.
func (c *collection) write(version uint64, r record) storedObject {
	namespace, name := r.names()
	eventType := watch.Added
	if _, exists := c.get(namespace, name); exists {
		eventType = watch.Modified
	}
	t := c.put(version, r)
	c.notify(storedEvent{eventType, t})
	return t
}

func (c *collection) remove(version uint64, t storedObject) {
	namespace, name := t.names()
	delete(c.objects[namespace], name)
	c.notify(storedEvent{watch.Deleted, storedObject{t.record, version}})
}

func (c *collection) notify(e storedEvent) {
	c.events = append(c.events, e)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *collection) get(namespace, name string) (storedObject, bool) {
	t, exists := c.objects[namespace][name]
	return t, exists
}

// selection is the selection of a list or a watch.
type selection struct {
	namespace string // empty: all
	labels    labels.Selector
	fields    fields.Selector
}

func (s selection) matches(r record) bool {
	namespace, name := r.names()
	return (s.namespace == "" || s.namespace == namespace) &&
		(s.fields.Empty() || s.fields.Matches(fields.Set{"metadata.name": name, "metadata.namespace": namespace})) &&
		(s.labels.Empty() || s.labels.Matches(r.labels()))
}

// selected returns the selected objects in the order of their names.
func (c *collection) selected(s selection) []storedObject {
	namespaces := []string{s.namespace}
	if s.namespace == "" {
		namespaces = slices.Sorted(maps.Keys(c.objects))
	}
	var all []storedObject
	for _, namespace := range namespaces {
		for _, name := range slices.Sorted(maps.Keys(c.objects[namespace])) {
			if t := c.objects[namespace][name]; s.matches(t.record) {
				all = append(all, t)
			}
		}
	}
	return all
}

// indexAfter returns the index of the first event after a version.
func (c *collection) indexAfter(version uint64) int {
	i, _ := slices.BinarySearchFunc(c.events, version+1, func(e storedEvent, v uint64) int { return cmp.Compare(e.object.version, v) })
	return i
}

// object returns the object as clients see it.
func (t storedObject) object() metav1.Object {
	o := t.record.object()
	o.SetResourceVersion(versionText(t.version))
	return o
}

func versionText(version uint64) string { return strconv.FormatUint(version, 10) }
