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

// bookmarkEvery is how often a watch that tells nothing else says up to where it has.
const bookmarkEvery = time.Minute

var everything = selection{labels: labels.Everything(), fields: fields.Everything()}

func (s selection) in(namespace string) selection {
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
		refuse(w, r, err)
		return
	}
	if asked, _ := strconv.ParseBool(r.URL.Query().Get("watch")); asked {
		s.watch(w, r, chosen, c)
		return
	}
	s.mu.Lock()
	things, version := c.selected(chosen), s.version
	s.mu.Unlock()
	list, err := listOf(c.kind, things, version)
	if err != nil {
		refuse(w, r, apierrors.NewInternalError(err))
		return
	}
	reply(w, r, http.StatusOK, list)
}

func listOf(k kind, things []thing, version uint64) (runtime.Object, error) {
	list := k.list()
	objects := make([]runtime.Object, len(things))
	for i, t := range things {
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

// watch tells of every change until the request ends: after a version, or after all
// that exists.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, chosen selection, c *collection) {
	query := r.URL.Query()
	fromTheBeginning, _ := strconv.ParseBool(query.Get("sendInitialEvents"))
	version, _ := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
	s.mu.Lock()
	var first []thing
	place := c.after(version)
	if fromTheBeginning || version == 0 {
		first, place = c.selected(chosen), len(c.events)
	}
	version = s.version
	s.mu.Unlock()

	out, err := newStream(w, r, c.kind)
	if err != nil {
		refuse(w, r, err)
		return
	}
	for _, t := range first {
		out.send(watch.Added, t.runtimeObject())
	}
	if fromTheBeginning {
		out.send(watch.Bookmark, bookmark(c.kind, version, map[string]string{metav1.InitialEventsAnnotationKey: "true"}))
	}
	s.follow(r, out, chosen, c, place)
}

// follow tells of the events from a place on.
func (s *Server) follow(r *http.Request, out *stream, chosen selection, c *collection, place int) {
	beat := time.NewTicker(bookmarkEvery)
	defer beat.Stop()
	for out.flush() {
		s.mu.Lock()
		events, changed, version := c.events[place:], c.changed, s.version
		s.mu.Unlock()
		place += len(events)
		for _, e := range events {
			if chosen.matches(e.thing.record) {
				out.send(e.what, e.thing.runtimeObject())
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-changed:
		case <-beat.C:
			out.send(watch.Bookmark, bookmark(c.kind, version, nil))
		case <-r.Context().Done():
			return
		}
	}
}

// bookmark is an object that says nothing but a version.
func bookmark(k kind, version uint64, annotations map[string]string) runtime.Object {
	object := k.object()
	accessor, err := meta.Accessor(object)
	if err != nil {
		panic(err) // every kind that is kept has metadata
	}
	accessor.SetResourceVersion(versionText(version))
	accessor.SetAnnotations(annotations)
	return object
}
