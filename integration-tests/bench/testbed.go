package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// auditPolicy logs all writes by operators and users. Of the cluster's own programs it logs only
// deletions of pods, which keeps the log small.
const auditPolicy = auditWrites + auditNothingElse

// auditPolicyWithReads also logs lockstep's reads.
const auditPolicyWithReads = auditWrites + `- level: Metadata
  users: ["system:serviceaccount:` + lockstepHome + ":" + lockstepAccount + `"]
  verbs: [get, list]
` + auditNothingElse

const auditNothingElse = "- level: None\n"

const auditWrites = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [delete]
  resources: [{group: "", resources: [pods]}]
- level: None
  users: ["system:kube-controller-manager", "system:apiserver", "simulated-kubelet"]
- level: Metadata
  verbs: [create, update, patch, delete, deletecollection]
`

// nodes is the number of nodes; the pods of a zone share one.
const nodes = 3

// testbed is a cluster and the contenders on it.
type testbed struct {
	*bench
	cluster    *localcluster.Cluster
	client     kubernetes.Interface
	watcher    kubernetes.Interface // its watches do not share a connection with the requests of client
	audit      *auditLog
	logs       string // folder with the logs of the operators
	abort      context.CancelCauseFunc
	contenders []*contender
}

// withTestbed calls measure with a cluster of its own. If an operator ends by itself, the measurement
// ends.
func (b *bench) withTestbed(ctx context.Context, name string, measure func(context.Context, *testbed) ([]row, error)) ([]row, error) {
	return b.withAuditedTestbed(ctx, name, auditPolicy, measure)
}

func (b *bench) withAuditedTestbed(ctx context.Context, name, policy string, measure func(context.Context, *testbed) ([]row, error)) (rows []row, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	cluster, err := localcluster.Start(ctx, localcluster.Options{Progress: b.progress, Nodes: nodes, AuditPolicy: policy, EtcdSyncs: b.etcdSyncs})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	logs, removeLogs, err := b.logFolder(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, removeLogs()) }()
	a := &testbed{bench: b, cluster: cluster, audit: &auditLog{path: cluster.AuditLog()}, logs: logs, abort: fail}
	defer a.killProcesses()
	if err := a.addContenders(ctx); err != nil {
		return nil, err
	}
	if b.etcdSyncs && inMemory(cluster.Dir()) {
		return nil, errors.New("-etcd.syncs: etcd's folder is in memory, so there is no disk to wait for: let TMPDIR be on one")
	}
	if err := b.conditions.addCluster(ctx, cluster, a.client); err != nil {
		return nil, err
	}
	rows, err = measure(ctx, a)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return rows, errors.Join(err, a.copyAuditLog())
}

// logFolder creates a folder for logs and returns a function that removes it, unless -logs is set.
func (b *bench) logFolder(name string) (folder string, remove func() error, err error) {
	if b.settings.logs == "" {
		if folder, err = os.MkdirTemp("", "lockstep-bench-"); err != nil {
			return "", nil, fmt.Errorf("make folder for logs: %w", err)
		}
		return folder, func() error { return os.RemoveAll(folder) }, nil
	}
	folder = filepath.Join(b.settings.logs, name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", nil, fmt.Errorf("make folder for logs: %w", err)
	}
	return folder, func() error { return nil }, nil
}

// copyAuditLog copies the audit log, because the cluster's folder is removed.
func (tb *testbed) copyAuditLog() error {
	if tb.settings.logs == "" {
		return nil
	}
	from, err := os.Open(tb.cluster.AuditLog())
	if err != nil {
		return fmt.Errorf("keep audit log: %w", err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(tb.logs, "audit.log"))
	if err != nil {
		return fmt.Errorf("keep audit log: %w", err)
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

func (tb *testbed) killProcesses() {
	for _, c := range tb.contenders {
		c.kill()
	}
}

// manifests is the path of the operator's manifests from integration-tests.
const manifests = "../manifests"

// addContenders creates clients, and accounts for all contenders.
func (tb *testbed) addContenders(ctx context.Context) error {
	config := tb.cluster.AdminConfig()
	config.ContentType = "application/vnd.kubernetes.protobuf" // as operators do: it costs less
	var err error
	if tb.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	config.Dial = (&net.Dialer{}).DialContext // otherwise both clients would share a connection
	if tb.watcher, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("make client for watches: %w", err)
	}
	tb.contenders = []*contender{{name: floorName, user: "admin"}}
	lockstep, err := tb.lockstep(ctx)
	if err != nil {
		return err
	}
	tb.contenders = append(tb.contenders, lockstep)
	for _, c := range tb.others {
		r := &contender{name: c.name, command: c.command}
		home := namespacePrefix + c.name + "-home"
		if err := tb.makeNamespace(ctx, home, nil); err != nil {
			return err
		}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "operator"}}
		if _, err := tb.client.CoreV1().ServiceAccounts(home).Create(ctx, account, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make account of %s: %w", c.name, err)
		}
		if err := tb.allowAll(ctx, home, account.Name); err != nil {
			return err
		}
		if err := tb.authorize(ctx, r, home, account.Name); err != nil {
			return err
		}
		tb.contenders = append(tb.contenders, r)
	}
	return nil
}

const lockstepHome, lockstepAccount = "lockstep-system", "lockstep"

// lockstep returns lockstep with the service account and the permissions of its manifests.
func (tb *testbed) lockstep(ctx context.Context) (*contender, error) {
	c := &contender{name: lockstepName, command: tb.operator, optsIn: true}
	err := tb.cluster.Apply(ctx, manifests+"/operator/namespace.yaml", manifests+"/operator/serviceaccount.yaml",
		manifests+"/crds", manifests+"/rbac/cluster.yaml", manifests+"/rbac/home.yaml", manifests+"/rbac/references.yaml")
	if err != nil {
		return nil, err
	}
	if c.command != "" {
		if err := tb.allowAll(ctx, lockstepHome, lockstepAccount); err != nil {
			return nil, err
		}
	}
	if err := tb.chooseProgram(ctx, c); err != nil {
		return nil, err
	}
	return c, tb.authorize(ctx, c, lockstepHome, lockstepAccount)
}

// chooseProgram sets the command of a contender without a command line to lockstep of this source
// tree.
func (b *bench) chooseProgram(ctx context.Context, c *contender) error {
	if c.command != "" {
		return nil
	}
	if b.program == "" {
		var err error
		if b.program, err = localcluster.BuildOperator(ctx, b.progress); err != nil {
			return err
		}
	}
	c.command = b.program + " -kubernetes.config-file={kubeconfig} -server.port=0 -log.format=json"
	return nil
}

// allowAll grants an account all permissions.
func (tb *testbed) allowAll(ctx context.Context, namespace, account string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}
	if _, err := tb.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("allow %s/%s everything: %w", namespace, account, err)
	}
	return nil
}

// authorize gives a contender the kubeconfig of an account, once the API server has observed its
// permissions.
func (tb *testbed) authorize(ctx context.Context, c *contender, namespace, account string) error {
	c.user, c.home = "system:serviceaccount:"+namespace+":"+account, namespace
	var err error
	if c.kubeconfig, err = tb.cluster.ServiceAccountKubeconfig(ctx, namespace, account); err != nil {
		return err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               c.user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: "delete", Resource: "pods"},
	}}
	return tb.await(ctx, "permissions of "+c.name, 1, func() (int, error) {
		answer, err := tb.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return 0, fmt.Errorf("read the permissions of %s: %w", c.name, err)
		}
		if answer.Status.Allowed {
			return 1, nil
		}
		return 0, nil
	})
}

const namespacePrefix = "bench-"

// makeNamespaces creates namespaces for groups of a contender and returns their names.
func (tb *testbed) makeNamespaces(ctx context.Context, c *contender, count int) ([]string, error) {
	labels := map[string]string{contenderLabel: c.name}
	if c.optsIn {
		labels["lockstep.dev/enabled"] = "true"
	}
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s%s-%d", namespacePrefix, c.name, i)
		if err := tb.makeNamespace(ctx, names[i], labels); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (tb *testbed) makeNamespace(ctx context.Context, name string, labels map[string]string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if _, err := tb.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	return nil
}

// stallTimeout is how long there may be no progress.
const stallTimeout = 4 * time.Minute

// await calls count until it returns the wanted number. It fails if the number does not change for
// stallTimeout.
func (tb *testbed) await(ctx context.Context, what string, want int, count func() (int, error)) error {
	const reportEvery = 10 * time.Second
	reported, changed, previous := time.Now(), time.Now(), -1
	for {
		began := time.Now()
		n, err := count()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || n == want:
			return err
		case n != previous:
			previous, changed = n, time.Now()
		case time.Since(changed) > stallTimeout:
			return fmt.Errorf("wait for %d %s: still %d after %s", want, what, n, stallTimeout)
		}
		if time.Since(reported) > reportEvery {
			tb.report("%d of %d %s", n, want, what)
			reported = time.Now()
		}
		if err := pause(ctx, 20*time.Millisecond+5*time.Since(began)); err != nil { // an expensive list is repeated less often
			return err
		}
	}
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// fill replaces the placeholders of a command line.
func fill(command string, values ...string) []string {
	return strings.Fields(strings.NewReplacer(values...).Replace(command))
}
