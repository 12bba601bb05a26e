package localcluster_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

const patience = time.Minute

func TestAStatefulSetOfThreeBecomesReady(t *testing.T) {
	t.Parallel()
	began := time.Now()
	cluster := localcluster.For(t, localcluster.Options{})
	t.Logf("up after %s", time.Since(began).Round(time.Millisecond))
	client := clientFor(t, cluster)

	create(t, client, statefulSet("plain", 3, nil))
	eventually(t, "3 ready replicas", func() error {
		set, err := client.AppsV1().StatefulSets("default").Get(t.Context(), "plain", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if set.Status.ReadyReplicas != 3 {
			return fmt.Errorf("%d ready", set.Status.ReadyReplicas)
		}
		return nil
	})

	got := pod(t, client, "plain-0")
	container := got.Status.ContainerStatuses[0]
	if got.Status.Phase != corev1.PodRunning || got.Status.PodIP == "" || !container.Ready ||
		container.State.Running == nil || container.State.Running.StartedAt.IsZero() {
		t.Errorf("status of a ready pod: got %+v", got.Status)
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		if c := condition(got, kind); c.Status != corev1.ConditionTrue || c.LastTransitionTime.IsZero() {
			t.Errorf("condition %s: got %+v", kind, c)
		}
	}

	deletePod(t, client, "plain-0")
	eventually(t, "a replacement that is Ready", func() error {
		fresh, err := client.CoreV1().Pods("default").Get(t.Context(), "plain-0", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if fresh.UID == got.UID || !ready(fresh) {
			return fmt.Errorf("pod %s is ready: %t", fresh.UID, ready(fresh))
		}
		return nil
	})
	wantDeletionInAudit(t, cluster, "plain-0")
}

func TestASchedulerSpreadsPodsOverTheNodes(t *testing.T) {
	t.Parallel()
	cluster := localcluster.For(t, localcluster.Options{Scheduler: true, Nodes: 3})
	client := clientFor(t, cluster)
	set := statefulSet("spread", 3, nil)
	set.Spec.Template.Spec.NodeName = ""
	set.Spec.Template.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
		MaxSkew:           1,
		TopologyKey:       corev1.LabelTopologyZone,
		WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector:     set.Spec.Selector,
	}}
	create(t, client, set)
	nodes := map[string]bool{}
	for _, name := range []string{"spread-0", "spread-1", "spread-2"} {
		nodes[podWithStatus(t, client, name).Spec.NodeName] = true
	}
	if len(nodes) != 3 {
		t.Errorf("3 pods are on %v, wanted one on each of 3 nodes", nodes)
	}
}

