package reference

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// The methods of this file say whose kinds are whose: one that several namespaces
// name is in the share of one of them. So nobody delays others by naming many. They
// are called locked.

// share is what one namespace lets be looked for.
type share struct {
	kinds map[schema.GroupKind]*kind
	used  int // without the surplus
}

// turn is one namespace's turn to ask an API group for kinds.
type turn struct{ namespace, group string }

// share puts a kind into the share of a namespace.
func (b *Cache) share(name schema.GroupKind, k *kind, namespace string) {
	s := b.shares[namespace]
	if s == nil {
		s = &share{kinds: map[schema.GroupKind]*kind{}}
		b.shares[namespace] = s
	}
	s.kinds[name], k.namespace = k, namespace
	if k.surplus = s.used >= mostKinds; !k.surplus {
		s.used++
	}
}

// unshare takes a kind out of its share, which may leave room for another one.
func (b *Cache) unshare(name schema.GroupKind, k *kind) {
	s := b.shares[k.namespace]
	delete(s.kinds, name)
	if !k.surplus {
		s.used--
		b.advance(s)
	}
	if len(s.kinds) == 0 {
		delete(b.shares, k.namespace)
	}
}

// advance lets one kind be looked for that was surplus.
func (b *Cache) advance(s *share) {
	for name, k := range s.kinds {
		if k.surplus {
			k.surplus = false
			s.used++
			b.dueNow(name, k)
			return
		}
	}
}

// adopt takes a kind over that was surplus in the share of another namespace.
func (b *Cache) adopt(name schema.GroupKind, k *kind, namespace string) {
	if s := b.shares[namespace]; !k.surplus || (s != nil && s.used >= mostKinds) {
		return
	}
	b.unshare(name, k)
	b.share(name, k, namespace)
	b.dueNow(name, k)
}

// leave hears that a namespace wants an object less of a kind that is wanted still.
func (b *Cache) leave(name schema.GroupKind, k *kind, namespace string) {
	if namespace != k.namespace {
		return
	}
	heir := ""
	for object := range k.wanted {
		if heir = object.Namespace; heir == namespace {
			return
		}
	}
	was := k.surplus
	b.unshare(name, k)
	b.share(name, k, heir)
	switch {
	case was && !k.surplus:
		k.due = time.Now()
	case !was && k.surplus: // it costs no more than before
		k.surplus = false
		b.shares[heir].used++
	}
	b.remind(name, k)
}

// forget ends everything about a kind.
func (b *Cache) forget(name schema.GroupKind, k *kind) {
	b.end(k)
	b.backOff.Forget(name)
	b.unshare(name, k)
	delete(b.known, name)
}

func surplus(name schema.GroupKind) plan.Refusal {
	return unknown(name, fmt.Sprintf("%d other kinds are named in its namespace already, and no more can be", mostKinds))
}
