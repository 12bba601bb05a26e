package main

import (
	"cmp"
	"slices"
	"time"
)

// member is the last observed state of a pod of the StatefulCluster.
type member struct {
	id, name, uid, node string
	image               string // that the container runs
	wanted              string // image of the spec
	ready, terminating  bool
}

// serving reports whether the pod is ready, is not terminating, and runs the image of its spec.
func (m member) serving() bool { return m.ready && !m.terminating && m.image == m.wanted }

// claim is the last observed state of a claim of the StatefulCluster.
type claim struct {
	id, name string
	spent    string // why its identity has ended; empty: it has not
}

// memberChange is one watch event of the StatefulCluster. Exactly one of member, claim and holder is not nil.
type memberChange struct {
	at      time.Time // when it arrived
	deleted bool      // the object was deleted; this is its last state
	member  *member
	claim   *claim
	holder  *string // of the Lease
}

// identity is one identity of the StatefulCluster: a pod and a claim that have its id.
type identity struct {
	pod       member
	claim     claim
	gone      bool // the pod was deleted
	reborn    bool // another pod of the same name has followed
	claimGone bool // the claim was deleted
	late      bool // it takes the place of another one
}

// living reports whether the identity has a pod that is not terminating.
func (i *identity) living() bool { return i.pod.uid != "" && !i.gone && !i.pod.terminating }

// identities is the observed state of the StatefulCluster.
type identities struct {
	all    []*identity // in the order of their first event
	holder string      // of the Lease
	filled bool        // new identities take the places of others
}

// apply applies a watch event and returns what a line says about each object that changed.
func (s *identities) apply(c memberChange) []remark {
	switch {
	case c.member != nil:
		return s.of(c.member.id).applyPod(*c.member, c.deleted)
	case c.claim != nil:
		return s.of(c.claim.id).applyClaim(*c.claim, c.deleted)
	}
	s.holder = *c.holder
	return nil
}

// of returns the identity with an id, which is a new one if the id was not seen before.
func (s *identities) of(id string) *identity {
	at := slices.IndexFunc(s.all, func(i *identity) bool { return cmp.Or(i.pod.id, i.claim.id) == id })
	if at >= 0 {
		return s.all[at]
	}
	born := &identity{pod: member{id: id}, claim: claim{id: id}, late: s.filled}
	s.all = append(s.all, born)
	return born
}

// remark is what a line says about an object.
type remark struct{ about, text string }

func (i *identity) applyPod(now member, deleted bool) []remark {
	before := i.pod
	i.pod, i.gone = now, deleted
	i.reborn = i.reborn || before.uid != "" && before.uid != now.uid
	switch {
	case deleted:
		return []remark{{now.name, "gone"}}
	case before.uid != now.uid:
		return []remark{{now.name, "new identity"}}
	case now.terminating && !before.terminating:
		return []remark{{now.name, "deleted"}}
	case now.wanted != before.wanted:
		return []remark{{now.name, "restarts in place with " + now.wanted}}
	case now.serving() && !before.serving():
		return []remark{{now.name, "Ready on " + now.node + " with " + now.image}}
	}
	return nil
}

func (i *identity) applyClaim(now claim, deleted bool) []remark {
	before := i.claim
	i.claim, i.claimGone = now, deleted
	switch {
	case deleted:
		return []remark{{now.name, "deleted"}}
	case now.spent != "" && before.spent == "":
		return []remark{{now.name, "spent: " + now.spent}}
	}
	return nil
}

// serving returns the identities with a claim that is not spent, whose pods serve with an image.
func (s *identities) serving(image string) []*identity {
	return slices.DeleteFunc(slices.Clone(s.all), func(i *identity) bool {
		return !i.living() || !i.pod.serving() || i.pod.image != image || i.claim.name == "" || i.claim.spent != ""
	})
}

// living returns the identities that have a pod.
func (s *identities) living() []*identity {
	return slices.DeleteFunc(slices.Clone(s.all), func(i *identity) bool { return !i.living() })
}

// settled reports whether all pods serve with an image, and no operation is under way.
func (s *identities) settled(image string) bool {
	return len(s.serving(image)) == replicas && len(s.living()) == replicas && s.holder == ""
}
