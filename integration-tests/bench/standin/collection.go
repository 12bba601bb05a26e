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

// kind is what a resource consists of.
type kind struct {
	version schema.GroupVersion
	object  func() runtime.Object // an empty one
	list    func() runtime.Object
}

// thing is a record at the version that it was written with.
type thing struct {
	record

	version uint64
}

// event is a change of a thing. One that was deleted has the version of that.
type event struct {
	what  watch.EventType
	thing thing
}

// collection keeps the things of one resource and every event since the beginning.
// Its owner's lock guards it.
type collection struct {
	kind    kind
	things  map[string]map[string]thing // by namespace and name
	events  []event
	changed chan struct{} // closed by the next event
}

func newCollection(k kind) *collection {
	return &collection{kind: k, things: map[string]map[string]thing{}, changed: make(chan struct{})}
}

// put keeps a record without telling anybody.
func (c *collection) put(version uint64, r record) thing {
	namespace, name := r.names()
	if c.things[namespace] == nil {
		c.things[namespace] = map[string]thing{}
	}
	t := thing{r, version}
	c.things[namespace][name] = t
	return t
}

// write keeps a record and tells of it.
func (c *collection) write(version uint64, r record) thing {
	namespace, name := r.names()
	what := watch.Added
	if _, exists := c.get(namespace, name); exists {
		what = watch.Modified
	}
	t := c.put(version, r)
	c.tell(event{what, t})
	return t
}

func (c *collection) remove(version uint64, t thing) {
	namespace, name := t.names()
	delete(c.things[namespace], name)
	c.tell(event{watch.Deleted, thing{t.record, version}})
}

func (c *collection) tell(e event) {
	c.events = append(c.events, e)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *collection) get(namespace, name string) (thing, bool) {
	t, exists := c.things[namespace][name]
	return t, exists
}

// selection is what a list or a watch asks for.
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

// selected returns things in the order of their names.
func (c *collection) selected(s selection) []thing {
	namespaces := []string{s.namespace}
	if s.namespace == "" {
		namespaces = slices.Sorted(maps.Keys(c.things))
	}
	var all []thing
	for _, namespace := range namespaces {
		for _, name := range slices.Sorted(maps.Keys(c.things[namespace])) {
			if t := c.things[namespace][name]; s.matches(t.record) {
				all = append(all, t)
			}
		}
	}
	return all
}

// after returns where the events after a version begin.
func (c *collection) after(version uint64) int {
	i, _ := slices.BinarySearchFunc(c.events, version+1, func(e event, v uint64) int { return cmp.Compare(e.thing.version, v) })
	return i
}

// object returns the thing as clients see it.
func (t thing) object() metav1.Object {
	o := t.record.object()
	o.SetResourceVersion(versionText(t.version))
	return o
}

func versionText(version uint64) string { return strconv.FormatUint(version, 10) }
