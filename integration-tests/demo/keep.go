package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// These are the files of a kept operator in its cluster's folder.
const (
	keptProgram = "lockstep"
	keptLog     = "operator.log"
	keptPID     = "operator.pid"
)

const (
	readyTimeout = 30 * time.Second
	stopTimeout  = 15 * time.Second
)

// startKeptOperator starts the operator in a session of its own. It does not use localcluster, which
// stops its operators with this process.
func startKeptOperator(ctx context.Context, program, dir, kubeconfig string, env []string) (*operator, error) {
	kept := filepath.Join(dir, keptProgram)
	if err := copyProgram(program, kept); err != nil {
		return nil, fmt.Errorf("keep operator: %w", err)
	}
	port, err := freePort(ctx)
	if err != nil {
		return nil, fmt.Errorf("keep operator: %w", err)
	}
	log, err := os.Create(filepath.Join(dir, keptLog))
	if err != nil {
		return nil, fmt.Errorf("keep operator: %w", err)
	}
	defer log.Close()

	// The operator must outlive this process and its context.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), kept,
		"-kubernetes.config-file="+kubeconfig, "-log.format=json", fmt.Sprintf("-server.port=%d", port))
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start operator: %w", err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // the receiver of exited reports the unexpected end
		close(exited)
	}()
	o := &operator{
		url: fmt.Sprintf("http://127.0.0.1:%d", port), pid: cmd.Process.Pid, log: log.Name(), exited: exited,
		stop: func(ctx context.Context) error { return endProcess(ctx, cmd.Process.Pid, kept) },
	}
	pid := []byte(strconv.Itoa(o.pid) + "\n")
	if err := os.WriteFile(filepath.Join(dir, keptPID), pid, 0o600); err != nil {
		return o, fmt.Errorf("keep operator: %w", err)
	}
	return o, o.awaitReady(ctx)
}

func (o *operator) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, readyTimeout, fmt.Errorf("not ready after %s", readyTimeout))
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("start operator: %w; %s", context.Cause(ctx), logTail(o.log))
		case <-o.exited:
			return fmt.Errorf("start operator: it ended by itself; %s", logTail(o.log))
		case <-time.After(50 * time.Millisecond):
		}
		if localcluster.Answers(ctx, o.url+"/ready") {
			return nil
		}
	}
}

// stopKept stops the programs that DEMO_KEEP=1 left running. It ignores programs that have ended already.
func stopKept(ctx context.Context, out io.Writer, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return fmt.Errorf("stop: %w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, keptProgram)); err != nil {
		return fmt.Errorf("stop: %s is not a folder that DEMO_KEEP=1 printed, or it was stopped before: %w", dir, err)
	}
	if err := stopKeptOperator(ctx, dir); err != nil {
		return fmt.Errorf("stop operator: %w", err)
	}
	if err := localcluster.StopDetached(dir); err != nil {
		return err
	}
	fmt.Fprintln(out, "cluster and operator were ended,", dir, "is gone")
	return nil
}

func stopKeptOperator(ctx context.Context, dir string) error {
	content, err := os.ReadFile(filepath.Join(dir, keptPID))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil {
		return fmt.Errorf("read %s: %w", keptPID, err)
	}
	return endProcess(ctx, pid, filepath.Join(dir, keptProgram))
}

// endProcess stops a program with SIGTERM, and after a timeout with SIGKILL.
func endProcess(ctx context.Context, pid int, program string) error {
	if !isRunning(pid, program) {
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("end process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	for isRunning(pid, program) {
		select {
		case <-ctx.Done():
			return syscall.Kill(pid, syscall.SIGKILL)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// isRunning reports whether the process runs the program, because another process may have got the
// number.
func isRunning(pid int, program string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.HasPrefix(string(line), program+"\x00")
}

func copyProgram(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o700)
}

func freePort(ctx context.Context) (int, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("find free port: %T is no TCP address", listener.Addr())
	}
	return address.Port, nil
}

// logTail returns the end of a log, for an error message.
func logTail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "its log cannot be read: " + err.Error()
	}
	const lines = 10
	all := strings.Split(strings.TrimRight(string(content), "\n"), "\n")
	return "last lines of " + path + ":\n" + strings.Join(all[max(0, len(all)-lines):], "\n")
}

// printKept prints how to use the programs that were left running.
func printKept(out io.Writer, s *environment) {
	fmt.Fprintf(out, `
Cluster and operator are left running. Look around:

  export KUBECONFIG=%s
  kubectl get pods,leases --all-namespaces
  kubectl -n %s get events
  kubectl -n %s get statefulclusters,pods,persistentvolumeclaims
  curl %s/debug/groups/%s/%s

Roll again, for example:

  kubectl -n %s set image statefulset --all %s=%s:3.0

No scheduler runs, so new pods of the StatefulCluster stay Pending.
The operator logs to %s. End both, from the folder integration-tests:

  go run ./demo stop %s
`, s.AdminKubeconfig(), optedIn[0], identityNamespace, s.operator.url, optedIn[0], groupName,
		optedIn[0], containerOne, groupName, s.operator.log, s.Dir())
}
