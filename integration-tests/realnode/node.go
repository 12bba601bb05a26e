package realnode

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
)

const startTimeout = 10 * time.Minute

// Options describe a node.
type Options struct {
	// Number distinguishes the nodes of a network: 0 to 99. It is part of the node's name.
	Number int

	// Zone is the value of the label topology.kubernetes.io/zone.
	Zone string

	// Taint keeps pods away that do not tolerate it, for example "key=value:NoSchedule"; empty: none.
	Taint string

	// Kubeconfig is the path of a kubeconfig with all permissions.
	Kubeconfig string

	// Images are files that are loaded before the node is Ready (package image). The node cannot
	// pull any other image.
	Images []string

	// Pause is the name of the image that holds the namespaces of a pod.
	Pause string
}

// Node is a running node.
type Node struct {
	Options
	name         string
	dir          string
	controlGroup string
	programs     Programs

	processes []*process
	kubelet   *process // one of them
	off       bool
}

// Start starts a node in the open network and returns when it can run pods.
func Start(ctx context.Context, programs Programs, options Options) (*Node, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not up after %s", startTimeout))
	defer cancel()
	name := fmt.Sprintf("node-%d", options.Number)
	n := &Node{Options: options, name: name, dir: filepath.Join(enclosure.Dir(), name), programs: programs}
	for _, step := range []func(context.Context) error{n.furnish, n.connect, n.runContainerd, n.loadImages, n.joinCluster} {
		if err := step(ctx); err != nil {
			return nil, fmt.Errorf("start %s: %w", n.name, err)
		}
	}
	return n, nil
}

// Name returns the name of its Node object.
func (n *Node) Name() string { return n.name }

// Alive returns an error for every program of the node that has ended. A node that is switched off
// has none.
func (n *Node) Alive() error {
	if n.off {
		return nil
	}
	var ended []error
	for _, p := range n.processes {
		ended = append(ended, p.alive())
	}
	return errors.Join(ended...)
}

// furnish creates the control group of pods, and writes the files that the programs read.
func (n *Node) furnish(context.Context) (err error) {
	if n.controlGroup, err = enclosure.MakeControlGroup(n.name); err != nil {
		return err
	}
	for file, content := range map[string]string{
		"containerd.toml":    n.containerdConfig(),
		"cni/10-bridge.conf": n.podNetworkConfig(),
		"kubelet.yaml":       n.kubeletConfig(),
	} {
		path := n.path(file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func (n *Node) path(file string) string { return filepath.Join(n.dir, file) }

func (n *Node) socket() string { return filepath.Join("/run", n.name, "containerd.sock") }

// run starts a program of the node.
func (n *Node) run(program string, args ...string) (*process, error) {
	p, err := start(n.name, n.dir, n.programs.packages.Environment(), program, args...)
	if err == nil {
		n.processes = append(n.processes, p)
	}
	return p, err
}

func (n *Node) runContainerd(ctx context.Context) error {
	p, err := n.run(n.programs.packages.Path("/usr/bin/containerd"), "--config="+n.path("containerd.toml"))
	if err != nil {
		return err
	}
	return p.await(ctx, "containerd", func() error { return n.ctr(ctx, "version") })
}

func (n *Node) loadImages(ctx context.Context) error {
	for _, file := range n.Images {
		if err := n.ctr(ctx, "--namespace=k8s.io", "images", "import", file); err != nil {
			return err
		}
	}
	return nil
}

// joining prevents kubelets from starting at the same time. Each creates the socket for device
// plugins again, at a path that cannot be configured.
var joining sync.Mutex

func (n *Node) joinCluster(ctx context.Context) error {
	joining.Lock()
	defer joining.Unlock()
	if err := n.runKubernetes(); err != nil {
		return err
	}
	return n.awaitReady(ctx)
}

func (n *Node) runKubernetes() (err error) {
	if n.kubelet, err = n.run(n.programs.kubernetes["kubelet"],
		"--config="+n.path("kubelet.yaml"),
		"--kubeconfig="+n.Kubeconfig,
		"--hostname-override="+n.name,
		"--node-ip="+n.address(),
		"--node-labels="+corev1.LabelTopologyZone+"="+n.Zone,
		"--root-dir="+n.path("kubelet"),
		"--cert-dir="+n.path("certificates"),
		"--register-with-taints="+n.Taint,
	); err != nil {
		return err
	}
	_, err = n.run(n.programs.kubernetes["kube-proxy"],
		"--kubeconfig="+n.Kubeconfig,
		"--hostname-override="+n.name,
		"--proxy-mode=nftables",
		"--cluster-cidr="+podNetwork,
		"--conntrack-max-per-core=0",
		"--conntrack-tcp-timeout-established=0", // these settings belong to the machine
		"--conntrack-tcp-timeout-close-wait=0",
	)
	return err
}

func (n *Node) awaitReady(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", n.Kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return n.kubelet.await(ctx, "the node to be Ready", func() error {
		node, err := client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return n.usable(node)
	})
}

// usable returns the reason why a node does not accept pods.
func (n *Node) usable(node *corev1.Node) error {
	for _, taint := range node.Spec.Taints {
		if taint.ToString() != n.Taint {
			return fmt.Errorf("it has the taint %s", taint.ToString())
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("it has the conditions %s", conditions(node))
}

func conditions(node *corev1.Node) string {
	var all []string
	for _, c := range node.Status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s (%s)", c.Type, c.Status, c.Message))
	}
	return strings.Join(all, ", ")
}
