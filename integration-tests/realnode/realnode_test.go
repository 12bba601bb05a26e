package realnode_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
	"github.com/lockstep-dev/lockstep/integration-tests/images"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
	"github.com/lockstep-dev/lockstep/integration-tests/realnode"
)

func TestMain(m *testing.M) {
	if os.Getenv("LOCKSTEP_E2E") == "" || realnode.Missing() != nil {
		os.Exit(m.Run())
	}
	os.Exit(enclosure.Main(m, prepare))
}

const imagesFolder = "images" // in the folder of the enclosure

func options() localcluster.Options {
	return localcluster.Options{Progress: os.Stderr, Address: realnode.Gateway, Scheduler: true}
}

func prepare(dir string) error {
	ctx := context.Background()
	if err := localcluster.Build(ctx, options()); err != nil {
		return err
	}
	if _, err := realnode.Fetch(ctx, os.Stderr); err != nil {
		return err
	}
	return images.Write(ctx, "../..", filepath.Join(dir, imagesFolder), images.Pause, images.Member)
}

func TestAPodOnARealNodeBecomesReadyAndTerminates(t *testing.T) {
	if os.Getenv("LOCKSTEP_E2E") == "" {
		t.Skip("SKIPPED, NOT PROVED: set LOCKSTEP_E2E=run to run this (make e2e)")
	}
	if missing := realnode.Missing(); missing != nil {
		t.Skipf("SKIPPED, NOT PROVED: no node can run here: %v", missing)
	}
	if err := realnode.OpenNetwork(t.Context()); err != nil {
		t.Fatal(err)
	}
	cluster := localcluster.For(t, options())
	programs, err := realnode.Fetch(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(enclosure.Dir(), imagesFolder, "*.tar"))
	if err != nil {
		t.Fatal(err)
	}
	node, err := realnode.Start(t.Context(), programs, realnode.Options{
		Zone: "a", Kubeconfig: cluster.AdminKubeconfig(), Images: files, Pause: images.Pause,
	})
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cluster.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	pods := client.CoreV1().Pods("default")
	if _, err := pods.Create(t.Context(), pod(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the pod is Ready", func() (bool, string) {
		now, err := pods.Get(t.Context(), "member", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return ready(now), fmt.Sprint(now.Status)
	})
	now, err := pods.Get(t.Context(), "member", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantInControlGroupOfRun(t, now)
	if answer, err := pods.ProxyGet("http", "member", "8080", "/prepare-shutdown", nil).DoRaw(t.Context()); err != nil || string(answer) != "{\"prepared\": false}\n" {
		t.Errorf("it answers %q, %v", answer, err)
	}
	if err := pods.Delete(t.Context(), "member", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the pod is deleted", func() (bool, string) {
		left, err := pods.List(t.Context(), metav1.ListOptions{})
		return err == nil && len(left.Items) == 0, fmt.Sprint(left.Items, err)
	})
	if err := node.Alive(); err != nil {
		t.Error(err)
	}
}

// wantInControlGroupOfRun fails the test unless the end of the run also removes the control groups
// of a pod.
func wantInControlGroupOfRun(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	within := filepath.Join(filepath.Base(enclosure.Dir()), "node-0", "kubepods", "*", "pod"+string(pod.UID), "*")
	for _, root := range []string{"/sys/fs/cgroup/*", "/sys/fs/cgroup"} {
		if found, err := filepath.Glob(filepath.Join(root, within)); err == nil && len(found) > 0 {
			return
		}
	}
	t.Errorf("no control group is at %s", within)
}

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "member"},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(10)),
			Containers:                    []corev1.Container{{Name: "member", Image: images.Member, ImagePullPolicy: corev1.PullNever}},
		},
	}
}

func ready(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

func await(t *testing.T, what string, done func() (bool, string)) {
	t.Helper()
	last := ""
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		var yes bool
		if yes, last = done(); yes {
			return
		}
	}
	t.Fatalf("%s: not yet: %s", what, last)
}
