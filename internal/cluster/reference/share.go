package reference

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// The methods of this file assign kinds to namespaces. A kind that several namespaces name is in the
// share of one of them. So a namespace that names many kinds does not delay others. Callers hold the
// lock.

// share contains the kinds of one namespace.
type share struct {
	kinds map[schema.GroupKind]*kind
	used  int // number of kinds that are not surplus
}

// turn is the turn of one namespace to discover kinds of an API group.
type turn struct{ namespace, group string }

// share adds a kind to the share of a namespace.
func (b *Cache) share(name schema.GroupKind, k *kind, namespace string) {
	s := b.shares[namespace]
	if s == nil {
		s = &share{kinds: map[schema.GroupKind]*kind{}}
		b.shares[namespace] = s
	}
	s.kinds[name], k.namespace = k, namespace
	if k.surplus = s.used >= maxKinds; !k.surplus {
		s.used++
	}
}

// unshare removes a kind from its share. Another kind may take its place.
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

// advance makes one surplus kind due for discovery.
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

// adopt moves a kind into the share of namespace if it is surplus in its current share.
func (b *Cache) adopt(name schema.GroupKind, k *kind, namespace string) {
	if s := b.shares[namespace]; !k.surplus || (s != nil && s.used >= maxKinds) {
		return
	}
	b.unshare(name, k)
	b.share(name, k, namespace)
	b.dueNow(name, k)
}

// leave moves a kind to another share if a namespace no longer wants any object of it.
func (b *Cache) leave(name schema.GroupKind, k *kind, namespace string) {
	if namespace != k.namespace {
		return
	}
	successor := ""
	for object := range k.wanted {
		if successor = object.Namespace; successor == namespace {
			return
		}
	}
	was := k.surplus
	b.unshare(name, k)
	b.share(name, k, successor)
	switch {
	case was && !k.surplus:
		k.due = time.Now()
	case !was && k.surplus: // the kind is watched already, so it stays
		k.surplus = false
		b.shares[successor].used++
	}
	b.remind(name, k)
}

// forget drops a kind.
func (b *Cache) forget(name schema.GroupKind, k *kind) {
	b.end(k)
	b.backOff.Forget(name)
	b.unshare(name, k)
	delete(b.known, name)
}

func surplus(name schema.GroupKind) plan.Refusal {
	return unknown(name, fmt.Sprintf("its namespace names %d other kinds, which is the maximum", maxKinds))
}
