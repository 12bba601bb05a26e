package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// The demo finds its namespaces by this label.
const (
	makerLabel = "lockstep.test/made-by"
	makerDemo  = "demo"
	madeByUs   = makerLabel + "=" + makerDemo
)

// userCluster is a cluster of the user. The demo changes only its own objects, and Stop removes them.
type userCluster struct {
	out        io.Writer
	kubeconfig string
	kubectl    string
	config     *rest.Config
	client     kubernetes.Interface
	dir        string
	applied    []string
}

// openUserCluster opens a cluster, which must not contain objects of lockstep.
func openUserCluster(ctx context.Context, out io.Writer, kubeconfig string) (_ *userCluster, err error) {
	y := &userCluster{out: out}
	if y.kubeconfig, err = filepath.Abs(kubeconfig); err != nil {
		return nil, err
	}
	if y.config, err = clientcmd.BuildConfigFromFlags("", y.kubeconfig); err != nil {
		return nil, err
	}
	y.config.QPS, y.config.WarningHandler = -1, rest.NoWarnings{}
	if y.client, err = kubernetes.NewForConfig(y.config); err != nil {
		return nil, err
	}
	if err := y.isFree(ctx); err != nil {
		return nil, err
	}
	if y.kubectl, err = exec.LookPath("kubectl"); err != nil {
		if y.kubectl, err = localcluster.Program(ctx, "kubectl", os.Stderr); err != nil {
			return nil, err
		}
	}
	y.dir, err = os.MkdirTemp("", "lockstep-demo-")
	return y, err
}

func (c *userCluster) AdminConfig() *rest.Config { return rest.CopyConfig(c.config) }
func (c *userCluster) AdminKubeconfig() string   { return c.kubeconfig }
func (c *userCluster) AuditLog() string          { return "" }
func (c *userCluster) Dir() string               { return c.dir }

// Apply applies manifests as a user does.
func (c *userCluster) Apply(ctx context.Context, manifests ...string) error {
	c.applied = append(c.applied, manifests...)
	return c.run(ctx, slices.Concat([]string{"apply"}, files(manifests))...)
}

// Stop removes everything that the demo has created.
func (c *userCluster) Stop() error {
	ctx := context.Background()
	fmt.Fprintln(c.out, "taking away what the demo made")
	failures := []error{c.run(ctx, "delete", "namespaces", "--ignore-not-found", "--selector="+madeByUs)}
	if len(c.applied) > 0 {
		failures = append(failures, c.run(ctx, slices.Concat([]string{"delete", "--ignore-not-found"}, files(c.applied))...))
	}
	return errors.Join(append(failures, os.RemoveAll(c.dir))...)
}

func files(paths []string) []string {
	var flags []string
	for _, path := range paths {
		flags = append(flags, "--filename="+path)
	}
	return flags
}

func (c *userCluster) run(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, c.kubectl, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %q: %w\n%s", args, err, out)
	}
	return nil
}

// ServiceAccountKubeconfig returns the user's kubeconfig with a token of the service account instead
// of the user's credentials.
func (c *userCluster) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	granted, err := c.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request token of service account %s/%s: %w", namespace, name, err)
	}
	config, err := clientcmd.LoadFromFile(c.kubeconfig)
	if err != nil {
		return "", err
	}
	if err := errors.Join(clientcmdapi.MinifyConfig(config), clientcmdapi.FlattenConfig(config)); err != nil {
		return "", err
	}
	current := config.Contexts[config.CurrentContext]
	current.Namespace = namespace
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{current.AuthInfo: {Token: granted.Status.Token}}
	path := filepath.Join(c.dir, name+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// isFree returns an error if the cluster contains objects of lockstep or with the demo's names.
func (c *userCluster) isFree(ctx context.Context) error {
	there, err := c.existingObjects(ctx)
	if err != nil || len(there) == 0 {
		return err
	}
	return fmt.Errorf(`it is not free for the demo, and nothing of it was touched:
  %s
Take another cluster, or uninstall lockstep first (docs/installation.md). Where all of this was left by a demo that was killed,
these take it away:
  kubectl delete namespaces --ignore-not-found --selector=%s
  kubectl delete --ignore-not-found -k manifests`, strings.Join(there, "\n  "), madeByUs)
}

// existingObjects returns installed objects of lockstep, opted-in namespaces, and namespaces with the
// names of the demo's.
func (c *userCluster) existingObjects(ctx context.Context) (there []string, err error) {
	namespaces, err := c.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	ours := slices.Concat(optedIn, notOptedIn, []string{operatorNamespace})
	for _, n := range namespaces.Items {
		if _, managed := n.Labels[optInLabel]; managed || slices.Contains(ours, n.Name) {
			there = append(there, "namespace "+n.Name)
		}
	}
	roles, err := c.client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, role := range roles.Items {
		if strings.HasPrefix(role.Name, operatorAccount) {
			there = append(there, "ClusterRole "+role.Name)
		}
	}
	deployments, err := c.client.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=lockstep"})
	if err != nil {
		return nil, err
	}
	for _, d := range deployments.Items {
		there = append(there, "Deployment "+d.Name+" in "+d.Namespace)
	}
	return there, nil
}
