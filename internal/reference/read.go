package reference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

func (w *watch) readNext(ctx context.Context) bool {
	object, quit := w.queue.Get()
	if quit {
		return false
	}
	defer w.queue.Done(object)
	if w.read(ctx, object) {
		w.queue.Forget(object)
	} else {
		w.queue.AddRateLimited(object)
	}
	return true
}

// read brings what is known of an object up to its metadata. It returns false to
// be called again.
func (w *watch) read(ctx context.Context, object types.NamespacedName) bool {
	seen, exists, err := w.seen(object)
	switch {
	case err != nil:
		return false
	case !exists && !w.filled.Load():
		return true // it is looked at when all that exists has been seen
	case !exists:
		w.book.learn(w, object, "", w.missing(object))
		return true
	case !w.book.outdated(w, object, seen):
		return true
	}
	scale, err := w.get(ctx, object)
	switch {
	case ctx.Err() != nil:
		return true
	case apierrors.IsNotFound(err): // its end has not been seen yet
		w.book.learn(w, object, "", w.missing(object))
		return false
	case err != nil && unreadable(err):
		w.book.learn(w, object, seen.version, w.unreadable(object, seen, "its spec has no number of replicas"))
		return true
	case err != nil:
		w.book.options.Log.WithError(err).Debug("the replicas of an object could not be read")
		w.book.failed(w, object, seen, failing(err, "get "+w.scaleResource()))
		return false
	case older(scale.ResourceVersion, seen.version):
		return false // than what is known to exist
	}
	version := cmp.Or(scale.ResourceVersion, seen.version)
	known := plan.Scale{
		UID: cmp.Or(string(scale.UID), seen.uid), Version: version,
		Replicas: int(scale.Spec.Replicas), Reported: int(scale.Status.Replicas),
	}
	if known.Replicas < 0 {
		known = w.unreadable(object, seen, fmt.Sprintf("it asks for %d replicas", known.Replicas))
	}
	w.book.learn(w, object, version, known)
	return true
}

// seen returns what the watch shows of an object.
func (w *watch) seen(object types.NamespacedName) (*record, bool, error) {
	item, exists, err := w.informer.GetStore().GetByKey(object.String())
	if err != nil || !exists {
		return nil, false, err
	}
	r, ok := item.(*record)
	if !ok {
		return nil, false, errors.New("unexpected record")
	}
	return r, true, nil
}

func (w *watch) get(ctx context.Context, object types.NamespacedName) (*autoscalingv1.Scale, error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	var scale autoscalingv1.Scale
	err := w.book.options.Client.AutoscalingV1().RESTClient().Get().
		AbsPath(pathOf(w.resource.GroupVersion())...).Namespace(object.Namespace).
		Resource(w.resource.Resource).Name(object.Name).SubResource("scale").
		Do(ctx).Into(&scale)
	if err != nil {
		return nil, fmt.Errorf("read scale of %s: %w", object, err)
	}
	return &scale, nil
}

// unreadable tells whether an API server says that an object of a custom resource
// has no number where its definition says that replicas are.
func unreadable(err error) bool {
	return apierrors.IsInternalError(err) &&
		(strings.Contains(err.Error(), "the spec replicas field") || strings.Contains(err.Error(), "accessor error"))
}

// older tells whether a version is known to be before another.
func older(a, b string) bool {
	before, known := plan.ParseVersion(a)
	after, alsoKnown := plan.ParseVersion(b)
	return known && alsoKnown && before < after
}

func (w *watch) scaleResource() string {
	r := w.resource.GroupResource()
	r.Resource += "/scale"
	return r.String()
}

func (w *watch) missing(object types.NamespacedName) plan.Scale {
	return plan.Scale{Trouble: plan.Refusal{Code: reason.ReferenceMissing, Detail: referenceTo(w.kind, object).String()}}
}

func (w *watch) unreadable(object types.NamespacedName, seen *record, why string) plan.Scale {
	detail := referenceTo(w.kind, object).String() + ": " + why
	return plan.Scale{Trouble: plan.Refusal{Code: reason.ReferenceUnreadable, Detail: detail}, UID: seen.uid, Version: seen.version}
}
