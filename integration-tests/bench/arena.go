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

// auditPolicy keeps who wrote what when. Of what the cluster's own programs write
// it keeps deletions of pods alone, so that the log costs little.
const auditPolicy = auditWrites + auditNothingElse

// auditPolicyWithReads keeps lockstep's reads as well.
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

// nodes share the pods, by zone.
const nodes = 3

// arena is a cluster and who is measured on it.
type arena struct {
	*bench
	cluster *localcluster.Cluster
	client  kubernetes.Interface
	watcher kubernetes.Interface // its watches share no connection with the requests of client
	audit   *auditLog
	logs    string // folder with what operators print
	fail    context.CancelCauseFunc
	racers  []*racer
}

// inArena measures something on a cluster of its own. An operator that ends by
// itself ends the measurement.
func (b *bench) inArena(ctx context.Context, name string, measure func(context.Context, *arena) ([]row, error)) ([]row, error) {
	return b.inAuditedArena(ctx, name, auditPolicy, measure)
}

func (b *bench) inAuditedArena(ctx context.Context, name, policy string, measure func(context.Context, *arena) ([]row, error)) (rows []row, err error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	cluster, err := localcluster.Start(ctx, localcluster.Options{Progress: b.progress, Nodes: nodes, AuditPolicy: policy, EtcdSyncs: b.etcdSyncs})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	logs, discard, err := b.folderForLogs(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, discard()) }()
	a := &arena{bench: b, cluster: cluster, audit: &auditLog{path: cluster.AuditLog()}, logs: logs, fail: fail}
	defer a.endProcesses()
	if err := a.enlist(ctx); err != nil {
		return nil, err
	}
	if b.etcdSyncs && inMemory(cluster.Dir()) {
		return nil, errors.New("-etcd.syncs: etcd's folder is in memory, so there is no disk to wait for: let TMPDIR be on one")
	}
	if err := b.conditions.look(ctx, cluster, a.client); err != nil {
		return nil, err
	}
	rows, err = measure(ctx, a)
	if err != nil && context.Cause(ctx) != nil {
		err = context.Cause(ctx)
	}
	return rows, errors.Join(err, a.keepAuditLog())
}

// folderForLogs makes a folder and says how to be done with it: without -logs it
// is removed.
func (b *bench) folderForLogs(name string) (folder string, discard func() error, err error) {
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

// keepAuditLog copies the audit log, which goes with the cluster.
func (a *arena) keepAuditLog() error {
	if a.settings.logs == "" {
		return nil
	}
	from, err := os.Open(a.cluster.AuditLog())
	if err != nil {
		return fmt.Errorf("keep audit log: %w", err)
	}
	defer from.Close()
	to, err := os.Create(filepath.Join(a.logs, "audit.log"))
	if err != nil {
		return fmt.Errorf("keep audit log: %w", err)
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

func (a *arena) endProcesses() {
	for _, r := range a.racers {
		r.end()
	}
}

// manifests is where the operator's manifests are, seen from integration-tests.
const manifests = "../manifests"

// enlist makes clients and accounts for all that are measured.
func (a *arena) enlist(ctx context.Context) error {
	config := a.cluster.AdminConfig()
	config.ContentType = "application/vnd.kubernetes.protobuf" // as operators do: it costs less
	var err error
	if a.client, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	config.Dial = (&net.Dialer{}).DialContext // without it both would use the same connection
	if a.watcher, err = kubernetes.NewForConfig(config); err != nil {
		return fmt.Errorf("make client for watches: %w", err)
	}
	a.racers = []*racer{{name: floorName, user: "admin"}}
	lockstep, err := a.lockstep(ctx)
	if err != nil {
		return err
	}
	a.racers = append(a.racers, lockstep)
	for _, c := range a.contenders {
		r := &racer{name: c.name, command: c.command}
		home := namespacePrefix + c.name + "-home"
		if err := a.makeNamespace(ctx, home, nil); err != nil {
			return err
		}
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "operator"}}
		if _, err := a.client.CoreV1().ServiceAccounts(home).Create(ctx, account, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make account of %s: %w", c.name, err)
		}
		if err := a.allowAll(ctx, home, account.Name); err != nil {
			return err
		}
		if err := a.admit(ctx, r, home, account.Name); err != nil {
			return err
		}
		a.racers = append(a.racers, r)
	}
	return nil
}

const lockstepHome, lockstepAccount = "lockstep-system", "lockstep"

// lockstep is measured with the account and the permissions it is installed with.
func (a *arena) lockstep(ctx context.Context) (*racer, error) {
	r := &racer{name: lockstepName, command: a.operator, optIn: true}
	err := a.cluster.Apply(ctx, manifests+"/operator/namespace.yaml", manifests+"/operator/serviceaccount.yaml",
		manifests+"/crds", manifests+"/rbac/cluster.yaml", manifests+"/rbac/home.yaml", manifests+"/rbac/references.yaml")
	if err != nil {
		return nil, err
	}
	if r.command != "" {
		if err := a.allowAll(ctx, lockstepHome, lockstepAccount); err != nil {
			return nil, err
		}
	}
	if err := a.chooseProgram(ctx, r); err != nil {
		return nil, err
	}
	return r, a.admit(ctx, r, lockstepHome, lockstepAccount)
}

// chooseProgram lets a racer without a command line be lockstep of this source tree.
func (b *bench) chooseProgram(ctx context.Context, r *racer) error {
	if r.command != "" {
		return nil
	}
	if b.program == "" {
		var err error
		if b.program, err = localcluster.BuildOperator(ctx, b.progress); err != nil {
			return err
		}
	}
	r.command = b.program + " -kubernetes.config-file={kubeconfig} -server.port=0 -log.format=json"
	return nil
}

// allowAll lets an account do everything.
func (a *arena) allowAll(ctx context.Context, namespace, account string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	}
	if _, err := a.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("allow %s/%s everything: %w", namespace, account, err)
	}
	return nil
}

