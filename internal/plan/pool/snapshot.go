package pool

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Snapshot is a StatefulCluster and all that belongs to it, as observed once.
type Snapshot struct {
	Key  plan.Key
	Now  time.Time
	Live bool // read live, not from caches

	Object    Object
	Revisions []Revision // of the object, in the order of their numbers
	Pods      []Pod      // that have the labels of the pool, of any owner
	Claims    []Claim    // that have the labels of the pool
	// Unlabelled are claims of pods that exist and lack the labels of the pool. Only a live read shows them.
	Unlabelled []UnlabelledClaim
	Orphans    Orphans
	// Taken are identities of which a claim cannot be created, because another owner has one of its name. For reading only.
	Taken map[ID]bool
	Hold  plan.Hold
	Part  Part // what the Lease records beside the hold

	ObjectsAt plan.Version // no state of the object that is older than this is shown
	PodsAt    plan.Version // the same for pods
	ClaimsAt  plan.Version // the same for claims

	// Refused is why the API server refuses a pod of the template; none: it does not, or nothing is known. Until is when
	// to ask again.
	Refused plan.Refusal
	// Service is what the last look at the Service of the object has shown.
	Service ServiceLook
	// Volumes are what the last looks at the volumes of pods without a node have shown, by UID. They are for reading only.
	Volumes map[string]VolumeLook
	// RefusedGrowths are claims for which the API server has refused more storage. They are for reading only.
	RefusedGrowths []RefusedGrowth
	// Lost is how many identities this process has replaced within LossesCountFor because they were lost.
	Lost int
	// Changes is how the pods of other revisions differ from the pods of the template, as far as it is known: by the name of
	// the revision, or by the UID of a pod whose revision is not known. It is for reading only, because snapshots share it.
	Changes map[string]Change

	// Draw draws an identity. A source that repeats makes plans that repeat.
	Draw func() ID

	index *index // nil: its lists are searched
}

// Object is the StatefulCluster. The zero Object does not exist.
type Object struct {
	UID                 string
	Version             plan.Version
	Generation          int64
	Deleting            bool
	Unreadable          string // why its spec cannot be read; then nothing else of it is known
	InvalidTemplate     string // why its templates cannot be used; then they and Hash are empty
	Replicas            int
	MinReady            time.Duration
	Hash                string      // of the template and the names of the claim templates
	RevisionHistory     int         // how many revisions that no pod has are kept
	Paused              bool        // no pod is updated
	PausedUntil         plan.Moment // when the pause is over; none: when a person ends it
	WithoutEffect       string      // labels and annotations of the object that have no effect; empty: none
	ScaleMaxUnavailable Share       // how many pods may be unavailable while missing pods are created; 0: any number
	Ordered             bool        // pods are created, and leave, one at a time
	AwaitEnds           bool        // a pod that terminates has its place until it has ended
	Strategy            Strategy
	Keep                KeepPolicy
	HandoverTimeout     time.Duration // 0: a kept identity is waited for without end
	Deadline            time.Duration // of an update that makes no progress; 0: none
	Liveness            Liveness
	Claim               ClaimPolicy

	// Of each pod, as the object has them.
	Templates
	Labels   map[string]string // those of the selector
	Selector string            // as the API server reads it
	Service  string            // the headless Service; empty: none

	PodsToDelete []string // names of pods that are asked to leave
	Adopt        bool     // a person asks to adopt the pods that match the selector and belong to nothing

	// Current is the revision that pods had before the newest one, as its status says; empty: it says nothing.
	Current string
	// Conditions are those of its status, to keep the times of their last changes. No rule reads them.
	Conditions []Condition
}

// Condition is a condition of the status of the object.
type Condition struct {
	Type   string
	Status string
	Since  time.Time
}

// Templates are the templates of a pod and of its claims.
type Templates struct {
	Pod    []byte // as JSON
	Claims []ClaimTemplate
}

// ClaimTemplate is a template of claims. Each identity has one claim of each template.
type ClaimTemplate struct {
	Name     string
	Template []byte // as JSON
	Storage  Storage
}

// PausedAt reports whether updates are paused at a time.
func (o *Object) PausedAt(now time.Time) bool { return o.Paused && o.PausedUntil.PausesAt(now) }

// Exists reports whether the object exists.
func (o *Object) Exists() bool { return o.UID != "" }

