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

// The label by which the demo's namespaces are found again.
const (
	makerLabel = "lockstep.test/made-by"
	makerDemo  = "demo"
	madeByUs   = makerLabel + "=" + makerDemo
)

// yours is a cluster of the user's. Nothing of it is touched but what the demo makes,
// and Stop takes that away.
type yours struct {
	out        io.Writer
	kubeconfig string
	kubectl    string
	config     *rest.Config
	client     kubernetes.Interface
	dir        string
	applied    []string
}

// openYours looks at a cluster, in which nothing of lockstep may be.
func openYours(ctx context.Context, out io.Writer, kubeconfig string) (_ *yours, err error) {
	y := &yours{out: out}
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

func (y *yours) AdminConfig() *rest.Config { return rest.CopyConfig(y.config) }
func (y *yours) AdminKubeconfig() string   { return y.kubeconfig }
func (y *yours) AuditLog() string          { return "" }
func (y *yours) Dir() string               { return y.dir }

// Apply applies manifests as a user does.
func (y *yours) Apply(ctx context.Context, manifests ...string) error {
	y.applied = append(y.applied, manifests...)
	return y.run(ctx, slices.Concat([]string{"apply"}, files(manifests))...)
}

// Stop takes everything away that the demo has made.
func (y *yours) Stop() error {
	ctx := context.Background()
	fmt.Fprintln(y.out, "taking away what the demo made")
	failures := []error{y.run(ctx, "delete", "namespaces", "--ignore-not-found", "--selector="+madeByUs)}
	if len(y.applied) > 0 {
		failures = append(failures, y.run(ctx, slices.Concat([]string{"delete", "--ignore-not-found"}, files(y.applied))...))
	}
	return errors.Join(append(failures, os.RemoveAll(y.dir))...)
}

func files(paths []string) []string {
	var flags []string
	for _, path := range paths {
		flags = append(flags, "--filename="+path)
	}
	return flags
}

func (y *yours) run(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, y.kubectl, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+y.kubeconfig)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("kubectl %q: %w\n%s", args, err, out)
	}
	return nil
}

// ServiceAccountKubeconfig is the user's kubeconfig with a token of the service account
// in the place of the user's credentials.
func (y *yours) ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error) {
	granted, err := y.client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("request token of service account %s/%s: %w", namespace, name, err)
	}
	config, err := clientcmd.LoadFromFile(y.kubeconfig)
	if err != nil {
		return "", err
	}
	if err := errors.Join(clientcmdapi.MinifyConfig(config), clientcmdapi.FlattenConfig(config)); err != nil {
		return "", err
	}
	current := config.Contexts[config.CurrentContext]
	current.Namespace = namespace
	config.AuthInfos = map[string]*clientcmdapi.AuthInfo{current.AuthInfo: {Token: granted.Status.Token}}
	path := filepath.Join(y.dir, name+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// isFree says what of lockstep a cluster has, or what is called as the demo's own.
func (y *yours) isFree(ctx context.Context) error {
	there, err := y.occupants(ctx)
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

// occupants are lockstep where it is installed, namespaces that opted in, and those
// that are called as the demo's.
func (y *yours) occupants(ctx context.Context) (there []string, err error) {
	namespaces, err := y.client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	ours := slices.Concat(optedIn, notOptedIn, []string{operatorNamespace})
	for _, n := range namespaces.Items {
		if _, managed := n.Labels[optInLabel]; managed || slices.Contains(ours, n.Name) {
			there = append(there, "namespace "+n.Name)
		}
	}
	roles, err := y.client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, role := range roles.Items {
		if strings.HasPrefix(role.Name, operatorAccount) {
			there = append(there, "ClusterRole "+role.Name)
		}
	}
	deployments, err := y.client.AppsV1().Deployments(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=lockstep"})
	if err != nil {
		return nil, err
	}
	for _, d := range deployments.Items {
		there = append(there, "Deployment "+d.Name+" in "+d.Namespace)
	}
	return there, nil
}