// admit gives a racer the kubeconfig of an account, once the API server has
// heard of what it may do.
func (a *arena) admit(ctx context.Context, r *racer, namespace, account string) error {
	r.user, r.home = "system:serviceaccount:"+namespace+":"+account, namespace
	var err error
	if r.kubeconfig, err = a.cluster.ServiceAccountKubeconfig(ctx, namespace, account); err != nil {
		return err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User:               r.user,
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Verb: "delete", Resource: "pods"},
	}}
	return a.await(ctx, "permissions of "+r.name, 1, func() (int, error) {
		answer, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			return 0, fmt.Errorf("ask what %s may do: %w", r.name, err)
		}
		if answer.Status.Allowed {
			return 1, nil
		}
		return 0, nil
	})
}

const namespacePrefix = "bench-"

// makeNamespaces makes namespaces for groups of a racer and returns their names.
func (a *arena) makeNamespaces(ctx context.Context, r *racer, count int) ([]string, error) {
	labels := map[string]string{racerLabel: r.name}
	if r.optIn {
		labels["lockstep.dev/enabled"] = "true"
	}
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("%s%s-%d", namespacePrefix, r.name, i)
		if err := a.makeNamespace(ctx, names[i], labels); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func (a *arena) makeNamespace(ctx context.Context, name string, labels map[string]string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	if _, err := a.client.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make namespace %s: %w", name, err)
	}
	return nil
}

// patience is how long nothing may happen.
const patience = 4 * time.Minute

// await counts until there are as many as wanted. It gives up when the count
// stays the same for too long.
func (a *arena) await(ctx context.Context, what string, want int, count func() (int, error)) error {
	const tellEvery = 10 * time.Second
	told, changed, before := time.Now(), time.Now(), -1
	for {
		began := time.Now()
		n, err := count()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil || n == want:
			return err
		case n != before:
			before, changed = n, time.Now()
		case time.Since(changed) > patience:
			return fmt.Errorf("wait for %d %s: still %d after %s", want, what, n, patience)
		}
		if time.Since(told) > tellEvery {
			a.say("%d of %d %s", n, want, what)
			told = time.Now()
		}
		if err := pause(ctx, 20*time.Millisecond+5*time.Since(began)); err != nil { // a long list is asked for seldom
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

// fill puts values into a command line.
func fill(command string, values ...string) []string {
	return strings.Fields(strings.NewReplacer(values...).Replace(command))
}
