package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
	"github.com/lockstep-dev/lockstep/integration-tests/images"
)

// resizesAPool changes cpu and memory of members, alone and together with the image.
func (w *world) resizesAPool(t *testing.T) {
	t.Parallel()
	p := w.pool(t, "pool-resizes", 1, w.nodes...)
	before := p.begins(len(w.nodes), nil, size(1))
	p.wantLimits(before, 1)
	since := len(p.history())
	p.changesTemplate(size(2))
	resized := p.settles()
	p.wantKept(before, resized, 0)
	p.wantLimits(resized, 2)
	for i := range resized {
		if was, is := before[i].Status.ContainerStatuses[0], resized[i].Status.ContainerStatuses[0]; was.ContainerID != is.ContainerID {
			t.Errorf("%s restarted: its container was %s and is %s", resized[i].Name, was.ContainerID, is.ContainerID)
		}
	}
	p.wantNoneDown(since)

	stop := p.records()
	p.changesTemplate(size(3), image(images.NextMember))
	after := p.settles()
	p.wantKept(before, after, 0)
	p.wantLimits(after, 3)
	for name, states := range stop() {
		first := slices.IndexFunc(states, func(s state) bool { return s.image == images.NextMember })
		if first < 1 || states[first].applied != cpu(3) || states[first-1] != (state{images.Member, cpu(3), cpu(3)}) {
			t.Errorf("%s got the new image before its resources had been changed: %v", name, states)
		}
	}

	p.changesTemplate(size(hugeSize))
	eventually(t, "a member has been handed over, and no node has room for it", func() error { return p.lacksRoom(after) })
	p.changesTemplate(size(3))
	p.wantKept(after, p.settles(), 1)
}

// hugeSize is larger than every node.
const hugeSize = 1000

// lacksRoom returns an error unless one of these members has another pod, which fits on no node.
func (p *pool) lacksRoom(former []corev1.Pod) error {
	members, err := p.members(p.t.Context())
	if err != nil || len(members) != len(former) {
		return fmt.Errorf("%d members, %w", len(members), err)
	}
	for i := range members {
		unscheduled := slices.ContainsFunc(members[i].Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable
		})
		if members[i].Name == former[i].Name && members[i].UID != former[i].UID && unscheduled {
			return nil
		}
	}
	return errors.New("none")
}

// The resources of a member of size 1. The others have multiples of them.
const (
	cpuRequest, cpuLimit       = 20, 300 // in thousandths of a processor
	memoryRequest, memoryLimit = 16, 64  // in MiB
)

func cpu(size int64) string { return fmt.Sprintf("%dm", size*cpuRequest) }

// size sets the resources of the members.
func size(n int64) option {
	resources := func(milli, mebi int64) corev1.ResourceList {
		return corev1.ResourceList{
			corev1.ResourceCPU: *resource.NewMilliQuantity(n*milli, resource.DecimalSI), corev1.ResourceMemory: *resource.NewQuantity(n*mebi<<20, resource.BinarySI),
		}
	}
	return func(s *appsv1.StatefulSet) {
		s.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: resources(cpuRequest, memoryRequest), Limits: resources(cpuLimit, memoryLimit)}
	}
}

// wantLimits fails the test unless the kernel limits the containers of the members to those of a size.
func (p *pool) wantLimits(members []corev1.Pod, size int64) {
	p.t.Helper()
	const period = 100_000 // microseconds, as kubelets set it
	quota, memory := fmt.Sprint(size*cpuLimit*period/1000), fmt.Sprint(size*memoryLimit<<20)
	for i := range members {
		pod := &members[i]
		for file, want := range map[string]string{"cpu.cfs_quota_us": quota, "memory.limit_in_bytes": memory, "cpu.max": fmt.Sprint(quota, " ", period), "memory.max": memory} {
			if got := controlGroupFile(pod, file); got != "" && got != want {
				p.t.Errorf("%s of %s is %s, %s wanted", file, pod.Name, got, want)
			}
		}
		if controlGroupFile(pod, "cpu.cfs_quota_us")+controlGroupFile(pod, "cpu.max") == "" {
			p.t.Errorf("%s has no control group", pod.Name)
		}
	}
}

// controlGroupFile returns the content of a file in the control group of a pod's only container, or an
// empty string if the version of control groups of this machine has no such file.
func controlGroupFile(pod *corev1.Pod, file string) string {
	_, container, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	within := filepath.Join(filepath.Base(enclosure.Dir()), pod.Spec.NodeName, "kubepods", "*", "pod"+string(pod.UID), container, file)
	for _, root := range []string{"/sys/fs/cgroup/*", "/sys/fs/cgroup"} {
		found, err := filepath.Glob(filepath.Join(root, within))
		if err != nil || len(found) == 0 {
			continue
		}
		if content, err := os.ReadFile(found[0]); err == nil {
			return strings.TrimSpace(string(content))
		}
	}
	return ""
}

// state is what a member has: its image, the cpu that its specification requests, and the cpu that its
// kubelet has applied.
type state struct{ image, cpu, applied string }

// records watches the members. The result stops that, and returns the states of each member, without
// repetitions.
func (p *pool) records() (stop func() map[string][]state) {
	p.t.Helper()
	watch, err := p.admin.CoreV1().Pods(p.name).Watch(p.t.Context(), metav1.ListOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	states, done := map[string][]state{}, make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			if pod, is := event.Object.(*corev1.Pod); is {
				if all, now := states[pod.Name], stateOf(pod); len(all) == 0 || all[len(all)-1] != now {
					states[pod.Name] = append(all, now)
				}
			}
		}
	}()
	return func() map[string][]state { watch.Stop(); <-done; return states }
}

func stateOf(pod *corev1.Pod) state {
	of := state{image: pod.Spec.Containers[0].Image, cpu: pod.Spec.Containers[0].Resources.Requests.Cpu().String()}
	for _, container := range pod.Status.ContainerStatuses {
		if container.Resources != nil {
			of.applied = container.Resources.Requests.Cpu().String()
		}
	}
	return of
}
