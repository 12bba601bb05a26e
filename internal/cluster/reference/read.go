package reference

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// maxStaleReads is the number of responses older than the watch after which the next one counts: the
// versions of such a scale are not those of its object.
const maxStaleReads = 5

func (w *watch) readNext(ctx context.Context) bool {
	object, quit := w.queue.Get()
	if quit {
		return false
	}
	defer w.queue.Done(object)
	if again, after := w.read(ctx, object); again {
		w.queue.AddAfter(object, after)
	} else {
		w.backOff.Forget(object)
	}
	return true
}

// read reads the scale of an object if its metadata has changed. It returns whether and when to call
// it again.
func (w *watch) read(ctx context.Context, object types.NamespacedName) (again bool, after time.Duration) {
	seen, exists, err := w.seen(object)
	switch {
	case err != nil:
		return true, w.backOff.When(object)
	case !exists && !w.filled.Load():
		return false, 0 // complete queues it after the initial list
	case !exists:
		w.cache.learn(w, object, "", w.missing(object))
		return false, 0
	case !w.cache.outdated(w, object, seen):
		return false, 0
	case !w.cache.pace(w, object).Allow():
		return true, time.Second / readsPerSecond
	}
	scale, err := w.cache.get(ctx, w.resource, object)
	switch {
	case ctx.Err() != nil:
		return false, 0
	case apierrors.IsNotFound(err): // the watch has not shown the deletion yet
		w.cache.learn(w, object, "", w.missing(object))
		return true, w.backOff.When(object)
	case err != nil && unreadable(err):
		w.cache.learn(w, object, seen.version, w.unreadable(object, seen, "its spec has no number of replicas"))
		return false, 0
	case err != nil:
		w.cache.options.Log.WithError(err).Debug("the replicas of an object could not be read")
		after = w.backOff.When(object)
		if stands := w.cache.failed(w, object, seen, failing(err, "get "+w.resource.scale())); stands > 0 {
			after = min(after, stands)
		}
		return true, after
	case older(scale.ResourceVersion, seen.version) && !w.ownVersions.Load():
		if w.backOff.NumRequeues(object) < maxStaleReads {
			return true, w.backOff.When(object)
		}
		w.ownVersions.Store(true)
	}
	version, known := w.scaleOf(object, seen, scale)
	w.cache.learn(w, object, version, known)
	return false, 0
}

// scaleOf returns the content of a scale, and the version of its object.
func (w *watch) scaleOf(object types.NamespacedName, seen *record, scale *autoscalingv1.Scale) (string, group.Scale) {
	version := cmp.Or(scale.ResourceVersion, seen.version)
	if w.ownVersions.Load() {
		version = seen.version
	}
	known := group.Scale{
		UID: cmp.Or(string(scale.UID), seen.uid), Version: version,
		Replicas: int(scale.Spec.Replicas), Reported: int(scale.Status.Replicas),
	}
	if known.Replicas < 0 {
		known = w.unreadable(object, seen, fmt.Sprintf("it requests %d replicas", known.Replicas))
	}
	return version, known
}

// seen returns the state of an object in the watch.
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

func (b *Cache) get(ctx context.Context, r resource, object types.NamespacedName) (*autoscalingv1.Scale, error) {
	ctx, stop := context.WithTimeout(ctx, requestTimeout)
	defer stop()
	var scale autoscalingv1.Scale
	err := b.options.Client.AutoscalingV1().RESTClient().Get().
		AbsPath(pathOf(r.GroupVersion())...).Namespace(object.Namespace).
		Resource(r.Resource).Name(object.Name).SubResource("scale").
		Do(ctx).Into(&scale)
	if err != nil {
		return nil, fmt.Errorf("read scale of %s: %w", object, err)
	}
	return &scale, nil
}

// unreadable reports whether the API server found no number of replicas in a custom resource, at the
// path that its CRD specifies.
func unreadable(err error) bool {
	return apierrors.IsInternalError(err) &&
		(strings.Contains(err.Error(), "the spec replicas field") || strings.Contains(err.Error(), "accessor error"))
}

// older reports whether version a is known to be before b.
func older(a, b string) bool {
	before, known := plan.ParseVersion(a)
	after, alsoKnown := plan.ParseVersion(b)
	return known && alsoKnown && before < after
}

func (w *watch) missing(object types.NamespacedName) group.Scale {
	return group.Scale{Trouble: plan.Refusal{Code: reason.ReferenceMissing, Detail: referenceTo(w.kind, object).String()}}
}

func (w *watch) unreadable(object types.NamespacedName, seen *record, why string) group.Scale {
	detail := referenceTo(w.kind, object).String() + ": " + why
	return group.Scale{Trouble: plan.Refusal{Code: reason.ReferenceUnreadable, Detail: detail}, UID: seen.uid, Version: seen.version}
}
