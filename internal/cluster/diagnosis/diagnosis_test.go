package diagnosis_test

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/proof/fuzzcorpus"
)

var (
	now     = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	earlier = metav1.NewTime(now.Add(-time.Hour))
	later   = metav1.NewTime(now.Add(time.Minute))
)

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "zone-a-0"}, Spec: corev1.PodSpec{NodeName: "node-1", SchedulerName: "default-scheduler"}}
	change(p)
	return p
}

func terminated(code int32, reason, message string) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, FinishedAt: earlier}
}

func waiting(reason, message string) corev1.ContainerState {
	return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
}

func deleted(p *corev1.Pod, when metav1.Time, grace int64) {
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &when, &grace
}

func TestOfPod(t *testing.T) {
	for sentence, tc := range map[string]struct {
		pod  func(*corev1.Pod)
		want []string
	}{
		"a Ready pod has no diagnosis": {func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		}, nil},
		"a finalizer is named": {func(p *corev1.Pod) {
			deleted(p, earlier, 0)
			p.Finalizers = []string{"example.com/backup", "example.com/hold"}
		}, []string{"the pod cannot be removed while it has finalizer example.com/backup, example.com/hold"}},
		"of many finalizers five are named": {func(p *corev1.Pod) {
			deleted(p, earlier, 0)
			p.Finalizers = []string{"x/1", "x/2", "x/3", "x/4", "x/5", "x/6"}
		}, []string{"the pod cannot be removed while it has finalizer x/1, x/2, x/3, x/4, x/5 and others"}},
		"a pod that terminates in time shows until when": {func(p *corev1.Pod) { deleted(p, later, 90) }, []string{
			"its containers have until 2026-01-05T12:01:00Z to end",
		}},
		"a node that does not confirm the end is named": {func(p *corev1.Pod) {
			deleted(p, earlier, 30)
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "DeletionByTaintManager", Message: "Taint manager: deleting due to NoExecute taint"}}
		}, []string{
			`the pod is being disrupted: DeletionByTaintManager "Taint manager: deleting due to NoExecute taint"`,
			"its containers had until 2026-01-05T11:00:00Z to end, and node node-1 has not confirmed that they have ended",
		}},
		"the scheduler's message is quoted": {func(p *corev1.Pod) {
			p.Spec.NodeName = ""
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient cpu."}}
		}, []string{`the pod cannot be scheduled: Unschedulable "0/3 nodes are available: 3 Insufficient cpu."`}},
		"a scheduling gate is named": {func(p *corev1.Pod) {
			p.Spec.NodeName, p.Spec.SchedulingGates = "", []corev1.PodSchedulingGate{{Name: "example.com/quota"}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "SchedulingGated"}}
		}, []string{"the pod cannot be scheduled while it has scheduling gate example.com/quota"}},
		"a pod that no scheduler has observed is shown": {func(p *corev1.Pod) { p.Spec.NodeName = "" }, []string{
			"no scheduler has handled the pod yet",
		}},
		"a crash is shown with the last line of the termination message": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: "main", RestartCount: 4, State: waiting("CrashLoopBackOff", "back-off 5m0s restarting failed container"),
				LastTerminationState: corev1.ContainerState{Terminated: terminated(1, "Error", "starting\npanic: no \x1b[31mdisk\x1b[0m\n\n")},
			}}
		}, []string{
			`container main waits: CrashLoopBackOff "back-off 5m0s restarting failed container"; it ended with exit code 1 (Error) at 2026-01-05T11:00:00Z, restart count 4, ` +
				`and its termination message ends with "panic: no \x1b[31mdisk\x1b[0m"`,
		}},
		"a container that has just ended is shown": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Terminated: terminated(137, "OOMKilled", "")}}}
		}, []string{"container main ended with exit code 137 (OOMKilled) at 2026-01-05T11:00:00Z"}},
		"an image that cannot be pulled is shown": {func(p *corev1.Pod) {
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "init", State: waiting("ImagePullBackOff", "not found")}}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: waiting("PodInitializing", "")}}
		}, []string{`init container init waits: ImagePullBackOff "not found"`}},
		"probes that do not pass are shown": {func(p *corev1.Pod) {
			running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: earlier}}
			p.Status.InitContainerStatuses = []corev1.ContainerStatus{
				{Name: "done", State: corev1.ContainerState{Terminated: terminated(0, "Completed", "")}}, {Name: "sidecar", State: running, Started: new(true)}, {Name: "slow", State: running},
			}
			p.Status.ContainerStatuses = []corev1.ContainerStatus{
				{Name: "one", State: running, Ready: true}, {Name: "two", State: running, Started: new(true)},
				{Name: "three", State: running, Started: new(false), RestartCount: 1, LastTerminationState: corev1.ContainerState{Terminated: terminated(2, "Error", "")}},
			}
		}, []string{
			"init container slow runs since 2026-01-05T11:00:00Z and has not ended",
			"container two runs since 2026-01-05T11:00:00Z and is not ready",
			"container three runs since 2026-01-05T11:00:00Z and has not passed its startup probe; before that it ended with exit code 2 (Error) at 2026-01-05T11:00:00Z, restart count 1",
		}},
		"a readiness gate is named": {func(p *corev1.Pod) {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/lb"}, {ConditionType: "example.com/dns"}}
			p.Status.Conditions = []corev1.PodCondition{{Type: "example.com/dns", Status: corev1.ConditionTrue}}
		}, []string{"readiness gate example.com/lb is not True"}},
		"a pod none of whose containers was started is shown": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: waiting("ContainerCreating", "")}}
		}, []string{"node node-1 has not started a container of the pod yet"}},
		"a pod whose node stopped answering shows its condition": {func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: earlier}}}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady"}}
		}, []string{"the pod is not Ready: ContainersNotReady"}},
		"a pod that was evicted by its node shows why": {func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "The node was low on resource: memory."
		}, []string{`the pod has ended as Failed: Evicted "The node was low on resource: memory."`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			var got []string
			for _, f := range diagnosis.OfPod(pod(tc.pod), now) {
				got = append(got, f.Says)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func node(name string, ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Taints: taints}}
	c := corev1.NodeCondition{Type: corev1.NodeReady, Status: ready, LastTransitionTime: earlier}
	if ready != corev1.ConditionTrue {
		c.Reason, c.Message = "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
	n.Status.Conditions = []corev1.NodeCondition{c}
	return n
}

func TestOfNode(t *testing.T) {
	const lost = `node node-1 is not Ready since 2026-01-05T11:00:00Z: NodeStatusUnknown "Kubelet stopped posting node status."`
	for sentence, tc := range map[string]struct {
		node *corev1.Node
		says string
		toDo string // a part of it
	}{
		"Ready":                        {node("node-1", corev1.ConditionTrue), "node node-1 is Ready since 2026-01-05T11:00:00Z", ""},
		"lost, with the way out":       {node("node-1", corev1.ConditionUnknown), lost, "kubectl taint nodes node-1 node.kubernetes.io/out-of-service=nodeshutdown:NoExecute"},
		"lost, with the price":         {node("node-1", corev1.ConditionFalse), lost, "The price: "},
		"out of service already":       {node("node-1", corev1.ConditionUnknown, corev1.Taint{Key: corev1.TaintNodeOutOfService}), lost + ", and has the taint node.kubernetes.io/out-of-service", "Remove the taint"},
		"deleted":                      {nil, "node node-1, which the pod was placed on, does not exist", "kube-controller-manager"},
		"new, so its state is unknown": {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}, "node node-1 is not Ready", "Bring the node back"},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := diagnosis.OfNode("node-1", tc.node)
			if got.Says != tc.says || !strings.Contains(got.ToDo, tc.toDo) || (got.ToDo == "") != (tc.toDo == "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestOfClaim(t *testing.T) {
	claim := func(phase corev1.PersistentVolumeClaimPhase) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-1"}, Status: corev1.PersistentVolumeClaimStatus{Phase: phase}}
	}
	going := claim(corev1.ClaimBound)
	going.DeletionTimestamp = &earlier
	for want, c := range map[string]*corev1.PersistentVolumeClaim{
		"claim data-0 does not exist":                             nil,
		"claim data-0 is Pending: no volume is bound to it":       claim(corev1.ClaimPending),
		"claim data-0 is Lost: volume pv-1 does not exist":        claim(corev1.ClaimLost),
		"claim data-0 is being deleted, so no new pod can use it": going,
		"": claim(corev1.ClaimBound),
	} {
		if f, tells := diagnosis.OfClaim("data-0", c); tells != (want != "") || tells && f.Says != want {
			t.Errorf("got %t %+v, want %q", tells, f, want)
		}
	}
}

func volume(terms ...corev1.NodeSelectorTerm) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv-1"}}
	if terms != nil {
		v.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	}
	return v
}

