package localcluster

import (
	"fmt"
	"io"
	"net"
	"time"
)

// loopback is the address of clusters whose pods call no API server.
const loopback = "127.0.0.1"

// Options describe a cluster. The zero value is a cluster with one simulated node, no scheduler and
// the default audit policy.
type Options struct {
	// Progress receives the progress of Start, above all while it builds programs for minutes: as a
	// bar in a terminal, otherwise as plain lines. If it is nil, there is no output.
	Progress io.Writer

	// Nodes is the number of simulated nodes, 1 if it is 0. Each can have 20000 pods. NodeName
	// returns their names. Cluster.AddNodes creates more.
	Nodes int

	// Scheduler starts kube-scheduler. Without it pods must name their node (spec.nodeName), which
	// is faster and enough for most tests. Cluster.StartScheduler starts it later.
	Scheduler bool

	// Stages are more files with kwok stages, in addition to the ones of this package (see the
	// annotations below). If a pod matches a stage of both kinds, kwok picks one at random; so
	// avoid that.
	Stages []string

	// Address is the address of the API server for pods, an address of this machine. If it is
	// empty, it is 127.0.0.1, which pods cannot reach. If it is set, the caller provides nodes:
	// there are no simulated ones, and Start waits for none.
	Address string

	// SilentAfter is how long a node may not report before it counts as silent, 2 minutes if it is 0:
	// a busy machine is not a broken node.
	SilentAfter time.Duration

	// AuditPolicy replaces the default audit policy (YAML of audit.k8s.io/v1 Policy). The default
	// records complete bodies of pod deletions, evictions and all writes to StatefulSets and
	// Leases, and the metadata of every other write and of reads by service accounts.
	AuditPolicy string

	// EtcdSyncs makes every write wait until etcd has synced it to disk, which is etcd's default.
	// Otherwise etcd never waits for a disk, which is faster and enough for tests.
	EtcdSyncs bool

	// Detached keeps the cluster running when this process ends. StopDetached ends it then.
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
	if o.SilentAfter == 0 {
		o.SilentAfter = 2 * time.Minute
	}
	if o.AuditPolicy == "" {
		o.AuditPolicy = defaultAuditPolicy
	}
	return o, nil
}

// programs returns the programs of the cluster.
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

// Annotations on a pod (or on the pod template of a StatefulSet) that control how the simulated
// kubelet plays it. A pod without any runs and is Ready at once, and a delete removes it at once.
// The folder stages has one file for each behavior. Durations are Go's ("1.5s"); an invalid one
// counts as absent.
const (
	// Play chooses a behavior that never leads to Ready: one of the Play values.
	Play = "lockstep.test/play"
	// ReadyAfter is how long the pod runs before it is Ready.
	ReadyAfter = "lockstep.test/ready-after"
	// ReadyWithin, together with ReadyAfter, makes the time random: between the two.
	ReadyWithin = "lockstep.test/ready-within"
	// GoneAfter is how long a deleted pod stays, with its readiness, before it is removed.
	GoneAfter = "lockstep.test/gone-after"
	// Digest is the digest of all images of a pod without ReadyAfter, as if they were tags of one image.
	Digest = "lockstep.test/digest"
)

// Lost is a label of nodes whose kubelet has stopped: nothing changes the state of the node and of its pods, so a deleted pod
// terminates until the label or the node is gone.
const Lost = "lockstep.test/lost"

// Values of the annotation Play.
const (
	PlayCrashLoop        = "crash-loop"         // the first container is in CrashLoopBackOff
	PlayImagePullFailure = "image-pull-failure" // Pending, containers in ImagePullBackOff
	PlaySidecarCrashLoop = "sidecar-crash-loop" // containers run, sidecars are in CrashLoopBackOff
	PlayNeverReady       = "never-ready"        // all containers run, none becomes Ready
)