func TestNodesAndASchedulerJoinARunningCluster(t *testing.T) {
	t.Parallel()
	cluster := localcluster.For(t, localcluster.Options{})
	client := clientFor(t, cluster)
	ours := map[string]string{"example.com/of": "this-test"}
	set := statefulSet("late", 2, nil)
	set.Spec.Template.Spec.NodeName, set.Spec.Template.Spec.NodeSelector = "", ours
	create(t, client, set)
	nodes, err := cluster.AddNodes(t.Context(), 2, ours)
	if err != nil {
		t.Fatal(err)
	}
	cordon := []byte(`{"spec":{"unschedulable":true}}`)
	if _, err := client.CoreV1().Nodes().Patch(t.Context(), nodes[0], "application/merge-patch+json", cordon, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second call finds it running
		if err := cluster.StartScheduler(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"late-0", "late-1"} {
		if got := podWithStatus(t, client, name).Spec.NodeName; got != nodes[1] {
			t.Errorf("%s is on node %s, want %s, which is not cordoned", name, got, nodes[1])
		}
	}
	schedulers := slices.DeleteFunc(processesOf(t, cluster.Dir()), func(p string) bool { return p != "kube-scheduler" })
	if len(schedulers) != 1 {
		t.Errorf("%d schedulers run, want one", len(schedulers))
	}
}

func TestPodsBehaveAsTheirAnnotationsSpecify(t *testing.T) {
	t.Parallel()
	cluster := localcluster.For(t, localcluster.Options{})
	client := clientFor(t, cluster)

	t.Run("a crash loop is never Ready", func(t *testing.T) {
		t.Parallel()
		create(t, client, statefulSet("crashing", 1, map[string]string{localcluster.Play: localcluster.PlayCrashLoop}))
		wantWaiting(t, client, "crashing-0", "CrashLoopBackOff", corev1.PodRunning)
	})
	t.Run("an image that cannot be pulled keeps the pod Pending", func(t *testing.T) {
		t.Parallel()
		create(t, client, statefulSet("imageless", 1, map[string]string{localcluster.Play: localcluster.PlayImagePullFailure}))
		wantWaiting(t, client, "imageless-0", "ImagePullBackOff", corev1.PodPending)
	})
	t.Run("a crashing sidecar leaves the containers running and the pod unready", func(t *testing.T) {
		t.Parallel()
		set := statefulSet("sidecar", 1, map[string]string{localcluster.Play: localcluster.PlaySidecarCrashLoop})
		set.Spec.Template.Spec.InitContainers = []corev1.Container{{
			Name: "side", Image: "example.com/side:1", RestartPolicy: new(corev1.ContainerRestartPolicyAlways),
		}}
		create(t, client, set)
		got := podWithStatus(t, client, "sidecar-0")
		if !got.Status.ContainerStatuses[0].Ready || ready(got) {
			t.Errorf("containers ready and pod unready wanted: got %+v", got.Status)
		}
		if w := got.Status.InitContainerStatuses[0].State.Waiting; w == nil || w.Reason != "CrashLoopBackOff" {
			t.Errorf("sidecar: got %+v", got.Status.InitContainerStatuses[0].State)
		}
	})
	t.Run("a pod that is never Ready runs", func(t *testing.T) {
		t.Parallel()
		create(t, client, statefulSet("unready", 1, map[string]string{localcluster.Play: localcluster.PlayNeverReady}))
		got := podWithStatus(t, client, "unready-0")
		if got.Status.Phase != corev1.PodRunning || ready(got) {
			t.Errorf("running and unready wanted: got %+v", got.Status)
		}
	})
	t.Run("a delayed start delays Ready", func(t *testing.T) {
		t.Parallel()
		const soonest, latest = time.Second, 20 * time.Second // times are whole seconds, and the machine may be slow
		create(t, client, statefulSet("slow", 1, map[string]string{
			localcluster.ReadyAfter: "2s", localcluster.ReadyWithin: "3s",
		}))
		podWithStatus(t, client, "slow-0")
		eventually(t, "slow-0 is Ready", func() error { return readyError(pod(t, client, "slow-0")) })
		got := pod(t, client, "slow-0")
		began, became := got.Status.StartTime.Time, condition(got, corev1.PodReady).LastTransitionTime.Time
		if took := became.Sub(began); took < soonest || took > latest {
			t.Errorf("Ready after %s, wanted between %s and %s", took, soonest, latest)
		}
	})
	t.Run("a pod that terminates slowly stays Ready until then", func(t *testing.T) {
		t.Parallel()
		create(t, client, statefulSet("lingering", 1, map[string]string{localcluster.GoneAfter: "25s"}))
		podWithStatus(t, client, "lingering-0")
		before := pod(t, client, "lingering-0")
		deletePod(t, client, "lingering-0")
		time.Sleep(time.Second)
		if got := pod(t, client, "lingering-0"); got.UID != before.UID || got.DeletionTimestamp == nil || !ready(got) {
			t.Errorf("terminating and Ready wanted after 1s: got %s, deleted %s, ready %t", got.UID, got.DeletionTimestamp, ready(got))
		}
		eventually(t, "lingering-0 is replaced", func() error {
			got, err := client.CoreV1().Pods("default").Get(t.Context(), "lingering-0", metav1.GetOptions{})
			if err == nil && got.UID == before.UID {
				return fmt.Errorf("still there")
			}
			return err
		})
	})
	t.Run("readiness gates are not changed", func(t *testing.T) {
		t.Parallel()
		const gate = corev1.PodConditionType("example.com/gate")
		set := statefulSet("gated", 1, nil)
		set.Spec.Template.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}}
		create(t, client, set)
		if got := podWithStatus(t, client, "gated-0"); ready(got) || condition(got, corev1.ContainersReady).Status != corev1.ConditionTrue {
			t.Errorf("ready containers in an unready pod wanted: got %+v", got.Status.Conditions)
		}
		setGate(t, client, "gated-0", gate, corev1.ConditionTrue)
		eventually(t, "an open gate makes it Ready", func() error { return readyError(pod(t, client, "gated-0")) })
		setGate(t, client, "gated-0", gate, corev1.ConditionFalse)
		eventually(t, "a closed gate makes it unready", func() error {
			if ready(pod(t, client, "gated-0")) {
				return fmt.Errorf("still Ready")
			}
			return nil
		})
	})
}

