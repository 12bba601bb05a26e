package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func (w *world) replacesTheLeader(t *testing.T) {
	t.Parallel()
	t.Run("when its pod is deleted", func(t *testing.T) {
		w.rollsWithout(t, "leader-deleted", func(leader *corev1.Pod) error {
			now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
			return w.admin.CoreV1().Pods(home).Delete(t.Context(), leader.Name, now)
		})
	})
	t.Run("when its process is killed", func(t *testing.T) {
		if w.isYours() {
			t.Skip("SKIPPED, NOT PROVED: the process runs on one of your nodes")
		}
		w.rollsWithout(t, "leader-killed", func(leader *corev1.Pod) error {
			pid, err := processOf(leader)
			if err != nil {
				return err
			}
			return syscall.Kill(pid, syscall.SIGKILL)
		})
	})
}

// rollsWithout tests that a rollout ends although the leader ends during it.
func (w *world) rollsWithout(t *testing.T, name string, end func(leader *corev1.Pod) error) {
	t.Helper()
	w.leading.Lock()
	defer w.leading.Unlock()
	s := w.scene(t, name, 6)
	s.create(zone("a", 2), zone("b", 2), zone("c", 2))
	s.change(revision("2"), variable("MEMBER_START", "6s"))
	s.awaitDepartures(2)
	former, leader, err := w.leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := end(leader); err != nil {
		t.Fatal(err)
	}
	s.wantUnderway(6)
	s.settled()
	s.wantDepartures(6)
	eventually(t, "another process leads", func() error { return w.leadsNoMore(t.Context(), former) })
	w.works(t)
}

// killsTheLeader kills the process of the leader with SIGKILL and returns the leader's name.
func (w *world) killsTheLeader(t *testing.T) (former string) {
	t.Helper()
	former, leader, err := w.leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	process, err := processOf(leader)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(process, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	return former
}

// leadsNoMore returns an error while this process is the leader.
func (w *world) leadsNoMore(ctx context.Context, former string) error {
	now, _, err := w.leader(ctx)
	if err == nil && now == former {
		err = fmt.Errorf("it is still %s", former)
	}
	return err
}

// processOf returns the process of a pod's only container on this machine.
func processOf(pod *corev1.Pod) (int, error) {
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	groups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return 0, err
	}
	for _, file := range groups {
		if content, err := os.ReadFile(file); err == nil && bytes.Contains(content, []byte(id)) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("no process is in the control group of container %q", id)
}
