package localcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Cluster is a running control plane with simulated nodes.
type Cluster struct {
	options    Options
	room       *room
	ports      ports
	relinquish []func() // release the reserved ports
	secrets    *credentials
	config     *rest.Config
	client     kubernetes.Interface

	stop func() error

	scheduling   sync.Mutex // held while the scheduler is started
	interrupting sync.Mutex // held while a program is stopped

	mu        sync.Mutex
	processes []*process // in the order of their start
	nodes     int        // created so far
}

const (
	startTimeout       = 2 * time.Minute // one start, without building
	startAttempts      = 5
	adminKubeconfig    = "admin.kubeconfig"
	auditLog           = "audit.log"
	auditPolicyFile    = "audit-policy.yaml"
	processesFile      = "processes"
	serviceAccountLife = 24 * time.Hour
)

// Start starts a cluster and returns when it is usable: nodes are Ready and the namespace default
// can run pods. This takes a few seconds if its programs are built. Any number of clusters may run
// at the same time. The caller must call Stop; if it cannot, everything ends with this process
// nevertheless. The error of a failed start contains the last lines of the log of the program that
// failed.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	options, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	programs, err := findPrograms(ctx, options.programs(), options.Progress)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		cluster, err := start(ctx, options, programs)
		if err == nil {
			return cluster, nil
		}
		if attempt == startAttempts || !portTaken(err) {
			return nil, fmt.Errorf("start local cluster: %w", err)
		}
		fmt.Fprintln(options.Progress, "another process took one of the cluster's ports, trying others")
	}
}

// Build builds the programs that Start needs and that are missing.
func Build(ctx context.Context, options Options) error {
	options, err := options.withDefaults()
	if err != nil {
		return err
	}
	_, err = findPrograms(ctx, options.programs(), options.Progress)
	return err
}

// For starts a cluster for a test and stops it when the test ends.
func For(tb testing.TB, options Options) *Cluster {
	tb.Helper()
	if options.Progress == nil {
		options.Progress = os.Stderr
	}
	cluster, err := Start(tb.Context(), options)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := cluster.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return cluster
}

// StopDetached stops a cluster that was started with Options.Detached. dir is the folder that its
// Dir returned. If the cluster has ended already, that is no error.
func StopDetached(dir string) error {
	content, err := os.ReadFile(filepath.Join(dir, processesFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("stop cluster: %w", err)
	}
	for field := range strings.FieldsSeq(string(content)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return fmt.Errorf("stop cluster: read %s: %w", processesFile, err)
		}
		if mentions(pid, dir) {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("stop cluster: %w", err)
	}
	return nil
}

// Stop ends the cluster and removes its folder. If one of its programs had ended before, it returns
// an error with that program's log. Further calls do nothing.
func (c *Cluster) Stop() error { return c.stop() }

// URL returns the address of the API server.
func (c *Cluster) URL() string {
	return fmt.Sprintf("https://%s:%d", c.options.Address, c.ports.apiserver)
}

// Dir returns the cluster's folder: logs, kubeconfigs, the audit log. Stop removes it.
func (c *Cluster) Dir() string { return c.room.dir }

// AuditLog returns the path of the audit log, with one JSON event (audit.k8s.io/v1) per line. An
// event is written before its request is answered.
func (c *Cluster) AuditLog() string { return c.room.path(auditLog) }

// AdminKubeconfig returns the path of a kubeconfig with all permissions.
func (c *Cluster) AdminKubeconfig() string { return c.room.path(adminKubeconfig) }

// AdminConfig returns a config with all permissions and without a rate limit in the client. The
// caller owns the copy.
func (c *Cluster) AdminConfig() *rest.Config { return rest.CopyConfig(c.config) }

// ServiceAccountKubeconfig requests a token of an existing service account, valid for a day, and
// returns the path of a kubeconfig with it. It creates nothing else in the cluster. The
// kubeconfig's namespace is the service account's.
func (c *Cluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	request := &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(serviceAccountLife.Seconds()))},
	}
	granted, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request token of service account %s/%s: %w", namespace, name, err)
	}
	content, err := kubeconfig(c.URL(), c.secrets.ca, name, granted.Status.Token, namespace)
	if err != nil {
		return "", fmt.Errorf("write kubeconfig of service account %s/%s: %w", namespace, name, err)
	}
	file := fmt.Sprintf("%s.%s.kubeconfig", namespace, name)
	return c.room.path(file), c.room.write(file, content)
}

