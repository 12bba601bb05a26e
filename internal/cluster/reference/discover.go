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
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// rediscoveries are the pauses before repeated discoveries after a change of a CRD, because discovery and
// scales follow the CRD with a delay.
var rediscoveries = []time.Duration{time.Second, 9 * time.Second, 20 * time.Second}

// discoveryInterval is the interval of discoveries of watched kinds if CRDs cannot be watched.
const discoveryInterval = 5 * time.Minute

// discoverNext handles the next turn. An API group that does not respond delays only discoveries of its
// own kinds.
func (b *Cache) discoverNext(ctx context.Context) bool {
	t, quit := b.turns.Get()
	if quit {
		return false
	}
	due := b.due(t)
	if len(due) == 0 || b.finds.Wait(ctx) != nil {
		b.turns.Done(t)
		return true
	}
	b.running.Go(func() {
		defer b.turns.Done(t)
		b.discover(ctx, t.group, due)
		if len(b.due(t)) > 0 {
			b.turns.Add(t)
		}
	})
	return true
}

// due returns the kinds that are due for discovery. It drops kinds that have not been wanted for a
// while, and queues the next turn.
func (b *Cache) due(t turn) []schema.GroupKind {
	b.mu.Lock()
	var due, refused []schema.GroupKind
	affected := map[schema.GroupKind][]types.NamespacedName{}
	if s := b.shares[t.namespace]; s != nil {
		for name, k := range maps.Clone(s.kinds) {
			switch rest := time.Until(k.due); {
			case name.Group != t.group:
			case !k.idle.IsZero() && time.Since(k.idle) >= idleTimeout:
				b.forget(name, k)
			case !k.idle.IsZero():
				b.turns.AddAfter(t, idleTimeout-time.Since(k.idle))
			case k.due.IsZero():
			case k.surplus:
				k.due = time.Time{}
				refused, affected[name] = append(refused, name), b.trouble(name, k, surplus(name))
			case rest > 0:
				b.turns.AddAfter(t, rest)
			default:
				due = append(due, name)
			}
		}
	}
	b.mu.Unlock()
	for _, name := range refused {
		b.notifyListener(name, affected[name]...)
	}
	return due
}

// discover discovers kinds of an API group.
func (b *Cache) discover(ctx context.Context, group string, names []schema.GroupKind) {
	d := &discovery{cache: b, group: group}
	for _, name := range names {
		found, because, err := d.find(ctx, name.Kind)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			b.options.Log.WithError(err).Debug("a kind could not be discovered")
			because = failing(err, "discovery")
		} else if because.None() && b.scalesForbidden(ctx, name, found) {
			because = plan.Refusal{Code: reason.ReferenceForbidden, Detail: "get " + found.scale()}
		}
		b.notifyListener(name, b.settle(ctx, name, found, because, err)...)
	}
}

// settle starts the watch of a discovered kind, or records why it cannot be watched. It returns the
// objects whose listeners must be called.
func (b *Cache) settle(ctx context.Context, name schema.GroupKind, found resource, because plan.Refusal, err error) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.known[name]
	if k == nil {
		return nil
	}
	if because.None() && k.watch == nil && b.watches >= maxWatches && !b.evictIdleKind() {
		because = unknown(name, fmt.Sprintf("%d other kinds are watched, which is the maximum", maxWatches))
	}
	switch {
	case because.None():
		if k.watch == nil || k.watch.resource != found {
			b.replace(ctx, name, k, found)
		}
		b.follow(k)
		return nil
	case k.watch != nil && err != nil: // the current watch continues
		k.due = time.Now().Add(b.backOff.When(name))
		return nil
	}
	k.due = time.Now().Add(b.backOff.When(name))
	return b.abandon(name, k, because)
}

// follow sets the time of the next discovery of a watched kind. After a change of its CRD it has the
// objects read again, because the path of their replicas may have changed.
func (b *Cache) follow(k *kind) {
	if first, last := k.rediscoveries == 1, k.rediscoveries == len(rediscoveries); k.redefined && (first || last) {
		k.redefined = !last
		for object, e := range k.wanted {
			e.read = ""
			k.watch.queue.Add(object)
		}
	}
	switch {
	case k.rediscoveries < len(rediscoveries):
		k.due = time.Now().Add(rediscoveries[k.rediscoveries])
		k.rediscoveries++
	case b.options.Namespace != "":
		k.due = time.Now().Add(discoveryInterval)
	default:
		k.due = time.Time{}
	}
}

// evictIdleKind ends the watch of a kind without wanted objects. Callers hold the lock.
func (b *Cache) evictIdleKind() bool {
	for name, k := range b.known {
		if k.watch != nil && !k.idle.IsZero() {
			b.forget(name, k)
			return true
		}
	}
	return false
}

// replace watches a resource instead of the former resource of the kind. The known scales must be
// read again, and stay valid until then. Callers hold the lock.
func (b *Cache) replace(ctx context.Context, name schema.GroupKind, k *kind, found resource) {
	b.end(k)
	for _, e := range k.wanted {
		e.read = ""
	}
	k.watch = b.start(ctx, name, found)
	b.watches++
}

// abandon ends the watch of a kind because of a failure, and drops the known scales. It returns the
// objects whose listeners must be called. Callers hold the lock.
func (b *Cache) abandon(name schema.GroupKind, k *kind, because plan.Refusal) []types.NamespacedName {
	b.end(k)
	for _, e := range k.wanted {
		e.clear(notRead)
	}
	return b.trouble(name, k, because)
}

// trouble records why a kind is not watched, or that it is. It returns the objects whose listeners
// must be called. Callers hold the lock.
func (b *Cache) trouble(name schema.GroupKind, k *kind, because plan.Refusal) []types.NamespacedName {
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

// redefined handles a change of a CRD.
func (b *Cache) redefined(changed schema.GroupResource) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, k := range b.known {
		if name.Group == changed.Group {
			k.rediscoveries = 0
			k.redefined = k.redefined || (k.watch != nil && k.watch.resource.Resource == changed.Resource)
			b.dueNow(name, k)
		}
	}
}

// dueNow queues a discovery of a kind at once. Callers hold the lock.
func (b *Cache) dueNow(name schema.GroupKind, k *kind) {
	b.backOff.Forget(name)
	k.due = time.Now()
	b.remind(name, k)
}

// failing returns the refusal to report for a failed request.
func failing(err error, what string) plan.Refusal {
	if apierrors.IsForbidden(err) {
		return plan.Refusal{Code: reason.ReferenceForbidden, Detail: what}
	}
	return plan.Refusal{Code: reason.RequestFailing, Detail: what}
}
