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
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// fewRefusals is after how many answers that are older than what was seen another
// one counts: the versions of its scale are not those of the object.
const fewRefusals = 5

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

// read brings what is known of an object up to its metadata, or says when to be
// called again.
func (w *watch) read(ctx context.Context, object types.NamespacedName) (again bool, after time.Duration) {
	seen, exists, err := w.seen(object)
	switch {
	case err != nil:
		return true, w.backOff.When(object)
	case !exists && !w.filled.Load():
		return false, 0 // it is looked at when all that exists has been seen
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
	case apierrors.IsNotFound(err): // its end has not been seen yet
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
		if w.backOff.NumRequeues(object) < fewRefusals {
			return true, w.backOff.When(object)
		}
		w.ownVersions.Store(true)
	}
	version, known := w.scaleOf(object, seen, scale)
	w.cache.learn(w, object, version, known)
	return false, 0
}

// scaleOf returns what a scale says, and the version of its object.
func (w *watch) scaleOf(object types.NamespacedName, seen *record, scale *autoscalingv1.Scale) (string, plan.Scale) {
	version := cmp.Or(scale.ResourceVersion, seen.version)
	if w.ownVersions.Load() {
		version = seen.version
	}
	known := plan.Scale{
		UID: cmp.Or(string(scale.UID), seen.uid), Version: version,
		Replicas: int(scale.Spec.Replicas), Reported: int(scale.Status.Replicas),
	}
	if known.Replicas < 0 {
		known = w.unreadable(object, seen, fmt.Sprintf("it asks for %d replicas", known.Replicas))
	}
	return version, known
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

// unreadable reports whether an API server says that an object of a custom resource
// has no number where its definition says that replicas are.
func unreadable(err error) bool {
	return apierrors.IsInternalError(err) &&
		(strings.Contains(err.Error(), "the spec replicas field") || strings.Contains(err.Error(), "accessor error"))
}

// older reports whether a version is known to be before another.
func older(a, b string) bool {
	before, known := plan.ParseVersion(a)
	after, alsoKnown := plan.ParseVersion(b)
	return known && alsoKnown && before < after
}

func (w *watch) missing(object types.NamespacedName) plan.Scale {
	return plan.Scale{Trouble: plan.Refusal{Code: reason.ReferenceMissing, Detail: referenceTo(w.kind, object).String()}}
}

func (w *watch) unreadable(object types.NamespacedName, seen *record, why string) plan.Scale {
	detail := referenceTo(w.kind, object).String() + ": " + why
	return plan.Scale{Trouble: plan.Refusal{Code: reason.ReferenceUnreadable, Detail: detail}, UID: seen.uid, Version: seen.version}
}
