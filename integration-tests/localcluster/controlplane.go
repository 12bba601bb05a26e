package localcluster

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//go:embed audit-policy.yaml
var defaultAuditPolicy string

//go:embed stages/*.yaml
var ownStages embed.FS

const stagesFolder = "stages"

// kubeconfigs are the files of the users of programs and people.
var kubeconfigs = map[string]string{
	adminUser:             adminKubeconfig,
	controllerManagerUser: "kube-controller-manager.kubeconfig",
	schedulerUser:         "kube-scheduler.kubeconfig",
	kubeletUser:           "kwok.kubeconfig",
}

// run starts the programs and returns when the cluster is usable.
func (c *Cluster) run(ctx context.Context, programs map[string]string) error {
	etcd, err := c.launch(programs, Etcd, c.etcdFlags())
	if err != nil {
		return err
	}
	// If etcd were not running yet, the API server would try again only after a second.
	if err := poll(ctx, "etcd", func() bool { return listens(c.ports.etcdClient) }, etcd); err != nil {
		return err
	}
	apiserver, err := c.launch(programs, APIServer, c.apiserverFlags())
	if err != nil {
		return err
	}
	if err := poll(ctx, "the API server", func() bool { return c.serves(ctx) }, apiserver, etcd); err != nil {
		return err
	}

	controllers, err := c.launch(programs, ControllerManager, c.controllerManagerFlags())
	if err != nil {
		return err
	}
	if c.options.Scheduler {
		if _, err := c.launch(programs, "kube-scheduler", c.schedulerFlags()); err != nil {
			return err
		}
	}
	if err := c.simulateNodes(ctx, programs, controllers, apiserver, etcd); err != nil {
		return err
	}
	account := func() bool {
		_, err := c.client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err == nil
	}
	return poll(ctx, "the service account default", account, controllers, apiserver, etcd)
}

// simulateNodes starts the simulated kubelets and returns when their nodes are usable. It fails if
// one of the other processes ends.
func (c *Cluster) simulateNodes(ctx context.Context, programs map[string]string, others ...*process) error {
	if c.options.Nodes == 0 {
		return nil
	}
	kwok, err := c.launch(programs, "kwok", c.kwokFlags())
	if err != nil {
		return err
	}
	nodes, err := c.createNodes(ctx, c.options.Nodes, nil, nil)
	if err != nil {
		return err
	}
	return poll(ctx, "the simulated nodes", func() bool { return c.nodesReady(ctx, nodes) }, append([]*process{kwok}, others...)...)
}

// serves reports whether the API server is ready.
func (c *Cluster) serves(ctx context.Context) bool {
	_, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
	return err == nil
}

func (c *Cluster) launch(programs map[string]string, name string, flags []string) (*process, error) {
	return c.begin(c.command(name, programs[name], flags))
}

func (c *Cluster) command(name, program string, flags []string) command {
	from := command{
		name:     name,
		program:  program,
		args:     flags,
		env:      []string{"HOME=" + c.room.dir, "TMPDIR=" + c.room.dir, "PATH=" + os.Getenv("PATH")},
		logPath:  c.room.path(name + ".log"),
		detached: c.options.Detached,
	}
	if from.detached {
		// The folder has an owner while a process holds its lock. Now this program does too.
		from.inherits = []*os.File{c.room.lock}
	}
	return from
}

// begin starts a process that belongs to the cluster from then on.
func (c *Cluster) begin(from command) (*process, error) {
	p, err := startProcess(from)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes = append(c.processes, p)
	return p, nil
}