func term(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: operator, Values: values}}}
}

func TestOfVolume(t *testing.T) {
	local := volume(term("kubernetes.io/hostname", corev1.NodeSelectorOpIn, "node-1"))
	places, _ := diagnosis.PlacesOf(local)
	const bound = `claim data-0 is bound to volume pv-1, which only nodes with "kubernetes.io/hostname in (node-1)" can use: `
	lost := diagnosis.OfVolume("data-0", local, places, []corev1.Node{*node("node-1", corev1.ConditionUnknown)})
	if want := bound + `node-1 is not Ready since 2026-01-05T11:00:00Z: NodeStatusUnknown "Kubelet stopped posting node status."`; lost.Says != want || !strings.Contains(lost.ToDo, "The price: ") {
		t.Errorf("got %+v\nwant %s", lost, want)
	}
	if gone := diagnosis.OfVolume("data-0", local, places, nil); gone.Says != bound+"there is no such node" || gone.ToDo == "" {
		t.Errorf("got %+v", gone)
	}
	many := []corev1.Node{*node("n1", corev1.ConditionTrue), *node("n2", corev1.ConditionTrue), *node("n3", corev1.ConditionTrue), *node("n4", corev1.ConditionTrue)}
	if f := diagnosis.OfVolume("data-0", local, places, many); !strings.HasSuffix(f.Says, "n3 is Ready since 2026-01-05T11:00:00Z and others") || f.ToDo != "" {
		t.Errorf("got %+v", f)
	}
}

