package pool

import (
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Strategy says how pods get the newest template.
type Strategy struct {
	OnDelete       bool  // only new pods get it
	Partition      Share // how many pods stay as they are
	MaxUnavailable Share // how many pods may be unavailable
	MaxSurge       Share // how many pods more than asked for may exist while new identities take the places of others
	Policy         PodUpdatePolicy
	Grace          time.Duration // how long a pod that is updated in place is not Ready before
}

// PodUpdatePolicy says how one pod gets the newest template.
type PodUpdatePolicy string

// The policies.
const (
	// InPlaceIfPossible: in place, or else by a hand-over.
	InPlaceIfPossible PodUpdatePolicy = "InPlaceIfPossible"
	// InPlaceOnly: in place, or not at all.
	InPlaceOnly PodUpdatePolicy = "InPlaceOnly"
	// RecreateKeepIdentity: by a hand-over.
	RecreateKeepIdentity PodUpdatePolicy = "RecreateKeepIdentity"
	// Recreate: by a new identity.
	Recreate PodUpdatePolicy = "Recreate"
)

// Share is a number of pods, or a percentage of spec.replicas.
type Share struct {
	Pods    int
	Percent int
}

// Of returns the share as a number of pods. A percentage is rounded up.
func (s Share) Of(replicas int) int {
	if s.Percent > 0 {
		return int((int64(replicas)*int64(s.Percent) + 99) / 100)
	}
	return s.Pods
}

// AtMost returns the share as a number of pods that must not be exceeded. A percentage is rounded down, but is at least
// one pod.
func (s Share) AtMost(replicas int) int {
	if s.Percent > 0 {
		return plan.PercentOf(replicas, s.Percent)
	}
	return max(1, s.Pods)
}

// String returns the share as a user writes it.
func (s Share) String() string {
	if s.Percent > 0 {
		return strconv.Itoa(s.Percent) + "%"
	}
	return strconv.Itoa(s.Pods)
}
