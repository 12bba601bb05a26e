package apiserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// operator is a running operator and its user name.
type operator struct {
	*localcluster.Operator
	user string
}

// start runs an operator as the service account lockstep of a namespace.
func (w *world) start(ctx context.Context, namespace string, args ...string) (*operator, error) {
	kubeconfig, err := w.cluster.ServiceAccountKubeconfig(ctx, namespace, account)
	if err != nil {
		return nil, err
	}
	return w.startWith(ctx, kubeconfig, user(namespace), namespace, args...)
}

// startWith runs an operator with a kubeconfig of that user.
func (w *world) startWith(ctx context.Context, kubeconfig, user, namespace string, args ...string) (*operator, error) {
	return w.startIn(ctx, nil, kubeconfig, user, namespace, args...)
}

// startIn runs an operator with variables in its environment.
func (w *world) startIn(ctx context.Context, env []string, kubeconfig, user, namespace string, args ...string) (*operator, error) {
	if err := w.awaitAllowed(ctx, user, namespace); err != nil {
		return nil, err
	}
	process, err := localcluster.StartOperator(ctx, localcluster.OperatorOptions{
		Kubeconfig: kubeconfig, Program: w.program, Args: args, Env: env,
	})
	if err != nil {
		return nil, err
	}
	return &operator{Operator: process, user: user}, nil
}

// awaitAllowed waits until the API server applies the roles of a user, so that it refuses no
// request for lack of them.
func (w *world) awaitAllowed(ctx context.Context, user, namespace string) error {
	return awaitRoles(ctx, w.admin, user, namespace)
}

// withRole creates a service account and the Role of single-namespace mode in the scene, for
// operators of its own.
func (s *scene) withRole() {
	s.t.Helper()
	err := s.world.cluster.ApplyIn(s.t.Context(), s.name,
		manifest+"operator/serviceaccount.yaml", manifest+"rbac/namespaced/role.yaml", manifest+"rbac/home.yaml")
	if err != nil {
		s.t.Fatal(err)
	}
}

// startOperatorAs starts an operator with another account of the namespace.
func (s *scene) startOperatorAs(account string, args ...string) *operator {
	s.t.Helper()
	kubeconfig, err := s.world.cluster.ServiceAccountKubeconfig(s.t.Context(), s.name, account)
	if err != nil {
		s.t.Fatal(err)
	}
	s.own.User = "system:serviceaccount:" + s.name + ":" + account
	return s.startOperatorWith(kubeconfig, args...)
}

// startOperator starts an operator for this namespace only, and kills it at the end of the test.
// Call withRole first. From then on, failure messages of the scene describe this operator.
func (s *scene) startOperator(args ...string) *operator {
	s.t.Helper()
	return s.startOperatorWith(s.kubeconfig(), args...)
}

func (s *scene) kubeconfig() string {
	s.t.Helper()
	kubeconfig, err := s.world.cluster.ServiceAccountKubeconfig(s.t.Context(), s.name, account)
	if err != nil {
		s.t.Fatal(err)
	}
	return kubeconfig
}

func (s *scene) startOperatorWith(kubeconfig string, args ...string) *operator {
	s.t.Helper()
	own := []string{"-log.level=debug", "-kubernetes.namespace=" + s.name, "-operator.namespace=" + s.name}
	op, err := s.world.startWith(s.t.Context(), kubeconfig, s.own.User, s.name, append(own, args...)...)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(op.Kill)
	s.operator = op
	return op
}

// get returns the operator's answer on a path, and the status code.
func (o *operator) get(path string) (int, string) { return get(o.URL() + path) }

func get(url string) (int, string) {
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return response.StatusCode, err.Error()
	}
	return response.StatusCode, string(body)
}

// stopGently stops an operator like Kubernetes does, and returns its exit code.
func stopGently(t *testing.T, o *operator) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	code, err := o.Stop(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// lastLines returns the last lines of a log that contain a text.
func lastLines(log, mention string, limit int) string {
	var found []string
	for line := range strings.Lines(log) {
		if strings.Contains(line, mention) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	if len(found) > limit {
		found = found[len(found)-limit:]
	}
	return strings.Join(found, "\n")
}
