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

// A change of a CRD is seen before discovery and scales follow it. So a kind is
// looked for again: so long after the change, and after the look before.
var looks = []time.Duration{time.Second, 9 * time.Second, 20 * time.Second}

// lookAgain is how often kinds are looked for that are watched, where CRDs may not be.
const lookAgain = 5 * time.Minute

// lookNext takes the next turn. An API group that does not answer keeps nobody
// waiting but those who look for its kinds.
func (b *Cache) lookNext(ctx context.Context) bool {
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
		b.look(ctx, t.group, due)
		if len(b.due(t)) > 0 {
			b.turns.Add(t)
		}
	})
	return true
}

// due returns which kinds are to be looked for now, forgets those that nobody has
// wanted for a while, and sees to the next time.
func (b *Cache) due(t turn) []schema.GroupKind {
	b.mu.Lock()
	var due, refused []schema.GroupKind
	told := map[schema.GroupKind][]types.NamespacedName{}
	if s := b.shares[t.namespace]; s != nil {
		for name, k := range maps.Clone(s.kinds) {
			switch rest := time.Until(k.due); {
			case name.Group != t.group:
			case !k.idle.IsZero() && time.Since(k.idle) >= lingers:
				b.forget(name, k)
			case !k.idle.IsZero():
				b.turns.AddAfter(t, lingers-time.Since(k.idle))
			case k.due.IsZero():
			case k.surplus:
				k.due = time.Time{}
				refused, told[name] = append(refused, name), b.trouble(name, k, surplus(name))
			case rest > 0:
				b.turns.AddAfter(t, rest)
			default:
				due = append(due, name)
			}
		}
	}
	b.mu.Unlock()
	for _, name := range refused {
		b.tell(name, told[name]...)
	}
	return due
}

// look asks an API group for kinds.
func (b *Cache) look(ctx context.Context, group string, names []schema.GroupKind) {
	d := &discovery{cache: b, group: group}
	for _, name := range names {
		found, because, err := d.find(ctx, name.Kind)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			b.options.Log.WithError(err).Debug("a kind could not be looked for")
			because = failing(err, "discovery")
		} else if because.None() && b.barred(ctx, name, found) {
			because = plan.Refusal{Code: reason.ReferenceForbidden, Detail: "get " + found.scale()}
		}
		b.tell(name, b.settle(ctx, name, found, because, err)...)
	}
}

// settle lets a kind be watched that was found, or says why it cannot be, and
// returns whom to tell.
func (b *Cache) settle(ctx context.Context, name schema.GroupKind, found resource, because plan.Refusal, err error) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.known[name]
	if k == nil {
		return nil
	}
	if because.None() && k.watch == nil && b.watches >= mostWatches && !b.makeRoom() {
		because = unknown(name, fmt.Sprintf("%d other kinds are watched already, and no more can be", mostWatches))
	}
	switch {
	case because.None():
		if k.watch == nil || k.watch.resource != found {
			b.replace(ctx, name, k, found)
		}
		b.follow(k)
		return nil
	case k.watch != nil && err != nil: // what is known goes on
		k.due = time.Now().Add(b.backOff.When(name))
		return nil
	}
	k.due = time.Now().Add(b.backOff.When(name))
	return b.abandon(name, k, because)
}

// follow sets when a kind is looked for again that is watched, and has its objects
// read again after its CRD has changed: scales may be elsewhere in them.
func (b *Cache) follow(k *kind) {
	if first, last := k.looks == 1, k.looks == len(looks); k.redefined && (first || last) {
		k.redefined = !last
		for object, e := range k.wanted {
			e.read = ""
			k.watch.queue.Add(object)
		}
	}
	switch {
	case k.looks < len(looks):
		k.due = time.Now().Add(looks[k.looks])
		k.looks++
	case b.options.Namespace != "":
		k.due = time.Now().Add(lookAgain)
	default:
		k.due = time.Time{}
	}
}

// makeRoom ends the watch of some kind that nobody wants any more. Call it locked.
func (b *Cache) makeRoom() bool {
	for name, k := range b.known {
		if k.watch != nil && !k.idle.IsZero() {
			b.forget(name, k)
			return true
		}
	}
	return false
}

// replace lets a resource be watched instead of what served the kind so far. What
// was read has to be read again, and stands until then. Call it locked.
func (b *Cache) replace(ctx context.Context, name schema.GroupKind, k *kind, found resource) {
	b.end(k)
	for _, e := range k.wanted {
		e.read = ""
	}
	k.watch = b.start(ctx, name, found)
	b.watches++
}

// abandon ends the watch of a kind, because of some trouble, and returns whom to
// tell. What was known is known no more. Call it locked.
func (b *Cache) abandon(name schema.GroupKind, k *kind, because plan.Refusal) []types.NamespacedName {
	b.end(k)
	for _, e := range k.wanted {
		e.lose(unseen)
	}
	return b.trouble(name, k, because)
}

// trouble says why a kind is not watched, or that it is, and returns whom to tell.
// Call it locked.
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

// redefined hears that a CRD of an API group has changed.
func (b *Cache) redefined(changed schema.GroupResource) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for name, k := range b.known {
		if name.Group == changed.Group {
			k.looks = 0
			k.redefined = k.redefined || (k.watch != nil && k.watch.resource.Resource == changed.Resource)
			b.dueNow(name, k)
		}
	}
}

// dueNow lets a kind be looked for at once. Call it locked.
func (b *Cache) dueNow(name schema.GroupKind, k *kind) {
	b.backOff.Forget(name)
	k.due = time.Now()
	b.remind(name, k)
}

// failing returns what to tell of a request that failed.
func failing(err error, what string) plan.Refusal {
	if apierrors.IsForbidden(err) {
		return plan.Refusal{Code: reason.ReferenceForbidden, Detail: what}
	}
	return plan.Refusal{Code: reason.RequestFailing, Detail: what}
}
