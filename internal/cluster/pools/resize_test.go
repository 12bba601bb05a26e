package pools

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

func TestTheGateAndTheResizeOfAPodAreRead(t *testing.T) {
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, Reason: reason})
		}
	}
	cpu := func(amount string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}}
	}
	runs := func(amount string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			has := cpu(amount)
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "db", Resources: &has}}
		}
	}
	gated := func(p *corev1.Pod) {
		p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: contract.UpdateGate}}
	}
	for sentence, tc := range map[string]struct {
		pod    []func(*corev1.Pod)
		gate   pool.Gate
		resize pool.Resize
	}{
		"without a gate":                        {nil, pool.NoGate, pool.Resized},
		"a gate without a condition":            {[]func(*corev1.Pod){gated}, pool.GateClosed, pool.Resized},
		"a closed gate":                         {[]func(*corev1.Pod){gated, condition(contract.UpdateGate, "False", "")}, pool.GateClosed, pool.Resized},
		"an open gate":                          {[]func(*corev1.Pod){gated, condition(contract.UpdateGate, "True", "")}, pool.GateOpen, pool.Resized},
		"resources in another form":             {[]func(*corev1.Pod){runs("1000m")}, pool.NoGate, pool.Resized},
		"former resources":                      {[]func(*corev1.Pod){runs("500m")}, pool.NoGate, pool.ResizeUnderway},
		"a resize in progress":                  {[]func(*corev1.Pod){condition(corev1.PodResizeInProgress, "True", "")}, pool.NoGate, pool.ResizeUnderway},
		"a resize that was in progress":         {[]func(*corev1.Pod){condition(corev1.PodResizeInProgress, "False", "")}, pool.NoGate, pool.Resized},
		"a resize for which there is no room":   {[]func(*corev1.Pod){condition(corev1.PodResizePending, "True", "Deferred")}, pool.NoGate, pool.ResizeDeferred},
		"a resize that the node never can do":   {[]func(*corev1.Pod){condition(corev1.PodResizePending, "True", "Infeasible")}, pool.NoGate, pool.ResizeInfeasible},
		"a spec that the kubelet has not seen":  {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Generation, p.Status.ObservedGeneration = 3, 2 }}, pool.NoGate, pool.ResizeUnderway},
		"a kubelet that reports no observation": {[]func(*corev1.Pod){func(p *corev1.Pod) { p.Generation = 3 }}, pool.NoGate, pool.Resized},
	} {
		t.Run(sentence, func(t *testing.T) {
			p := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Resources: cpu("1")}}}}
			for _, change := range tc.pod {
				change(p)
			}
			for i := range p.Status.Conditions {
				p.Status.Conditions[i].LastTransitionTime = metav1.Unix(7, 0)
			}
			got := podOf(p)
			if timed := tc.gate != pool.NoGate && len(p.Status.Conditions) > 0; timed != got.GateSince.Equal(time.Unix(7, 0)) {
				t.Errorf("the gate has its state since %s", got.GateSince)
			}
			if got.Gate != tc.gate || got.Resize != tc.resize || got.Containers[0].CPURequest != "1" {
				t.Errorf("gate %d, resize %d, resources %+v; want %d, %d", got.Gate, got.Resize, got.Containers[0].Resources, tc.gate, tc.resize)
			}
		})
	}
}