// Pod is a pod with the labels of the pool.
type Pod struct {
	plan.Pod
	ID        ID
	Owner     string        // UID of its controller; empty: none
	Unmatched bool          // the selector of the object does not match its labels
	Gated     bool          // it cannot be scheduled before its claims exist
	Scheduled bool          // it has a node
	Finished  bool          // its containers have ended and are not restarted
	Asked     bool          // a person asks for it to leave, or to be replaced
	Cost      int           // its deletion cost: pods of lower cost leave first
	Restarts  int           // of its containers
	EndsBy    time.Time     // when its grace period is over, if it is terminating
	From      string        // UID of the pod that its identity had before; empty: none
	Retain    bool          // a person asks to keep its identity
	Withdrawn plan.Version  // of the last recorded deletion of the pod that lockstep has withdrawn; 0: none
	Disrupted bool          // it was evicted, or Kubernetes removes it
	Ran       bool          // its status says that one of its containers has run
	Ended     plan.UnixTime // when it was finished at the latest; 0: nothing says that
	Node      Node
	Mounts    []Mount   // the claims of its identity that it mounts
	NotReady  time.Time // since when it is not Ready; zero: it is, or nothing is known

	Generation, Observed int64 // of its spec, and that of its status; Observed is 0 if the kubelet does not report it
	Containers           []Container
	Update               InPlaceUpdate
	Gate                 Gate
	GateSince            time.Time // of the state of the gate; zero: it has never been open
	Resize               Resize
	ResizeSince          time.Time // of the state of the resize
}

// Mount is a claim that a pod mounts. The name of its volume is that of a claim template.
type Mount struct{ Template, Claim string }

// mounts reports whether the pod mounts a claim.
func (p *Pod) mounts(claim string) bool {
	return slices.ContainsFunc(p.Mounts, func(m Mount) bool { return m.Claim == claim })
}

// Container is a container of a pod.
type Container struct {
	Name    string
	Image   string // of the spec
	ID      string // of the running container and its image; it changes with each start
	Running bool
	Resources
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
	Pool     string   // UID of the StatefulCluster for which it was created
	Siblings []string // the claim templates of its identity when it was created
	From     string   // UID of the pod from which its identity is handed over, or was; empty: it never was
	Retain   bool     // a person asked to keep the identity at the end of that pod
	Deleting bool
	Bound    bool        // it has a volume; no rule reads it
	Storage  Storage     // for which lockstep has asked
	Retired  bool        // its identity has ended
	Owned    bool        // by the object
	Keep     bool        // a person wants to keep it
	Ended    time.Time   // when, if Retired
	Because  reason.Code // why, if Retired
}

// marked reports whether the claim says when its identity has ended. A time that cannot be read is written again.
func (c *Claim) marked() bool { return c.Retired && !c.Ended.IsZero() }

// claimsOf returns the claims of an identity that belong to this pool. They are for reading only.
func (s *Snapshot) claimsOf(id ID) []Claim {
	if s.index != nil {
		return s.index.claims[id]
	}
	var claims []Claim
	for _, c := range s.Claims {
		if c.ID == id && c.Pool == s.Object.UID {
			claims = append(claims, c)
		}
	}
	return claims
}

// claimsIf returns the claims of an identity that satisfy a condition.
func (s *Snapshot) claimsIf(id ID, is func(*Claim) bool) []Claim {
	var claims []Claim
	of := s.claimsOf(id)
	for i := range of {
		if is(&of[i]) {
			claims = append(claims, of[i])
		}
	}
	return claims
}

// podNamed returns the pod of that name, of any owner.
func (s *Snapshot) podNamed(name string) (Pod, bool) {
	if s.index != nil {
		i, exists := s.index.pods[name]
		if !exists {
			return Pod{}, false
		}
		return s.Pods[i], true
	}
	i := slices.IndexFunc(s.Pods, func(p Pod) bool { return p.Name == name })
	if i < 0 {
		return Pod{}, false
	}
	return s.Pods[i], true
}

// podOf returns the pod of an identity, of any owner.
func (s *Snapshot) podOf(id ID) (Pod, bool) { return s.podNamed(PodName(s.Key.Name, id)) }

// hasPod reports whether an identity has a pod by its name or by its label, of any owner.
func (s *Snapshot) hasPod(id ID) bool {
	_, named := s.podOf(id)
	return named || s.lives(id)
}

// lives reports whether a pod has the label of an identity, of any owner.
func (s *Snapshot) lives(id ID) bool {
	if s.index != nil {
		return s.index.lives[id]
	}
	return slices.ContainsFunc(s.Pods, func(p Pod) bool { return p.ID == id })
}
