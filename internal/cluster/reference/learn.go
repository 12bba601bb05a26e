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
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// The methods of this file answer and hear a watch for as long as it is the one
// of its kind; what another one says that has not ended yet does not count.

// of returns what is known of an object that is wanted. Call it locked.
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

// outdated reports whether an object that is wanted may have changed since it was read.
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

// pace returns what bounds how often an object is read, even where it is wanted
// again and again.
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

// learn takes over what was found out about an object at a version, and tells
// whom it concerns. That nothing but the version differs concerns nobody.
func (b *Cache) learn(w *watch, object types.NamespacedName, version string, scale plan.Scale) {
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
	shown := b.known[w.kind].trouble.None() // else what is learned is told when that is over
	b.mu.Unlock()
	if shown && before != scale {
		b.tell(w.kind, object)
	}
}

// lose forgets the number of an object because of some trouble.
func (e *entry) lose(because plan.Refusal) {
	*e = entry{scale: plan.Scale{Trouble: because, UID: e.scale.UID, Written: e.scale.Written}}
}

// failed hears that an object could not be read. The number that is known of it
// stands for a while, unless it may not be read at all, and failed returns for how
// long.
func (b *Cache) failed(w *watch, object types.NamespacedName, seen *record, because plan.Refusal) time.Duration {
	b.mu.Lock()
	e := b.of(w, object)
	if e == nil {
		b.mu.Unlock()
		return 0
	}
	forbidden := because.Code == reason.ReferenceForbidden
	if stands := keptFor - time.Since(e.newer); !forbidden && e.scale.Trouble.None() && e.scale.UID == seen.uid && stands > 0 {
		b.mu.Unlock()
		return stands
	}
	var told []types.NamespacedName
	if e.scale.Trouble != because {
		e.lose(because)
		told = append(told, object)
	}
	if forbidden {
		told = append(told, b.bar(w, because)...)
	}
	b.mu.Unlock()
	b.tell(w.kind, told...)
	return 0
}

// bar ends the watch of a kind no object of which may be read: nobody is to see
// more than he needs. It returns whom to tell. Call it locked.
func (b *Cache) bar(w *watch, because plan.Refusal) []types.NamespacedName {
	k := b.known[w.kind]
	for _, e := range k.wanted {
		if code := e.scale.Trouble.Code; code != reason.ReferenceForbidden && code != reason.ReferenceMissing {
			return nil
		}
	}
	told := b.abandon(w.kind, k, because)
	k.barred, k.due = true, time.Now().Add(b.backOff.When(w.kind))
	b.remind(w.kind, k)
	return told
}

// barred reports whether the scales of a kind still may not be read that were
// forbidden, by asking for a few.
func (b *Cache) barred(ctx context.Context, name schema.GroupKind, r resource) bool {
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
		k.barred = forbidden
	}
	return forbidden
}

// sample returns some objects of a kind the scales of which were forbidden.
func (b *Cache) sample(name schema.GroupKind) []types.NamespacedName {
	const most = 10
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.known[name]
	if k == nil || !k.barred {
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

// lasts waits where a kind was forbidden, until it is sure that it is no more: a
// right to list is none to watch. It returns false when ctx ends first.
func (b *Cache) lasts(ctx context.Context, w *watch) bool {
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

// complete hears that a watch has seen all that exists, and returns what of it is wanted.
func (b *Cache) complete(w *watch) []types.NamespacedName {
	b.mu.Lock()
	k := b.known[w.kind]
	if k == nil || k.watch != w {
		b.mu.Unlock()
		return nil
	}
	wanted := slices.Collect(maps.Keys(k.wanted))
	told := b.trouble(w.kind, k, plan.Refusal{})
	b.mu.Unlock()
	b.tell(w.kind, told...)
	return wanted
}

// lost ends a watch that the API server refuses, and lets its kind be looked for again.
func (b *Cache) lost(w *watch, because plan.Refusal) {
	b.mu.Lock()
	k := b.known[w.kind]
	if k == nil || k.watch != w {
		b.mu.Unlock()
		return
	}
	told := b.abandon(w.kind, k, because)
	if time.Since(w.began) > 2*againMost {
		b.backOff.Forget(w.kind) // it had gone well
	}
	k.due = time.Now().Add(b.backOff.When(w.kind))
	b.remind(w.kind, k)
	b.mu.Unlock()
	b.tell(w.kind, told...)
}

// listed hears that all objects were listed: from now on their versions count as
// they are, also where they are older than what was read.
func (b *Cache) listed(w *watch) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.known[w.kind]; k != nil && k.watch == w {
		for _, e := range k.wanted {
			e.read = ""
		}
	}
}
