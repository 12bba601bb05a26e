package localcluster_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// configMap creates a ConfigMap and returns its resourceVersion.
func configMap(t *testing.T, client kubernetes.Interface, name string) string {
	t.Helper()
	made, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made.ResourceVersion
}

func TestAnInterruptedProgramRestartsWithItsData(t *testing.T) {
	t.Parallel()
	cluster := localcluster.For(t, localcluster.Options{}) // when it ends, it would report a program that had ended
	client := clientFor(t, cluster)
	for _, program := range []string{localcluster.APIServer, localcluster.Etcd} {
		configMap(t, client, "before-"+program)
		began := time.Now()
		if err := cluster.Interrupt(t.Context(), program, time.Second); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took < time.Second {
			t.Errorf("%s was away for %s, want 1s at least", program, took)
		}
		if _, err := client.CoreV1().ConfigMaps("default").Get(t.Context(), "before-"+program, metav1.GetOptions{}); err != nil {
			t.Errorf("after %s was interrupted: %v", program, err)
		}
	}
	log, err := os.ReadFile(cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	for _, program := range []string{localcluster.APIServer, localcluster.Etcd} {
		if !strings.Contains(string(log), "before-"+program) {
			t.Errorf("the audit log has lost the requests before %s was interrupted", program)
		}
	}
	if err := cluster.Interrupt(t.Context(), "no such program", 0); err == nil {
		t.Error("a program that does not run was interrupted")
	}
}

func TestNodesAreAddedAlthoughTheAPIServerIsAway(t *testing.T) {
	t.Parallel()
	cluster := localcluster.For(t, localcluster.Options{})
	const away = time.Second
	interrupted := make(chan error, 1)
	go func() { interrupted <- cluster.Interrupt(t.Context(), localcluster.APIServer, away) }()
	time.Sleep(away / 2) // until it is away
	nodes, err := cluster.AddNodes(t.Context(), 2, nil)
	if err != nil || len(nodes) != 2 {
		t.Errorf("nodes %q were added, %v", nodes, err)
	}
	if err := <-interrupted; err != nil {
		t.Fatal(err)
	}
}

func TestPausedControllersCatchUp(t *testing.T) {
	t.Parallel()
	cluster := localcluster.For(t, localcluster.Options{})
	client := clientFor(t, cluster)
	const paused = 2 * time.Second
	ended := make(chan error, 1)
	began := time.Now()
	go func() { ended <- cluster.Pause(t.Context(), localcluster.ControllerManager, paused) }()
	time.Sleep(paused / 4) // until the signal has arrived
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := client.CoreV1().ServiceAccounts("late").Get(t.Context(), "default", metav1.GetOptions{})
		if err == nil {
			break
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("controllers do not continue: %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if took := time.Since(began); took < paused {
		t.Errorf("a controller worked after %s, want none before %s", took, paused)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := cluster.Pause(t.Context(), "no such program", 0); err == nil {
		t.Error("a program that does not run was paused")
	}
}

func TestAnUncachedAPIServerContinuesAWatchAtAnyVersion(t *testing.T) {
	t.Parallel()
	cluster := localcluster.For(t, localcluster.Options{})
	added, err := cluster.AddAPIServer(t.Context(), localcluster.APIServerOptions{Name: "uncached", Uncached: true})
	if err != nil {
		t.Fatal(err)
	}
	uncached, err := kubernetes.NewForConfig(added.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	from := configMap(t, clientFor(t, cluster), "first")
	configMap(t, uncached, "second")
	for _, program := range []string{localcluster.Etcd, localcluster.APIServer} {
		if err := cluster.Interrupt(t.Context(), program, 0); err != nil {
			t.Fatal(err)
		}
	}
	configMap(t, clientFor(t, cluster), "third")
	for _, want := range []string{"second", "third"} {
		if got := nextOf(t, uncached, &from); got != want {
			t.Errorf("it reports %s, want %s", got, want)
		}
	}
	log, err := os.ReadFile(added.AuditLog())
	if err != nil || !strings.Contains(string(log), `"name":"second"`) || strings.Contains(string(log), `"name":"first"`) {
		t.Errorf("its audit log is not its own: %v", err)
	}
}

// nextOf returns the next ConfigMap in default that a watch sends after a version.
func nextOf(t *testing.T, client kubernetes.Interface, version *string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		events, err := client.CoreV1().ConfigMaps("default").Watch(ctx, metav1.ListOptions{ResourceVersion: *version})
		if ctx.Err() != nil {
			t.Fatalf("no event after version %s: %v", *version, err)
		}
		if err != nil {
			continue
		}
		event := <-events.ResultChan()
		events.Stop()
		if made, ok := event.Object.(*corev1.ConfigMap); ok && event.Type == watch.Added {
			*version = made.ResourceVersion
			return made.Name
		}
	}
}

func TestAnAPIServerBehindASlowPipeShowsThePast(t *testing.T) {
	t.Parallel()
	const late = 20 * time.Second
	cluster := localcluster.For(t, localcluster.Options{})
	pipe, err := faultproxy.StartPipe(strings.TrimPrefix(cluster.EtcdURL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pipe.Close)
	added, err := cluster.AddAPIServer(t.Context(), localcluster.APIServerOptions{Name: "stale", Etcd: "http://" + pipe.Address()})
	if err != nil {
		t.Fatal(err)
	}
	stale, err := kubernetes.NewForConfig(added.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	pipe.Delay(late)
	configMap(t, clientFor(t, cluster), "new")
	cached := metav1.GetOptions{ResourceVersion: "0"}
	if _, err := stale.CoreV1().ConfigMaps("default").Get(t.Context(), "new", cached); err == nil {
		t.Error("it shows new objects at once")
	}
	pipe.Delay(0)
	eventually(t, "it shows new objects later", func() error {
		_, err := stale.CoreV1().ConfigMaps("default").Get(t.Context(), "new", cached)
		return err
	})
}

func TestAFormerOperatorIsBuiltOnceFromItsCommit(t *testing.T) {
	t.Parallel()
	commit, err := os.ReadFile("../upgrade/from")
	if err != nil {
		t.Fatal(err)
	}
	program, err := localcluster.BuildFormerOperator(t.Context(), strings.TrimSpace(string(commit)), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	again, err := localcluster.BuildFormerOperator(t.Context(), strings.TrimSpace(string(commit)), nil)
	if err != nil || again != program {
		t.Errorf("the second time it is %s, %v", again, err)
	}
	if out, err := exec.CommandContext(t.Context(), program, "-version").CombinedOutput(); err != nil {
		t.Errorf("it does not print its version: %v: %s", err, out)
	}
	if _, err := localcluster.BuildFormerOperator(t.Context(), strings.Repeat("0", 40), nil); err == nil {
		t.Error("a commit that there is not was built")
	}
}
