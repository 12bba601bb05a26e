package reference

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sirupsen/logrus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

func (b *Book) resolveNext(ctx context.Context) bool {
	name, quit := b.kinds.Get()
	if quit {
		return false
	}
	defer b.kinds.Done(name)
	if b.wants(name) && !b.resolve(ctx, name) {
		b.kinds.AddRateLimited(name)
	}
	return true
}

func (b *Book) wants(name schema.GroupKind) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known[name] != nil
}

// resolve finds out what serves a kind and lets that be watched. It returns
// false to be called again.
func (b *Book) resolve(ctx context.Context, name schema.GroupKind) bool {
	found, because, err := b.find(ctx, name)
	if err != nil {
		if ctx.Err() != nil {
			return true
		}
		b.options.Log.WithError(err).Debug("a kind could not be looked for")
		because = failing(err, "discovery")
	}
	b.mu.Lock()
	k := b.known[name]
	switch {
	case k == nil: // no more
		b.mu.Unlock()
		return true
	case k.watch != nil && err != nil: // what is known goes on
		b.mu.Unlock()
		return false
	case k.watch != nil && because.None() && k.watch.resource == found:
		b.mu.Unlock()
		return true
	case k.watch == nil && because.None() && b.watches >= mostWatches:
		because = unknown(name, fmt.Sprintf("%d other kinds are watched already, and no more can be", mostWatches))
	}
	if because.None() {
		b.replace(ctx, name, k, found)
		b.mu.Unlock()
		return true
	}
	told := b.abandon(name, k, because)
	b.mu.Unlock()
	b.tell(name, told...)
	return false
}

// replace lets a resource be watched instead of what served the kind so far. What
// was read has to be read again, and stands until then. Call it locked.
func (b *Book) replace(ctx context.Context, name schema.GroupKind, k *kind, found resource) {
	b.end(k)
	for _, e := range k.wanted {
		e.read = ""
	}
	k.watch = b.start(ctx, name, found)
	b.watches++
}

// abandon ends the watch of a kind, because of some trouble, and returns whom to
// tell. What was known is known no more. Call it locked.
func (b *Book) abandon(name schema.GroupKind, k *kind, because plan.Refusal) []types.NamespacedName {
	b.end(k)
	for _, e := range k.wanted {
		e.scale, e.read = plan.Scale{Trouble: unseen, Written: e.scale.Written}, ""
	}
	return b.trouble(name, k, because)
}

// trouble says why a kind is not watched, or that it is, and returns whom to tell.
// Call it locked.
func (b *Book) trouble(name schema.GroupKind, k *kind, because plan.Refusal) []types.NamespacedName {
	if because == k.trouble {
		return nil
	}
	k.trouble = because
	entry := b.options.Log.WithFields(logrus.Fields{"kind": name.Kind, "api_group": name.Group})
	if because.None() {
		entry.Info("the replicas of a kind are watched")
	} else {
		entry.WithFields(logrus.Fields{"reason": because.Code, "detail": because.Detail}).Info("the replicas of a kind cannot be watched")
	}
	return slices.Collect(maps.Keys(k.wanted))
}

// lasts waits where a kind was forbidden, until it is sure that it is no more: a
// right to list is none to watch. It returns false when ctx ends first.
func (b *Book) lasts(ctx context.Context, w *watch) bool {
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
func (b *Book) complete(w *watch) []types.NamespacedName {
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
func (b *Book) lost(w *watch, because plan.Refusal) {
	b.mu.Lock()
	k := b.known[w.kind]
	if k == nil || k.watch != w {
		b.mu.Unlock()
		return
	}
	told := b.abandon(w.kind, k, because)
	if time.Since(w.began) > 2*againMost {
		b.kinds.Forget(w.kind) // it had gone well
	}
	b.kinds.AddRateLimited(w.kind)
	b.mu.Unlock()
	b.tell(w.kind, told...)
}

// again looks for the kinds of an API group, which has changed.
func (b *Book) again(group string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name := range b.known {
		if name.Group == group {
			b.kinds.Forget(name)
			b.kinds.Add(name)
		}
	}
}

// failing returns what to tell of a request that failed.
func failing(err error, what string) plan.Refusal {
	if apierrors.IsForbidden(err) {
		return plan.Refusal{Code: reason.ReferenceForbidden, Detail: what}
	}
	return plan.Refusal{Code: reason.RequestFailing, Detail: what}
}
