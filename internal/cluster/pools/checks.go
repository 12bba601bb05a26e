package pools

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// checkAgain is how long a refused template is not checked again: what the API server refuses can become valid, such as
// by an update of Kubernetes.
const checkAgain = time.Minute

// checks are what dry runs of this process have shown of the templates of pools, and which orphans it has found. A process
// that lacks one asks again.
type checks struct {
	mu sync.Mutex
	of map[plan.Key]check
}

type check struct {
	refusedHash string // of the template that was refused
	refused     plan.Refusal
	newest      string // the revision to which the changes lead
	changes     map[string]pool.Change
	orphans     pool.Orphans
	taken       map[pool.ID]bool // identities of which another owner has a claim
	growths     []pool.RefusedGrowth
	volumes     map[string]pool.VolumeLook // by the UID of the pod
	losses      []time.Time                // when identities were replaced because they were lost, the last few
	service     pool.ServiceLook
}

// Refused receives why the API server refuses a pod of the template with that hash.
func (o *Observer) Refused(key plan.Key, hash, because string) {
	o.checks.update(key, func(c *check) {
		c.refusedHash = hash
		c.refused = plan.Refusal{Code: reason.TemplateInvalid, Detail: because, Until: o.options.Now().Add(checkAgain)}
	})
	o.options.Changed(key)
}

// Compared receives how the pods of a revision differ from those of the newest one.
func (o *Observer) Compared(key plan.Key, newest, revision string, change pool.Change) {
	o.checks.update(key, func(c *check) {
		changes := map[string]pool.Change{revision: change}
		if c.newest == newest {
			maps.Copy(changes, c.changes) // a new map, because snapshots share the former one
			changes[revision] = change
		}
		c.newest, c.changes = newest, changes
	})
	o.options.Changed(key)
}

// ClaimTaken receives an identity of which a claim cannot be created, because another owner has one of its name. It is kept
// while the pod of the identity exists.
func (o *Observer) ClaimTaken(key plan.Key, id pool.ID) {
	o.checks.update(key, func(c *check) {
		taken := map[pool.ID]bool{id: true} // a new map, because snapshots share the former one
		for former := range c.taken {
			_, exists, _ := o.pods.GetStore().GetByKey(key.Namespace + "/" + pool.PodName(key.Name, former))
			if exists {
				taken[former] = true
			}
		}
		c.taken = taken
	})
	o.options.Changed(key)
}

// Lost receives how many identities were replaced because they were lost.
func (o *Observer) Lost(key plan.Key, identities int) {
	o.checks.update(key, func(c *check) {
		for range identities {
			c.losses = append(c.losses, o.options.Now())
		}
		c.losses = slices.Clone(c.losses[max(0, len(c.losses)-mostLosses):])
	})
}

// mostLosses bounds the losses that are known: more of them make no pause longer.
const mostLosses = 8

// GrowthRefused receives why the API server refuses more storage for a claim.
func (o *Observer) GrowthRefused(key plan.Key, claim string, to pool.Storage, because string) {
	now := o.options.Now()
	o.checks.update(key, func(c *check) {
		growths := []pool.RefusedGrowth{{Claim: claim, To: to, Because: plan.Refusal{Code: reason.ExpansionRefused, Detail: because, Until: now.Add(checkAgain)}}}
		for _, former := range c.growths { // a new list, because snapshots share the former one
			if former.Claim != claim && former.Because.Until.After(now) {
				growths = append(growths, former)
			}
		}
		c.growths = growths
	})
	o.options.Changed(key)
}

// FoundOrphans receives the pods that match the selector of a pool and do not belong to it.
func (o *Observer) FoundOrphans(key plan.Key, found pool.Orphans) {
	o.checks.update(key, func(c *check) { c.orphans = found })
	o.options.Changed(key)
}

func (c *checks) update(key plan.Key, change func(*check)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[plan.Key]check{}
	}
	of := c.of[key]
	change(&of)
	c.of[key] = of
}

func (c *checks) forget(key plan.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.of, key)
}

// fill adds what is known of the present template of a pool.
func (c *checks) fill(s *pool.Snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	known := c.of[s.Key]
	s.Orphans, s.Taken, s.RefusedGrowths, s.Volumes, s.Service = known.orphans, known.taken, known.growths, known.volumes, known.service
	for _, at := range known.losses {
		if s.Now.Sub(at) < pool.LossesCountFor {
			s.Lost++
		}
	}
	switch {
	case s.Object.InvalidTemplate != "":
		s.Refused = plan.Refusal{Code: reason.TemplateInvalid, Detail: s.Object.InvalidTemplate, Until: s.Now.Add(checkAgain)}
	case known.refusedHash == s.Object.Hash:
		s.Refused = known.refused
	}
	if known.newest == s.Newest().Name {
		s.Changes = known.changes
	}
}
