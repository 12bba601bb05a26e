package reference

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// The methods of this file have an effect only for the current watch of a kind. Calls of a former
// watch that has not ended yet are ignored.

// of returns the entry of an object, or nil if it is not wanted. Callers hold the lock.
func (b *Cache) of(w *watch, object types.NamespacedName) *entry {
	if k := b.known[w.kind]; k != nil && k.watch == w {
		return k.wanted[object]
	}
	return nil
}

func (b *Cache) isWanted(w *watch, object types.NamespacedName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(w, object) != nil
}

// outdated reports whether a wanted object may have changed since it was read.
func (b *Cache) outdated(w *watch, object types.NamespacedName, seen *record) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of(w, object)
	if e == nil || (e.read != "" && (e.read == seen.version || older(seen.version, e.read))) {
		return false
	}
	if e.newer.IsZero() {
		e.newer = time.Now()
	}
	return true
}

// pace returns the rate limiter for the reads of an object. It is kept for a while if the object is
// no longer wanted.
func (b *Cache) pace(w *watch, object types.NamespacedName) *rate.Limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.known[w.kind]
	if k == nil {
		return rate.NewLimiter(rate.Inf, 0)
	}
	pace := k.paces[object]
	if pace == nil {
		if len(k.paces) > 2*len(k.wanted)+readsAtOnce {
			maps.DeleteFunc(k.paces, func(o types.NamespacedName, _ *rate.Limiter) bool { return k.wanted[o] == nil })
		}
		pace = rate.NewLimiter(readsPerSecond, readsAtOnce)
		k.paces[object] = pace
	}
	return pace
}

// learn stores the scale of an object at a version, and calls the listener unless only the version
// has changed.
func (b *Cache) learn(w *watch, object types.NamespacedName, version string, scale group.Scale) {
	b.mu.Lock()
	e := b.of(w, object)
	if e == nil {
		b.mu.Unlock()
		return
	}
	before := e.scale
	if scale.UID == before.UID || scale.UID == "" {
		scale.Written = before.Written
	}
	*e = entry{scale: scale, read: version}
	before.Version = scale.Version
	shown := b.known[w.kind].trouble.None() // otherwise complete calls the listener
	b.mu.Unlock()
	if shown && before != scale {
		b.notifyListener(w.kind, object)
	}
}

// clear drops the number of replicas of an object because of a failure.
func (e *entry) clear(because plan.Refusal) {
	*e = entry{scale: group.Scale{Trouble: because, UID: e.scale.UID, Written: e.scale.Written}}
}

// failed handles a failed read of an object. The last number of replicas stays valid for a while,
// unless reading it is forbidden. failed returns the rest of that time.
func (b *Cache) failed(w *watch, object types.NamespacedName, seen *record, because plan.Refusal) time.Duration {
	b.mu.Lock()
	e := b.of(w, object)
	if e == nil {
		b.mu.Unlock()
		return 0
	}
	forbidden := because.Code == reason.ReferenceForbidden
	if stands := validFor - time.Since(e.newer); !forbidden && e.scale.Trouble.None() && e.scale.UID == seen.uid && stands > 0 {
		b.mu.Unlock()
		return stands
	}
	var affected []types.NamespacedName
	if e.scale.Trouble != because {
		e.clear(because)
		affected = append(affected, object)
	}
	if forbidden {
		affected = append(affected, b.endForbidden(w, because)...)
	}
	b.mu.Unlock()
	b.notifyListener(w.kind, affected...)
	return 0
}

// endForbidden ends the watch of a kind if reading is forbidden for all wanted objects, so that lockstep
// reads no more than it needs. It returns the objects whose listeners must be called. Callers hold
// the lock.
func (b *Cache) endForbidden(w *watch, because plan.Refusal) []types.NamespacedName {
	k := b.known[w.kind]
	for _, e := range k.wanted {
		if code := e.scale.Trouble.Code; code != reason.ReferenceForbidden && code != reason.ReferenceMissing {
			return nil
		}
	}
	affected := b.abandon(w.kind, k, because)
	k.scalesForbidden, k.due = true, time.Now().Add(b.backOff.When(w.kind))
	b.remind(w.kind, k)
	return affected
}

// scalesForbidden reads the scales of some objects of a forbidden kind, and reports whether that is still
// forbidden.
func (b *Cache) scalesForbidden(ctx context.Context, name schema.GroupKind, r resource) bool {
	sample, forbidden := b.sample(name), false
	for _, object := range sample {
		_, err := b.get(ctx, r, object)
		if !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
			forbidden = false
			break
		}
		forbidden = forbidden || apierrors.IsForbidden(err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.known[name]; k != nil && len(sample) > 0 {
		k.scalesForbidden = forbidden
	}
	return forbidden
}

// sample returns some wanted objects of a forbidden kind.
func (b *Cache) sample(name schema.GroupKind) []types.NamespacedName {
	const most = 10
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.known[name]
	if k == nil || !k.scalesForbidden {
		return nil
	}
	var some []types.NamespacedName
	for object := range k.wanted {
		if some = append(some, object); len(some) == most {
			break
		}
	}
	return some
}

// waitUntilStable waits until a watch of a forbidden kind has lasted for a while, because the permission to
// list does not include the permission to watch. It returns false if ctx ends first.
func (b *Cache) waitUntilStable(ctx context.Context, w *watch) bool {
	b.mu.Lock()
	k := b.known[w.kind]
	forbidden := k != nil && k.trouble.Code == reason.ReferenceForbidden
	b.mu.Unlock()
	if !forbidden {
		return true
	}
	rest := time.NewTimer(forbiddenFor)
	defer rest.Stop()
	select {
	case <-rest.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// complete handles the end of a watch's initial list. It returns the wanted objects.
func (b *Cache) complete(w *watch) []types.NamespacedName {
	b.mu.Lock()
	k := b.known[w.kind]
	if k == nil || k.watch != w {
		b.mu.Unlock()
		return nil
	}
	wanted := slices.Collect(maps.Keys(k.wanted))
	affected := b.trouble(w.kind, k, plan.Refusal{})
	b.mu.Unlock()
	b.notifyListener(w.kind, affected...)
	return wanted
}

// lost ends a watch that the API server refused, and queues another discovery of its kind.
func (b *Cache) lost(w *watch, because plan.Refusal) {
	b.mu.Lock()
	k := b.known[w.kind]
	if k == nil || k.watch != w {
		b.mu.Unlock()
		return
	}
	affected := b.abandon(w.kind, k, because)
	if time.Since(w.began) > 2*againMost {
		b.backOff.Forget(w.kind) // the watch had worked
	}
	k.due = time.Now().Add(b.backOff.When(w.kind))
	b.remind(w.kind, k)
	b.mu.Unlock()
	b.notifyListener(w.kind, affected...)
}

// listed handles a new list of all objects. From now on the listed versions count, even if they
// are older than those that were read.
func (b *Cache) listed(w *watch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.known[w.kind]; k != nil && k.watch == w {
		for _, e := range k.wanted {
			e.read = ""
		}
	}
}