func (c *Cluster) etcdFlags() []string {
	client := c.EtcdURL()
	peer := fmt.Sprintf("http://127.0.0.1:%d", c.ports.etcdPeer)
	flags := []string{
		"--name=local",
		"--data-dir=" + c.room.path("etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=local=" + peer,
		"--log-level=warn",
	}
	if !c.options.EtcdSyncs {
		flags = append(flags, "--unsafe-no-fsync")
	}
	return flags
}

func (c *Cluster) apiserverFlags() []string {
	return c.flagsOfAPIServer(c.EtcdURL(), c.ports.apiserver, c.AuditLog())
}

func (c *Cluster) flagsOfAPIServer(etcd string, port int, auditLog string) []string {
	return []string{
		"--etcd-servers=" + etcd,
		"--bind-address=" + c.options.Address,
		"--advertise-address=" + c.options.Address,
		"--endpoint-reconciler-type=" + c.endpointReconciler(),
		fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + c.room.path(servingCertFile),
		"--tls-private-key-file=" + c.room.path(servingKeyFile),
		"--token-auth-file=" + c.room.path(tokensFile),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.room.path(serviceAccountFile),
		"--service-account-signing-key-file=" + c.room.path(serviceAccountFile),
		"--service-cluster-ip-range=10.96.0.0/16",
		"--enable-aggregator-routing=true",
		"--kubelet-preferred-address-types=InternalIP",
		"--audit-policy-file=" + c.room.path(auditPolicyFile),
		"--audit-log-path=" + auditLog,
		"--audit-log-maxsize=1000000", // in MB: one file, never rotated
		"--max-requests-inflight=2000",
		"--max-mutating-requests-inflight=1000",
	}
}

// endpointReconciler returns the value of the flag for the endpoints of the Service kubernetes.
func (c *Cluster) endpointReconciler() string {
	if c.options.Address == loopback { // no pod could reach it
		return "none"
	}
	return "lease"
}

func (c *Cluster) controllerManagerFlags() []string {
	return []string{
		"--kubeconfig=" + c.room.path(kubeconfigs[controllerManagerUser]),
		"--secure-port=0",
		"--leader-elect=false",
		"--use-service-account-credentials=false",
		"--service-account-private-key-file=" + c.room.path(serviceAccountFile),
		"--root-ca-file=" + c.room.path(caFile),
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
		"--concurrent-statefulset-syncs=20",
		"--controllers=*,-node-ipam-controller,-cloud-node-lifecycle-controller",
		"--node-monitor-grace-period=" + c.options.SilentAfter.String(),
		"--horizontal-pod-autoscaler-sync-period=1s", // instead of 15 s, so that tests need not wait
	}
}

func (c *Cluster) schedulerFlags() []string {
	return []string{
		"--kubeconfig=" + c.room.path(kubeconfigs[schedulerUser]),
		"--secure-port=0",
		"--leader-elect=false",
		"--kube-api-qps=2000",
		"--kube-api-burst=4000",
	}
}

func (c *Cluster) kwokFlags() []string {
	flags := []string{
		"--kubeconfig=" + c.room.path(kubeconfigs[kubeletUser]),
		"--manage-all-nodes=false",
		"--manage-nodes-with-label-selector=!" + Lost,
		"--node-lease-duration-seconds=40",
		"--cidr=10.128.0.0/9", // a small range would overflow into used addresses without an error
	}
	for _, file := range c.stageFiles() {
		flags = append(flags, "--config="+file)
	}
	return flags
}

func (c *Cluster) writeStages() error {
	if err := os.Mkdir(c.room.path(stagesFolder), 0o755); err != nil {
		return fmt.Errorf("write stages: %w", err)
	}
	for _, name := range stageNames() {
		content, err := ownStages.ReadFile(path.Join(stagesFolder, name))
		if err != nil {
			return fmt.Errorf("write stages: %w", err)
		}
		if err := c.room.write(filepath.Join(stagesFolder, name), content); err != nil {
			return err
		}
	}
	for _, file := range c.options.Stages {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("read stage: %w", err)
		}
	}
	return nil
}

func (c *Cluster) stageFiles() []string {
	var files []string
	for _, name := range stageNames() {
		files = append(files, c.room.path(filepath.Join(stagesFolder, name)))
	}
	return append(files, c.options.Stages...)
}

func stageNames() []string {
	entries, err := fs.ReadDir(ownStages, stagesFolder)
	if err != nil {
		panic(err) // it is embedded, so it cannot be missing
	}
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// ports are the ports of the programs of a cluster, all on 127.0.0.1.
type ports struct{ etcdClient, etcdPeer, apiserver int }

// freePorts returns ports on which no program listens now. Another program may take one before the
// cluster does; then the start is repeated with other ports.
func freePorts(n int) ([]int, error) {
	var free []int
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("find free port: %w", err)
		}
		defer listener.Close() // only after all were found, so that they differ
		if address, ok := listener.Addr().(*net.TCPAddr); ok {
			free = append(free, address.Port)
		}
	}
	return free, nil
}

func listens(port int) bool {
	connection, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return false
	}
	return connection.Close() == nil
}

// portTaken reports whether a start failed because another program uses the port.
func portTaken(err error) bool {
	return strings.Contains(err.Error(), "address already in use")
}
