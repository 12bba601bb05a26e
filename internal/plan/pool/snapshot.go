package pool

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Snapshot is a StatefulCluster and all that belongs to it, as observed once.
type Snapshot struct {
	Key  plan.Key
	Now  time.Time
	Live bool // read live, not from caches

	Object Object
	Pods   []Pod   // that have the labels of the pool, of any owner
	Claims []Claim // that have the labels of the pool
	Hold   plan.Hold

	ObjectsAt plan.Version // no state of the object that is older than this is shown
	PodsAt    plan.Version // the same for pods
	ClaimsAt  plan.Version // the same for claims

	// Draw draws an identity. A source that repeats makes plans that repeat.
	Draw func() ID
}

// Object is the StatefulCluster. The zero Object does not exist.
type Object struct {
	UID            string
	Version        plan.Version
	Generation     int64
	Deleting       bool
	Replicas       int
	MinReady       time.Duration
	Revision       string // the update revision
	ClaimTemplates []ClaimTemplate

	// Of each pod, as the object has them. No rule reads them.
	Template []byte            // the template as JSON
	Labels   map[string]string // those of the selector
	Service  string            // the headless Service; empty: none
}

// ClaimTemplate is a template of claims. Each identity has one claim of each template.
type ClaimTemplate struct {
	Name     string
	Template []byte // as JSON
}

// Exists reports whether the object exists.
func (o *Object) Exists() bool { return o.UID != "" }

// Pod is a pod with the labels of the pool.
type Pod struct {
	plan.Pod
	ID        ID
	Owner     string // UID of its controller; empty: none
	Gated     bool   // it cannot be scheduled before its claims exist
	Scheduled bool   // it has a node
	Finished  bool   // its containers have ended and are not restarted
	Cost      int    // its deletion cost: pods of lower cost leave first
	Restarts  int    // of its containers
}

// Active reports whether the pod serves, or can still begin to.
func (p *Pod) Active() bool { return p.Phase != plan.Terminating && !p.Finished }

// Claim is a PersistentVolumeClaim with the labels of the pool.
type Claim struct {
	Name     string
	UID      string
	Version  plan.Version
	ID       ID
	Template string
	Pool     string // UID of the StatefulCluster for which it was created
	Deleting bool
	Retired  bool // its identity has ended
}

// claimsOf returns the claims of an identity that belong to this pool.
func (s *Snapshot) claimsOf(id ID) []Claim {
	var claims []Claim
	for _, c := range s.Claims {
		if c.ID == id && c.Pool == s.Object.UID {
			claims = append(claims, c)
		}
	}
	return claims
}

// lives reports whether an identity has a pod, of any owner.
func (s *Snapshot) lives(id ID) bool {
	return slices.ContainsFunc(s.Pods, func(p Pod) bool { return p.ID == id })
}
