package plan

import (
	"slices"
	"strings"
)

// Holder names an operation in a zone, never a process: "rollout/zone-a".
type Holder string

// Operation is the first part of a Holder.
type Operation string

// Operations of lockstep.
const (
	RolloutOperation   Operation = "rollout"
	DownscaleOperation Operation = "downscale"
	EvictionOperation  Operation = "eviction"
	// StatefulClusterOperation is all that ends pods of a StatefulCluster. A StatefulCluster has no zones, so the second
	// part of the holder is its name.
	StatefulClusterOperation Operation = "statefulcluster"
)

// For returns the holder of an operation in a zone.
func (o Operation) For(zone string) Holder { return Holder(string(o) + "/" + zone) }

// Free reports whether no operation has the hold.
func (h Holder) Free() bool { return h == "" }

// Operation returns the holder's operation.
func (h Holder) Operation() Operation {
	operation, _, _ := strings.Cut(string(h), "/")
	return Operation(operation)
}

// Zone returns the holder's zone.
func (h Holder) Zone() string {
	_, zone, _ := strings.Cut(string(h), "/")
	return zone
}

// Foreign reports whether the holder is not an operation of this version of lockstep, such as
// manual/maintenance. lockstep respects a foreign holder until it lapses.
func (h Holder) Foreign() bool {
	switch h.Operation() {
	case RolloutOperation, DownscaleOperation, EvictionOperation, StatefulClusterOperation:
		return false
	}
	return !h.Free()
}

// Newer reports whether the holder is an operation of a newer version of lockstep, which this
// version does not know. This version cannot evaluate its intents.
func (h Holder) Newer() bool { return slices.Contains(newerOperations, h.Operation()) }

// newerOperations are the operations that only newer versions of lockstep have.
var newerOperations = []Operation{"progressive", "replicated"}

// Partitions replaces the zone in the holder of evictions that count by partition.
const Partitions = "partitions"

// Plain returns the holder as printable text.
func (h Holder) Plain() string { return Plain(string(h), longestHolder) }

// longestHolder is the longest holder that is shown, in bytes.
const longestHolder = 320
