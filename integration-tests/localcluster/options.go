package localcluster

import (
	"fmt"
	"io"
	"net"
)

// loopback is the address of clusters whose pods call nobody.
const loopback = "127.0.0.1"

// Options describe a cluster. The zero value is a cluster with one simulated node,
// no scheduler and the default audit policy.
type Options struct {
	// Progress is told what Start is doing, above all while it builds programs for
	// minutes; in a terminal with a bar, elsewhere in plain lines. Nil is silence.
	Progress io.Writer

	// Nodes is the number of simulated nodes, 1 where it is 0. Each takes 20000 pods;
	// NodeName gives their names. Cluster.AddNodes makes more.
	Nodes int

	// Scheduler starts kube-scheduler. Without it pods must name their node
	// (spec.nodeName), which is faster and enough for most tests. Cluster.StartScheduler
	// starts it later.
	Scheduler bool

	// Stages are more files with kwok stages, beside the ones that this package plays
	// by itself (see the annotations below). A stage of your own must not match pods
	// that one of those matches, or one of the two is drawn by lot.
	Stages []string

	// Address is where the API server listens and what pods reach it by, an address of
	// this machine. Empty, it is 127.0.0.1, which no pod reaches. With one, nodes are the
	// caller's: there are no simulated ones, and Start does not wait for any.
	Address string

	// AuditPolicy replaces the default audit policy (YAML of audit.k8s.io/v1 Policy).
	// The default records full bodies of pod deletions, evictions and all writes to
	// StatefulSets and Leases, and the metadata of every other write and of reads by
	// service accounts.
	AuditPolicy string

	// EtcdSyncs lets every write wait until it is on the disk with etcd's data, as etcd does
	// by itself. Without, etcd never waits for a disk, which is faster and enough for tests.
	EtcdSyncs bool

	// Detached leaves the cluster running when this process ends. StopDetached ends
	// it then.
	Detached bool
}

func (o Options) withDefaults() (Options, error) {
	if o.Nodes < 0 {
		return o, fmt.Errorf("read options: Nodes is %d, a number above 0 is needed (0 means 1)", o.Nodes)
	}
	switch {
	case o.Address == "":
		o.Address, o.Nodes = loopback, max(o.Nodes, 1)
	case net.ParseIP(o.Address) == nil:
		return o, fmt.Errorf("read options: Address is %q, an IP address is needed", o.Address)
	case o.Nodes > 0:
		return o, fmt.Errorf("read options: Nodes is %d, but with an Address there are no simulated nodes", o.Nodes)
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.AuditPolicy == "" {
		o.AuditPolicy = defaultAuditPolicy
	}
	return o, nil
}

// programs are those that the cluster consists of.
func (o Options) programs() []string {
	names := []string{"etcd", "kube-apiserver", "kube-controller-manager"}
	if o.Nodes > 0 {
		names = append(names, "kwok")
	}
	if o.Scheduler {
		names = append(names, "kube-scheduler")
	}
	return names
}

// Annotations on a pod (so on a StatefulSet: on its pod template) that say how the
// simulated kubelet plays it. A pod without any runs and is Ready at once, and is
// gone at once when deleted. The folder stages has one file for each behaviour.
// Durations are Go's ("1.5s"); one that does not parse counts as absent.
const (
	// Play chooses a behaviour that never leads to Ready: one of the Play values.
	Play = "lockstep.test/play"
	// ReadyAfter is how long the pod runs before it is Ready.
	ReadyAfter = "lockstep.test/ready-after"
	// ReadyWithin, beside ReadyAfter, makes the moment random: between the two.
	ReadyWithin = "lockstep.test/ready-within"
	// GoneAfter is how long a deleted pod stays, Ready as it was, before it is gone.
	GoneAfter = "lockstep.test/gone-after"
)

// Lost is a label of nodes whose kubelet reports nothing any more.
const Lost = "lockstep.test/lost"

// Values of the annotation Play.
const (
	PlayCrashLoop        = "crash-loop"         // the first container is in CrashLoopBackOff
	PlayImagePullFailure = "image-pull-failure" // Pending, containers in ImagePullBackOff
	PlaySidecarCrashLoop = "sidecar-crash-loop" // containers run, sidecars are in CrashLoopBackOff
	PlayNeverReady       = "never-ready"        // everything runs, nothing becomes Ready
)
