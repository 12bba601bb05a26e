package reference

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// The methods of this file answer and hear a watch for as long as it is the one
// of its kind; what another one says that has not ended yet does not count.

// of returns what is known of an object that is wanted. Call it locked.
func (b *Book) of(w *watch, object types.NamespacedName) *entry {
	if k := b.known[w.kind]; k != nil && k.watch == w {
		return k.wanted[object]
	}
	return nil
}

func (b *Book) isWanted(w *watch, object types.NamespacedName) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of(w, object) != nil
}

// outdated tells whether an object that is wanted has changed since it was read.
func (b *Book) outdated(w *watch, object types.NamespacedName, seen *record) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.of(w, object)
	if e == nil {
		return false
	}
	return e.read == "" || e.scale.UID != seen.uid || (e.read != seen.version && !older(seen.version, e.read))
}

// learn takes over what was found out about an object at a version, and tells
// whom it concerns. That nothing but the version differs concerns nobody.
func (b *Book) learn(w *watch, object types.NamespacedName, version string, scale plan.Scale) {
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
	e.scale, e.read = scale, version
	before.Version = scale.Version
	shown := b.known[w.kind].trouble.None() // else what is learned is told when that is over
	b.mu.Unlock()
	if shown && before != scale {
		b.tell(w.kind, object)
	}
}

// failed hears that an object could not be read. What is known of it stands.
func (b *Book) failed(w *watch, object types.NamespacedName, seen *record, because plan.Refusal) {
	b.mu.Lock()
	e := b.of(w, object)
	keeps := e == nil || e.scale.Trouble == because || (e.scale.Trouble.None() && e.scale.UID == seen.uid)
	if !keeps {
		e.scale, e.read = plan.Scale{Trouble: because, Written: e.scale.Written}, ""
	}
	b.mu.Unlock()
	if !keeps {
		b.tell(w.kind, object)
	}
}
