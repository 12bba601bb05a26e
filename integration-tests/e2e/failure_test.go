package e2e_test

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"
)

// logState logs data that is lost when the scene of a failed test is deleted: the logs of
// the replicas and the Events of the scene.
func (s *scene) logState() {
	if !s.t.Failed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), time.Minute)
	defer cancel()
	replicas, err := s.replicas(ctx)
	if err != nil {
		s.t.Log(err)
	}
	for _, pod := range replicas {
		s.show(ctx, s.t, "logs", "--namespace="+home, pod.Name, "--tail=200")
	}
	for _, namespace := range []string{home, s.name} {
		s.show(ctx, s.t, "get", "events,pods", "--namespace="+namespace, "--output=wide")
	}
}

// show logs the output of kubectl.
func (w *world) show(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	command := exec.CommandContext(ctx, w.kubectl, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+w.kubeconfig)
	out, err := command.CombinedOutput()
	t.Logf("kubectl %q: %v\n%s", args, err, out)
}
