package localcluster_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// playVariable makes the test binary act as another program.
const playVariable = "LOCALCLUSTER_TEST_PLAY"

func TestMain(m *testing.M) {
	switch play := os.Getenv(playVariable); play {
	case "":
		os.Exit(m.Run())
	case "owner", "leaver":
		playOwner(play)
	case "operator", "broken operator":
		playOperator(play)
	}
}

// playOwner starts a cluster, prints its folder, and waits until it is killed. A leaver starts a
// cluster that stays, and ends.
func playOwner(play string) {
	cluster, err := localcluster.Start(context.Background(), localcluster.Options{Detached: play == "leaver"})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(cluster.Dir())
	if play == "owner" {
		select {}
	}
}

// playOperator prints its address, answers on /ready after a moment, and ends with code 0 on
// SIGTERM.
func playOperator(play string) {
	if play == "broken operator" {
		fmt.Println("no such flag")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Printf("{\"msg\":\"starting\",\"args\":%q}\n", os.Args[1:])
	fmt.Printf("{\"msg\":\"listening\",\"address\":%q}\n", listener.Addr())
	began := time.Now()
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/ready" || time.Since(began) < 200*time.Millisecond {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
		}))
	}()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	<-ctx.Done()
}

func TestTwoClustersAtOnceKnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	var clusters [2]*localcluster.Cluster
	var starts sync.WaitGroup
	for i := range clusters {
		starts.Go(func() { clusters[i] = startQuietly(t) })
	}
	starts.Wait()
	if t.Failed() {
		return
	}
	create(t, clientFor(t, clusters[0]), statefulSet("only-here", 1, nil))
	there, err := clientFor(t, clusters[1]).AppsV1().StatefulSets("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if len(there.Items) != 0 {
		t.Errorf("the other cluster has it too: %v", there.Items)
	}
	for _, cluster := range clusters {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
		wantNoRemains(t, cluster.Dir())
		if _, err := os.Stat(cluster.Dir()); !os.IsNotExist(err) {
			t.Errorf("folder after Stop: %v", err)
		}
	}
}

func TestAKilledOwnerLeavesNothing(t *testing.T) {
	t.Parallel()
	owner, dir := startOwner(t, "owner")
	if len(processesOf(t, dir)) < 4 {
		t.Fatalf("before the kill: processes %v, wanted at least 4", processesOf(t, dir))
	}
	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = owner.Wait()
	wantNoRemains(t, dir)

	// The next cluster or operator removes the folder.
	if _, err := localcluster.StartOperator(t.Context(), operatorOptions("broken operator")); err == nil {
		t.Fatal("a broken operator started")
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("folder of the dead owner: %v", err)
	}
}

func TestADetachedClusterStaysUntilItIsStopped(t *testing.T) {
	t.Parallel()
	leaver, dir := startOwner(t, "leaver")
	if err := leaver.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := localcluster.StartOperator(t.Context(), operatorOptions("broken operator")); err == nil { // its start removes abandoned folders
		t.Fatal("a broken operator started")
	}
	if got := processesOf(t, dir); len(got) != 4 {
		t.Errorf("after its owner ended: processes %v, wanted 4", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "admin.kubeconfig")); err != nil {
		t.Errorf("after its owner ended: %v", err)
	}
	for range 2 { // a second stop is no error
		if err := localcluster.StopDetached(dir); err != nil {
			t.Fatal(err)
		}
	}
	wantNoRemains(t, dir)
}

func TestAnOperatorRunsUntilItIsStoppedOrKilled(t *testing.T) {
	t.Parallel()
	t.Run("stopped it ends with its own exit code", func(t *testing.T) {
		operator := startOperator(t)
		if code, err := operator.Stop(t.Context()); code != 0 || err != nil {
			t.Errorf("Stop: got %d, %v", code, err)
		}
		if logs := operator.Logs(); !strings.Contains(logs, "-server.port=0") || !strings.Contains(logs, "-extra") {
			t.Errorf("logs lack the flags: %s", logs)
		}
	})
	t.Run("a killed owner ends it at once", func(t *testing.T) {
		operator := startOperator(t)
		operator.Kill()
		select {
		case <-operator.Exited():
		default:
			t.Error("it is still there")
		}
		if code := operator.ExitCode(); code != -1 {
			t.Errorf("exit code: got %d", code)
		}
	})
	t.Run("a program that ends by itself is an error with its log", func(t *testing.T) {
		_, err := localcluster.StartOperator(t.Context(), operatorOptions("broken operator"))
		if err == nil || !strings.Contains(err.Error(), "no such flag") || !strings.Contains(err.Error(), "exit status 2") {
			t.Errorf("got %v", err)
		}
	})
}

func startOperator(t *testing.T) *localcluster.Operator {
	t.Helper()
	var log bytes.Buffer
	options := operatorOptions("operator")
	options.Args, options.Log = []string{"-extra"}, &log
	operator, err := localcluster.StartOperator(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(operator.Kill)
	response, err := http.Get(operator.URL() + "/ready")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("/ready: got %s", response.Status)
	}
	return operator
}

func operatorOptions(play string) localcluster.OperatorOptions {
	return localcluster.OperatorOptions{
		Kubeconfig: "unused",
		Program:    os.Args[0],
		Env:        []string{playVariable + "=" + play},
	}
}

func startQuietly(t *testing.T) *localcluster.Cluster {
	t.Helper()
	cluster, err := localcluster.Start(t.Context(), localcluster.Options{})
	if err != nil {
		t.Error(err)
		return nil
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	return cluster
}

func startOwner(t *testing.T, play string) (*exec.Cmd, string) {
	t.Helper()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), playVariable+"="+play)
	owner.Stderr = os.Stderr
	stdout, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Process.Kill() })
	dir, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) || dir == "" {
		t.Fatalf("read the folder of the cluster: %q, %v", dir, err)
	}
	return owner, strings.TrimSpace(dir)
}

func wantNoRemains(t *testing.T, dir string) {
	t.Helper()
	eventually(t, "no process of "+dir+" remains", func() error {
		if left := processesOf(t, dir); len(left) > 0 {
			return fmt.Errorf("there are %v", left)
		}
		return nil
	})
}

// processesOf lists the programs whose command line contains the folder.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, line := range lines {
		content, err := os.ReadFile(line)
		if err != nil || !bytes.Contains(content, []byte(dir)) {
			continue
		}
		program, _, _ := strings.Cut(string(content), "\x00")
		found = append(found, filepath.Base(program))
	}
	return found
}