func TestPlacesOf(t *testing.T) {
	for want, v := range map[string]*corev1.PersistentVolume{
		"":                        volume(),
		"zone in (a,b) or zone=c": volume(term("zone", corev1.NodeSelectorOpIn, "a", "b"), term("zone", "In", "c")),
		"!old":                    volume(term("old", corev1.NodeSelectorOpDoesNotExist)),
		"size>3":                  volume(term("size", corev1.NodeSelectorOpGt, "3")),
	} {
		places, tells := diagnosis.PlacesOf(v)
		if got := strings.ReplaceAll(places.String(), "zone in (c)", "zone=c"); got != want || tells != (want != "") {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if _, tells := diagnosis.PlacesOf(volume(corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"a"}}}})); tells {
		t.Error("a name of a node was taken for a label")
	}
	if places, tells := diagnosis.PlacesOf(volume(term("size", corev1.NodeSelectorOpGt, "large"))); !tells || places[0].String() != "" || !places[0].Empty() && places[0].Matches(nil) {
		t.Errorf("an object that Kubernetes would reject matches %q", places)
	}
}

// Texts of containers and of statuses are shown, but a terminal must not interpret
// them.
func TestForeignTextsAreEscapedAndShortened(t *testing.T) {
	for _, text := range fuzzcorpus.Texts() {
		p := pod(func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{
				Name: text, State: waiting(text, text), LastTerminationState: corev1.ContainerState{Terminated: terminated(1, text, "first\n"+text)},
			}}
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: corev1.PodConditionType(text)}}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodConditionType(text), Status: corev1.ConditionFalse, Reason: text, Message: text}, {Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: text, Message: text}}
		})
		facts := diagnosis.OfPod(p, now)
		p.Spec.NodeName = ""
		facts = append(facts, diagnosis.OfPod(p, now)...)
		deleted(p, earlier, 30)
		p.Finalizers, p.Spec.NodeName = []string{text}, text
		facts = append(facts, diagnosis.OfPod(p, now)...)
		n := node(text, corev1.ConditionFalse)
		n.Status.Conditions[0].Reason, n.Status.Conditions[0].Message = text, text
		v := volume(term(text, corev1.NodeSelectorOpIn, text), term("zone", corev1.NodeSelectorOpIn, text))
		v.Name = text
		places, _ := diagnosis.PlacesOf(v)
		facts = append(facts, diagnosis.OfNode(text, n), diagnosis.OfNode(text, nil), diagnosis.OfVolume(text, v, places, []corev1.Node{*n}), diagnosis.OfFailedCreate(text, now))
		if f, tells := diagnosis.OfClaim(text, nil); tells {
			facts = append(facts, f)
		}
		for _, f := range facts {
			for part, most := range map[string]int{f.Name: 600, f.Says: 1500, f.ToDo: 1200} {
				if len(part) > most {
					t.Errorf("%d bytes: %s", len(part), part)
				}
				if i := strings.IndexFunc(part, func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
					t.Errorf("not printed: %q", part)
				}
			}
		}
	}
}
