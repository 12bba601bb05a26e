package standin

import (
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// bookmarkEvery is the interval of bookmarks of a watch without other events.
const bookmarkEvery = time.Minute

var allObjects = selection{labels: labels.Everything(), fields: fields.Everything()}

func (s selection) inNamespace(namespace string) selection {
	s.namespace = namespace
	return s
}

func selectionOf(r *http.Request, t target) (selection, error) {
	chosen := selection{namespace: t.namespace}
	var err error
	if chosen.labels, err = labels.Parse(r.URL.Query().Get("labelSelector")); err != nil {
		return chosen, apierrors.NewBadRequest(err.Error())
	}
	if chosen.fields, err = fields.ParseSelector(r.URL.Query().Get("fieldSelector")); err != nil {
		return chosen, apierrors.NewBadRequest(err.Error())
	}
	return chosen, nil
}

// read answers a list or a watch.
func (s *Server) read(w http.ResponseWriter, r *http.Request, t target, c *collection) {
	chosen, err := selectionOf(r, t)
	if err != nil {
		replyError(w, r, err)
		return
	}
	if isWatch, _ := strconv.ParseBool(r.URL.Query().Get("watch")); isWatch {
		s.watch(w, r, chosen, c)
		return
	}
	s.mu.Lock()
	objects, version := c.selected(chosen), s.version
	s.mu.Unlock()
	list, err := listOf(c.resource, objects, version)
	if err != nil {
		replyError(w, r, apierrors.NewInternalError(err))
		return
	}
	reply(w, r, http.StatusOK, list)
}

func listOf(resource resource, stored []storedObject, version uint64) (runtime.Object, error) {
	list := resource.list()
	objects := make([]runtime.Object, len(stored))
	for i, t := range stored {
		objects[i] = t.runtimeObject()
	}
	if err := meta.SetList(list, objects); err != nil {
		return nil, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(versionText(version))
	return list, nil
}

// watch sends the events after a version, or all existing objects and the events after them, until the
// request ends.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, chosen selection, c *collection) {
	query := r.URL.Query()
	sendInitial, _ := strconv.ParseBool(query.Get("sendInitialEvents"))
	version, _ := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	s.mu.Lock()
	var first []storedObject
	position := c.indexAfter(version)
	if sendInitial || version == 0 {
		first, position = c.selected(chosen), len(c.events)
	}
	version = s.version
	s.mu.Unlock()

	out, err := newStream(w, r, c.resource)
	if err != nil {
		replyError(w, r, err)
		return
	}
	for _, t := range first {
		out.send(watch.Added, t.runtimeObject())
	}
	if sendInitial {
		out.send(watch.Bookmark, bookmark(c.resource, version, map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
	}
	s.follow(r, out, chosen, c, position)
}

// follow sends the events from a position on.
func (s *Server) follow(r *http.Request, out *stream, chosen selection, c *collection, position int) {
	ticker := time.NewTicker(bookmarkEvery)
	defer ticker.Stop()
	for out.flush() {
		s.mu.Lock()
		events, changed, version := c.events[position:], c.changed, s.version
		s.mu.Unlock()
		position += len(events)
		for _, e := range events {
			if chosen.matches(e.object.record) {
				out.send(e.eventType, e.object.runtimeObject())
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-ticker.C:
			out.send(watch.Bookmark, bookmark(c.resource, version, nil))
		case <-r.Context().Done():
			return
		}
	}
}

// bookmark returns an object that contains only a resourceVersion.
func bookmark(resource resource, version uint64, annotations map[string]string) runtime.Object {
	object := resource.object()
	accessor, err := meta.Accessor(object)
	if err != nil {
		panic(err) // all stored types have metadata
	}
	accessor.SetResourceVersion(versionText(version))
	accessor.SetAnnotations(annotations)
	return object
}
