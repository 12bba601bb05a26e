package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// withCPU returns a patch of the template that has one container which requests cpu.
func withCPU(image, cpu string) string {
	return withContainer(image, fmt.Sprintf(`, "resources": {"requests": {"cpu": %q}}`, cpu))
}

// asksForCPU is a spec whose pods request cpu and leave their clients before they are updated in place.
func asksForCPU() map[string]any {
	container := map[string]any{
		"name": "db", "image": "db:1", "resources": map[string]any{"requests": map[string]any{"cpu": "100m"}},
		"volumeMounts": []any{map[string]any{"name": "data", "mountPath": "/data"}, map[string]any{"name": "logs", "mountPath": "/logs"}},
	}
	return map[string]any{
		"template":       map[string]any{"spec": map[string]any{"containers": []any{container}}},
		"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"inPlace": map[string]any{"gracePeriodSeconds": int64(1)}}},
	}
}

// resizable creates a StatefulCluster whose pods request cpu, and waits for its pods.
func resizable(t *testing.T, s *scene) (_ pool, names, uids []string) {
	t.Helper()
	p := s.createPool(2, asksForCPU())
	names, uids = identities(p.settles(2))
	return p, names, uids
}

// reportsResources lets the kubelet of a pod report the resources of its container. The API server resizes no other pods.
func (p pool) reportsResources(name string) {
	p.t.Helper()
	p.eventually("the kubelet reports the resources of "+name, func(present) error {
		pod, err := p.world.admin.CoreV1().Pods(p.scene.name).Get(p.t.Context(), name, getOptions)
		if err != nil {
			return err
		}
		pod.Status.ContainerStatuses[0].Resources = &pod.Spec.Containers[0].Resources
		_, err = p.world.admin.CoreV1().Pods(p.scene.name).UpdateStatus(p.t.Context(), pod, metav1.UpdateOptions{})
		return err
	})
}

func TestStatefulClusterResizesPodsInPlaceBeforeTheirImagesChange(t *testing.T) {
	t.Parallel()
	for sentence, start := range map[string]func(*testing.T) *scene{
		"by the operator of the namespace": func(t *testing.T) *scene { t.Helper(); s := unmanaged(t); s.withRoleForPools(); return s },
		"by the operator of the cluster":   func(t *testing.T) *scene { t.Helper(); s := managed(t); s.schedulesOn(s.someNode()); return s },
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			resizesBeforeImages(t, start(t))
		})
	}
}

func resizesBeforeImages(t *testing.T, s *scene) {
	t.Helper()
	p, names, uids := resizable(t, s)
	for _, name := range names {
		p.reportsResources(name)
	}
	stop := p.records()
	p.updates(withCPU("db:2", "200m"))
	after := p.hasImage(2, "db:2")
	newNames, newUIDs := identities(after)
	if !slices.Equal(names, newNames) || !slices.Equal(uids, newUIDs) {
		t.Errorf("the pods were %v %v and are %v %v", names, uids, newNames, newUIDs)
	}
	for i := range after {
		if cpu := after[i].Spec.Containers[0].Resources.Requests.Cpu().String(); cpu != "200m" {
			t.Errorf("pod %s requests %s of cpu", after[i].Name, cpu)
		}
	}
	for name, stages := range stop() {
		if want := []string{"open db:1 100m", "closed db:1 100m", "closed db:1 200m", "closed db:2 200m", "open db:2 200m"}; !slices.Equal(stages, want) {
			t.Errorf("pod %s went through %q, want %q", name, stages, want)
		}
	}
	p.updates(withCPU("db:2", "300m")) // no container restarts
	p.eventually("all pods have the new resources", func(present) error {
		for _, pod := range p.settles(2) {
			if cpu := pod.Spec.Containers[0].Resources.Requests.Cpu().String(); cpu != "300m" || pod.Status.ContainerStatuses[0].RestartCount != 1 {
				return fmt.Errorf("pod %s requests %s of cpu and has restarted %d times", pod.Name, cpu, pod.Status.ContainerStatuses[0].RestartCount)
			}
		}
		return nil
	})
}

// records watches the pods of the pool. The result stops that, and returns the states of each pod, without repetitions.
func (p pool) records() func() map[string][]string {
	p.t.Helper()
	ofPool := metav1.ListOptions{LabelSelector: "lockstep.dev/statefulcluster=" + p.name}
	watch, err := p.world.admin.CoreV1().Pods(p.scene.name).Watch(p.t.Context(), ofPool)
	if err != nil {
		p.t.Fatal(err)
	}
	states, done := map[string][]string{}, make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			if pod, is := event.Object.(*corev1.Pod); is {
				if all, state := states[pod.Name], stateOf(pod); len(all) == 0 || all[len(all)-1] != state {
					states[pod.Name] = append(all, state)
				}
			}
		}
	}()
	return func() map[string][]string { watch.Stop(); <-done; return states }
}

// stateOf returns the gate, the image and the cpu of a pod.
func stateOf(pod *corev1.Pod) string {
	gate := "closed"
	for _, c := range pod.Status.Conditions {
		if c.Type == "lockstep.dev/InPlaceUpdateReady" && c.Status == corev1.ConditionTrue {
			gate = "open"
		}
	}
	return strings.Join([]string{gate, pod.Spec.Containers[0].Image, pod.Spec.Containers[0].Resources.Requests.Cpu().String()}, " ")
}

func TestStatefulClusterHandsOverAPodThatCannotBeResized(t *testing.T) {
	t.Parallel()
	for sentence, reports := range map[string]bool{
		"because its node has no room": true, "because its node cannot resize pods": false, // then the API server refuses it
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			handsOverInsteadOfAResize(t, reports)
		})
	}
}

// handsOverInsteadOfAResize changes the resources of pods whose kubelets report resources, or not.
func handsOverInsteadOfAResize(t *testing.T, reports bool) {
	t.Helper()
	s := unmanaged(t)
	s.withRoleForPools()
	p, names, uids := resizable(t, s)
	change := func(name, patch string, subresource ...string) {
		t.Helper()
		_, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(t.Context(), name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresource...)
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		change(name, `{"metadata": {"annotations": {"lockstep.test/resize": "by the test"}}}`)
		if reports {
			p.reportsResources(name)
		}
	}
	p.updates(withCPU("db:1", "200m"))
	resized := map[string]bool{}
	p.eventually("both identities have other pods with the new resources", func(present) error {
		var errs []error
		for _, pod := range p.pods() {
			is := slices.Contains(uids, string(pod.UID))
			if is {
				errs = append(errs, fmt.Errorf("pod %s is the former one", pod.Name))
			}
			if is && pod.Spec.Containers[0].Resources.Requests.Cpu().String() == "200m" {
				resized[pod.Name] = true
				change(pod.Name, fmt.Sprintf(`{"status": {"observedGeneration": %d, "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]}}`, pod.Generation), "status")
			}
		}
		return errors.Join(errs...)
	})
	after := p.settles(2)
	if now, _ := identities(after); !slices.Equal(names, now) || (len(resized) > 0) != reports {
		t.Errorf("the pods were %v and are %v; resized: %v", names, now, resized)
	}
	for i := range after {
		if cpu := after[i].Spec.Containers[0].Resources.Requests.Cpu().String(); cpu != "200m" {
			t.Errorf("pod %s requests %s of cpu", after[i].Name, cpu)
		}
	}
}