func start(ctx context.Context, options Options, programs map[string]string) (_ *Cluster, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not up after %s", startTimeout))
	defer cancel()
	room, err := newRoom()
	if err != nil {
		return nil, err
	}
	c := &Cluster{options: options, room: room}
	c.stop = sync.OnceValue(c.end)
	defer func() {
		if err != nil {
			c.killAll() // its logs stay in the folder until this process ends
		}
	}()

	if err := c.furnish(); err != nil {
		return nil, err
	}
	if err := c.run(ctx, programs); err != nil {
		return nil, err
	}
	return c, c.recordProcesses()
}

// furnish writes all files that the programs of the cluster read.
func (c *Cluster) furnish() error {
	free, err := freePorts(3)
	if err != nil {
		return err
	}
	c.ports = ports{etcdClient: free[0], etcdPeer: free[1], apiserver: free[2]}
	for _, port := range free {
		release, err := reserve(port)
		if err != nil {
			return err
		}
		c.relinquish = append(c.relinquish, release)
	}
	if c.secrets, err = newCredentials(c.room, c.options.Address); err != nil {
		return err
	}
	if err := c.room.write(auditPolicyFile, []byte(c.options.AuditPolicy)); err != nil {
		return err
	}
	if err := c.writeStages(); err != nil {
		return err
	}
	for user, file := range kubeconfigs {
		content, err := kubeconfig(c.URL(), c.secrets.ca, user, c.secrets.tokens[user], "default")
		if err != nil {
			return fmt.Errorf("write kubeconfig: %w", err)
		}
		if err := c.room.write(file, content); err != nil {
			return err
		}
	}
	c.config = &rest.Config{
		Host:            c.URL(),
		BearerToken:     c.secrets.tokens[adminUser],
		TLSClientConfig: rest.TLSClientConfig{CAData: c.secrets.ca},
		QPS:             -1,
	}
	c.client, err = kubernetes.NewForConfig(c.config)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	return nil
}

// StartScheduler starts kube-scheduler in a running cluster, once.
func (c *Cluster) StartScheduler(ctx context.Context) error {
	const name = "kube-scheduler"
	c.scheduling.Lock()
	defer c.scheduling.Unlock()
	if slices.ContainsFunc(c.started(), func(p *process) bool { return p.name == name }) {
		return nil
	}
	programs, err := findPrograms(ctx, []string{name}, c.options.Progress)
	if err != nil {
		return err
	}
	if _, err := c.launch(programs, name, c.schedulerFlags()); err != nil {
		return fmt.Errorf("start scheduler: %w", err)
	}
	return c.recordProcesses()
}

// started returns the processes that were started so far.
func (c *Cluster) started() []*process {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.processes)
}

// recordProcesses records which processes StopDetached must end.
func (c *Cluster) recordProcesses() error {
	var list []byte
	for _, p := range c.started() {
		list = fmt.Appendln(list, p.cmd.Process.Pid)
	}
	return c.room.write(processesFile, list)
}

func (c *Cluster) end() error {
	var failures []error
	for _, p := range c.started() {
		if p.ended() {
			failures = append(failures, p.failure())
		}
	}
	c.killAll()
	return errors.Join(append(failures, c.room.remove())...)
}

func (c *Cluster) killAll() {
	var all sync.WaitGroup
	for _, p := range c.started() {
		all.Go(p.kill)
	}
	all.Wait()
	for _, release := range c.relinquish {
		release()
	}
	c.relinquish = nil
}

// mentions reports whether a process has the folder in its command line. A process number alone may
// belong to another process by now.
func mentions(pid int, dir string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(line), dir)
}