// statefulSet returns one that is OnDelete, starts its pods in parallel and pins them to the first
// node.
func statefulSet(name string, replicas int32, annotations map[string]string) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Spec: appsv1.StatefulSetSpec{
			Replicas:            &replicas,
			PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy:      appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			Selector:            &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: annotations},
				Spec: corev1.PodSpec{
					NodeName:   localcluster.NodeName(0),
					Containers: []corev1.Container{{Name: "main", Image: "example.com/main:1"}},
				},
			},
		},
	}
}

func clientFor(t *testing.T, cluster *localcluster.Cluster) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cluster.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func create(t *testing.T, client kubernetes.Interface, set *appsv1.StatefulSet) {
	t.Helper()
	if _, err := client.AppsV1().StatefulSets(set.Namespace).Create(t.Context(), set, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func pod(t *testing.T, client kubernetes.Interface, name string) *corev1.Pod {
	t.Helper()
	got, err := client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// podWithStatus waits until the simulated kubelet has set the pod's status.
func podWithStatus(t *testing.T, client kubernetes.Interface, name string) *corev1.Pod {
	t.Helper()
	var got *corev1.Pod
	eventually(t, name+" has a status", func() (err error) {
		got, err = client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && got.Status.PodIP == "" {
			err = fmt.Errorf("status is %+v", got.Status)
		}
		return err
	})
	return got
}

func deletePod(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	if err := client.CoreV1().Pods("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
}

func setGate(t *testing.T, client kubernetes.Interface, name string, gate corev1.PodConditionType, status corev1.ConditionStatus) {
	t.Helper()
	patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":%q,"status":%q}]}}`, gate, status)
	if _, err := client.CoreV1().Pods("default").Patch(t.Context(), name, "application/strategic-merge-patch+json", patch, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
}

func wantWaiting(t *testing.T, client kubernetes.Interface, name, reason string, phase corev1.PodPhase) {
	t.Helper()
	got := podWithStatus(t, client, name)
	w := got.Status.ContainerStatuses[0].State.Waiting
	if w == nil || w.Reason != reason || got.Status.Phase != phase || ready(got) {
		t.Errorf("unready, %s and waiting for %s wanted: got %+v", phase, reason, got.Status)
	}
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return corev1.PodCondition{}
	}
	return pod.Status.Conditions[i]
}

func ready(pod *corev1.Pod) bool {
	return condition(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

func readyError(pod *corev1.Pod) error {
	if !ready(pod) {
		return fmt.Errorf("conditions are %+v", pod.Status.Conditions)
	}
	return nil
}

// wantDeletionInAudit fails the test unless the audit log has the deletion of a pod, with its
// bodies.
func wantDeletionInAudit(t *testing.T, cluster *localcluster.Cluster, name string) {
	t.Helper()
	file, err := os.Open(cluster.AuditLog())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 16<<20)
	received := false
	for lines.Scan() {
		var event struct {
			Verb           string
			Level, Stage   string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Name string }
			ResponseObject json.RawMessage
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatalf("read audit log: %v", err)
		}
		if event.Verb != "delete" || event.ObjectRef.Resource != "pods" || event.ObjectRef.Name != name || event.User.Username != "admin" {
			continue
		}
		if event.Stage == "RequestReceived" {
			received = true
			continue
		}
		if !received || event.Level != "RequestResponse" || len(event.ResponseObject) == 0 {
			t.Errorf("audit event of the deletion has no body, or was not written when it came (%t): %s", received, lines.Text())
		}
		return
	}
	t.Errorf("no deletion of pod %s by admin in the audit log (%v)", name, lines.Err())
}

func eventually(t *testing.T, what string, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not after %s: %v", what, patience, err)
		case <-time.After(30 * time.Millisecond):
		}
	}
}
