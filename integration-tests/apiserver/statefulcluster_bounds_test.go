package apiserver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// changingPolicy is a policy that changes objects in a namespace when they are written.
const changingPolicy = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: NAME}
spec:
  matchConstraints:
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: NAME}}
    resourceRules:
    - {apiGroups: [""], apiVersions: ["v1"], resources: ["RESOURCE"], operations: [OPERATIONS]}
  failurePolicy: Fail
  reinvocationPolicy: Never
  mutations:
  - patchType: PATCH
    EXPRESSION
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: NAME}
spec: {policyName: NAME}
`

// The policy changes the label app of new pods, takes one of lockstep off them or off claims, or lets their images come from another
// registry.
const (
	withoutLabel  = `Object{metadata: Object.metadata{labels: {"app": "db", "lockstep.dev/statefulcluster": "changed"}}}`
	otherLabel    = `Object{metadata: Object.metadata{labels: {"app": "changed"}}}`
	otherRevision = `Object{metadata: Object.metadata{labels: {"controller-revision-hash": "changed"}}}`
	withoutGates  = `has(object.spec.schedulingGates) ? [JSONPatch{op: "remove", path: "/spec/schedulingGates"}] : []`
	// Dry runs show it only for the pod by which a test finds out that the policy is in use, and pods that run keep their label.
	withoutLabelLater = `(has(request.dryRun) && request.dryRun && object.metadata.name != "probe") || (has(object.status.phase) && object.status.phase == "Running") ? [] : [JSONPatch{op: "add", path: "/metadata/labels/lockstep.dev~1statefulcluster", value: "changed"}]`
	withoutClaimLabel = `Object{metadata: Object.metadata{labels: {"lockstep.dev/statefulcluster": "changed"}}}`
	otherRegistry     = `Object{spec: Object.spec{containers: object.spec.containers.map(c, Object.spec.containers{name: c.name, image: "mirror.test/" + c.image})}}`
)

// changesPods makes the API server change new pods as an expression says, until the returned function is called.
func (s *scene) changesPods(expression string) (stop func()) {
	s.t.Helper()
	return s.changes("pods", `"CREATE"`, expression, s.labelAndImage)
}

// changesClaims makes the API server change the label of claims by which lockstep sees them, until the returned function is called.
func (s *scene) changesClaims(operations string) (stop func()) {
	s.t.Helper()
	return s.changes("persistentvolumeclaims", operations, withoutClaimLabel, func() (string, error) {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
		created, err := s.world.admin.CoreV1().PersistentVolumeClaims(s.name).Create(s.t.Context(), claim, metav1.CreateOptions{DryRun: dryRun})
		if err != nil {
			return "", err
		}
		return created.Labels["lockstep.dev/statefulcluster"], nil
	})
}

// changes makes the API server change objects as an expression says, until the returned function is called. written returns what a
// new object is like.
func (s *scene) changes(what, operations, expression string, written func() (string, error)) (stop func()) {
	s.t.Helper()
	former, err := written()
	if err != nil {
		s.t.Fatal(err)
	}
	kind, field := "ApplyConfiguration", "applyConfiguration"
	if strings.Contains(expression, "JSONPatch{") {
		kind, field = "JSONPatch", "jsonPatch"
	}
	expression = fmt.Sprintf("%s: {expression: '%s'}", field, expression)
	s.applies(strings.NewReplacer("NAME", s.name, "RESOURCE", what, "OPERATIONS", operations, "PATCH", kind, "EXPRESSION", expression).Replace(changingPolicy))
	policies := s.world.admin.AdmissionregistrationV1()
	s.eventually("new "+what+" are changed", func(present) error {
		now, err := written()
		if err == nil && now == former {
			err = fmt.Errorf("they have %s", now)
		}
		return err
	})
	return func() {
		s.t.Helper()
		ctx := s.t.Context()
		binding := policies.MutatingAdmissionPolicyBindings().Delete(ctx, s.name, deleteOptions)
		if err := errors.Join(binding, policies.MutatingAdmissionPolicies().Delete(ctx, s.name, deleteOptions)); err != nil {
			s.t.Fatal(err)
		}
		s.eventually("new "+what+" are not changed", func(present) error {
			now, err := written()
			if err == nil && now != former {
				err = fmt.Errorf("they have %s", now)
			}
			return err
		})
	}
}

// applies applies manifests of the cluster.
func (s *scene) applies(text string) {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := s.world.cluster.Apply(s.t.Context(), file); err != nil {
		s.t.Fatal(err)
	}
}

// labelAndImage returns the labels and the image that the API server gives a new pod. Its request is a dry run.
func (s *scene) labelAndImage() (string, error) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{"app": "db"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "db", Image: "db:1"}}},
	}
	created, err := s.world.admin.CoreV1().Pods(s.name).Create(s.t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return "", err
	}
	return created.Labels["app"] + created.Labels["lockstep.dev/statefulcluster"] + created.Labels["controller-revision-hash"] + " " + imageOf(created), nil
}

// The images of new pods are rewritten at admission, so pods never have the images of their template. That is no difference.
func TestStatefulClusterUpdatesPodsOnceWhoseImagesAreRewrittenAtAdmission(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.schedulesOn(s.someNode())
	s.changesPods(otherRegistry)
	p := s.createPool(2, nil)
	before, _ := identities(p.settles(2))
	p.staysAt(p.pods(), "mirror.test/db:1 mirror.test/db:1")
	p.updates(withContainer("db:2", ""))
	after := p.hasImage(2, "mirror.test/db:2")
	if names, _ := identities(after); !slices.Equal(names, before) {
		t.Errorf("the pods were %v and are %v", before, names)
	}
	p.staysAt(after, "mirror.test/db:2 mirror.test/db:2")
}

func TestStatefulClusterRefusesATemplateWhosePodsGetOtherLabels(t *testing.T) {
	t.Parallel()
	for sentence, change := range map[string]string{"one that the selector needs": otherLabel, "one of lockstep": withoutLabel, "that of the revision": otherRevision} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			refusesATemplateWhosePodsGetAnotherLabel(t, change)
		})
	}
}

func refusesATemplateWhosePodsGetAnotherLabel(t *testing.T, change string) {
	t.Helper()
	s := unmanaged(t)
	s.withRoleForPools()
	stop := s.changesPods(change)
	p := s.createPool(2, nil)
	p.hasCondition("SpecValid", "False")
	if pods := p.pods(); len(pods) > 0 {
		t.Errorf("%d pods were created", len(pods))
	}
	stop()
	p.updates(withContainer("db:2", "")) // a new template is checked at once
	p.settles(2)
}

// isPrevented waits until the status shows that only a person can let lockstep go on, with each part of its message.
func (p pool) isPrevented(parts ...string) {
	p.t.Helper()
	p.waitsBecause("CreationPrevented", parts...)
	p.hasCondition("Stalled", "True")
	p.hasCondition("Reconciling", "False")
}

// hasCondition waits until a condition of the StatefulCluster has a status.
func (p pool) hasCondition(kind, want string) {
	p.t.Helper()
	p.eventually(kind+" is "+want, func(present) error {
		o, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions)
		if err != nil {
			return err
		}
		if status := conditionOf(o, kind); status != want {
			return fmt.Errorf("it is %q", status)
		}
		return nil
	})
}

// changesAnnotations changes an annotation of the StatefulCluster some times. Each change is an event.
func (p pool) changesAnnotations() {
	p.t.Helper()
	for i := range 10 {
		p.updates(fmt.Sprintf(`{"metadata": {"annotations": {"example.com/n": "%d"}}}`, i))
		time.Sleep(500 * time.Millisecond)
	}
}

// Something begins to take a label of lockstep off new pods after the template was accepted. No cache would show such a pod, so each
// event would be followed by another one.
func TestStatefulClusterCreatesNoPodsWhoseLabelsAreTakenOffLater(t *testing.T) {
	t.Parallel()
	for sentence, more := range map[string]map[string]any{
		"of new identities":       nil,
		"of kept identities":      keeps("onDelete"),
		"of the earlier revision": {"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"partition": int64(2)}}},
		"without claims":          {"volumeClaimTemplates": []any{}, "template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "db", "image": "db:1"}}}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := sharedPool(t, 2, more)
			before := p.settles(2)
			if sentence == "of the earlier revision" {
				p.updates(withContainer("db:2", ""))
				p.hasImages("db:1", "db:1")
			}
			stop := p.changesPods(withoutLabel)
			p.deletes(before[0].Name)
			p.changesAnnotations()
			p.isPrevented("create pod", "changes the label lockstep.dev/statefulcluster of new pods")
			if names := p.everyPod(); !slices.Equal(names, []string{before[1].Name}) {
				t.Errorf("the pods are %v, want only %s", names, before[1].Name)
			}
			stop()
			after, _ := identities(p.settles(2))
			if names := p.everyPod(); !slices.Equal(names, after) {
				t.Errorf("the pods are %v, and %v are those of the StatefulCluster", names, after)
			}
		})
	}
}

// The label is taken off outside dry runs, so one pod without it is created. Each event would be followed by another one.
func TestStatefulClusterCreatesNoPodBesideOneThatKeepsLosingItsLabel(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, nil)
	before := p.settles(2)
	stop := p.changes("pods", `"CREATE", "UPDATE"`, withoutLabelLater, p.labelAndImage)
	p.deletes(before[0].Name)
	p.changesAnnotations()
	p.isPrevented("label pod", "changes its label lockstep.dev/statefulcluster")
	if names := p.everyPod(); len(names) != 2 {
		t.Errorf("the pods are %v, want %s and another one", names, before[1].Name)
	}
	stop()
	after, _ := identities(p.settles(2))
	if names := p.everyPod(); !slices.Equal(names, after) {
		t.Errorf("the pods are %v, and %v are those of the StatefulCluster", names, after)
	}
}

// takesGatesOff makes the API server take the scheduling gates off new pods, until the returned function is called.
func (s *scene) takesGatesOff() (stop func()) {
	s.t.Helper()
	return s.changes("pods", `"CREATE"`, withoutGates, func() (string, error) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		pod.Spec.Containers = []corev1.Container{{Name: "db", Image: "db:1"}}
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/gate"}}
		created, err := s.world.admin.CoreV1().Pods(s.name).Create(s.t.Context(), pod, metav1.CreateOptions{DryRun: dryRun})
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%d gates", len(created.Spec.SchedulingGates)), nil
	})
}

// refusesATemplate creates a StatefulCluster while something changes new objects. It has no pods, and says why, until that stops.
func (s *scene) refusesATemplate(changes func() (stop func()), why string) {
	s.t.Helper()
	s.schedulesOn(s.someNode())
	stop := changes()
	p := s.createPool(1, nil)
	p.waitsBecause("TemplateInvalid", why)
	p.hasCondition("SpecValid", "False")
	if names := p.everyPod(); len(names) > 0 {
		s.t.Errorf("the pods are %v", names)
	}
	stop()
	p.updates(withContainer("db:2", "")) // a new template is checked at once
	p.settles(1)
}

// Without its gate, a scheduler would see a pod before its claims exist, and the claims would seem to be lost.
func TestStatefulClusterCreatesNoPodsWhoseSchedulingGateIsTakenOff(t *testing.T) {
	t.Parallel()
	const why = "takes the scheduling gate lockstep.dev/claims off new pods"
	t.Run("later", func(t *testing.T) {
		t.Parallel()
		p := sharedPool(t, 2, nil)
		before := p.settles(2)
		stop := p.takesGatesOff()
		p.deletes(before[0].Name)
		p.isPrevented("create pod", why, "correct the webhook or policy")
		if names := p.everyPod(); !slices.Equal(names, []string{before[1].Name}) {
			t.Errorf("the pods are %v, want only %s", names, before[1].Name)
		}
		if _, metrics := p.operator.get("/metrics"); !hasSeries(metrics, "lockstep_statefulcluster_claims_lost_total", p.scene.name, "} 0\n") {
			t.Error("claims count as lost")
		}
		stop()
		p.settles(2)
	})
	t.Run("of a new template", func(t *testing.T) {
		t.Parallel()
		s := managed(t)
		s.refusesATemplate(s.takesGatesOff, why)
	})
}

// Only a person can delete the other pod.
func TestStatefulClusterIsStalledWhileAnotherPodHasTheNameOfAnIdentity(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, keeps("onDelete"))
	before, _ := identities(p.settles(2))
	pods := p.world.admin.CoreV1().Pods(p.scene.name)
	p.optsIn(false)
	time.Sleep(time.Second) // lockstep sees it
	if err := pods.Delete(t.Context(), before[0], metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: before[0]}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "x", Image: "x:1"}}}}
	p.eventually("the name is taken", func(present) error {
		_, err := pods.Create(t.Context(), other, createOptions)
		return err
	})
	p.optsIn(true)
	p.isPrevented("a pod of that name exists and does not belong to", "delete it")
	if err := pods.Delete(t.Context(), before[0], metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	after, _ := identities(p.settles(2))
	if !slices.Equal(after, before) {
		t.Errorf("the pods are %v, want those of the identities of %v", after, before)
	}
}

// everyPod returns the names of all pods of the namespace that do not terminate, sorted.
func (s *scene) everyPod() (names []string) {
	s.t.Helper()
	list, err := s.world.admin.CoreV1().Pods(s.name).List(s.t.Context(), listOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// Something changes the label of claims by which lockstep sees them. It is given back; if that has no effect, the status says so, and
// it is tried less and less often.
func TestStatefulClusterGivesClaimsTheirLabelsAgainOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	const created, written = `"CREATE"`, `"CREATE", "UPDATE"`
	const why = "something changes its label lockstep.dev/statefulcluster"
	label := func(p pool) map[string]string {
		p.t.Helper()
		labels := map[string]string{}
		list, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(p.t.Context(), listOptions)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, c := range list.Items {
			labels[c.Name] = c.Labels["lockstep.dev/statefulcluster"]
		}
		return labels
	}
	allHaveTheirs := func(p pool, want int) {
		p.t.Helper()
		p.eventually(fmt.Sprintf("%d claims have their label", want), func(present) error {
			labels := label(p)
			for name, value := range labels {
				if value != p.name {
					return fmt.Errorf("%s has %q", name, value)
				}
			}
			if len(labels) != want {
				return fmt.Errorf("there are %d", len(labels))
			}
			return nil
		})
	}
	patches := func(p pool) int {
		p.t.Helper()
		return len(slices.DeleteFunc(p.requests(), func(r judge.Request) bool {
			return !byOperator(r.User) || r.Verb != "patch" || r.Resource != "persistentvolumeclaims" || !strings.HasPrefix(r.Name, "db-data-") // one of two claims
		}))
	}
	t.Run("of new claims of identities that may be kept", func(t *testing.T) {
		t.Parallel()
		p := sharedPool(t, 1, keeps("onDelete"))
		p.settles(1)
		p.changesClaims(created)
		p.scales(2)
		p.settles(2)
		allHaveTheirs(p, 4)
	})
	t.Run("of new claims, again and again", func(t *testing.T) {
		t.Parallel()
		p := sharedPool(t, 1, nil)
		p.settles(1)
		stop := p.changesClaims(written)
		p.scales(2)
		p.isPrevented("label claim", "db-data-", why)
		stop()
		p.settles(2)
		allHaveTheirs(p, 4)
	})
	t.Run("of claims of a pod that serves, again and again", func(t *testing.T) {
		t.Parallel()
		p := sharedPool(t, 1, nil)
		id := strings.TrimPrefix(p.settles(1)[0].Name, "db-")
		stop := p.changesClaims(written)
		p.annotates(id, "data", `{"example.com/n": "1"}`)
		p.waitsBecause("CreationPrevented", "label claim", "db-data-", why)
		before := patches(p)
		time.Sleep(10 * time.Second)
		if n := patches(p) - before; n > 3 {
			t.Errorf("%d patches of claims within 10 s", n)
		}
		stop()
		p.settles(1)
		allHaveTheirs(p, 2)
	})
	t.Run("of a new template", func(t *testing.T) {
		t.Parallel()
		s := managed(t)
		s.refusesATemplate(func() func() { return s.changesClaims(created) }, "changes the label lockstep.dev/statefulcluster of new claims for data")
	})
}

// Pods that have ended cannot be deleted while a person has the hold, and the next ones end as well.
func TestStatefulClusterCreatesNotMoreAndMorePodsThatFailUnderAHold(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	serving := p.settles(2)[0].Name
	lease := p.isHeldByHand(time.Hour)
	failed := []byte(`{"status": {"phase": "Failed", "reason": "UnexpectedAdmissionError"}}`)
	const (
		rejecting = 12 * time.Second
		most      = 6 // failed ones at 0 s, and then at pauses of 5 and 10 s; and some more on a slow machine
	)
	for began := time.Now(); time.Since(began) < rejecting; time.Sleep(100 * time.Millisecond) {
		for _, pod := range p.pods() {
			if pod.Name == serving || pod.Status.Phase == corev1.PodFailed || pod.Spec.NodeName == "" {
				continue
			}
			if _, err := p.world.admin.CoreV1().Pods(p.scene.name).Patch(t.Context(), pod.Name, types.MergePatchType, failed, metav1.PatchOptions{}, "status"); err != nil {
				t.Log(err)
			}
		}
	}
	if n := len(p.pods()); n < 3 || n > most {
		t.Errorf("there are %d pods, of which %s serves; at most %d are wanted", n, serving, most)
	}
	if err := p.world.admin.CoordinationV1().Leases(p.scene.name).Delete(t.Context(), lease.Name, deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.settles(2)
}

// A pod of the StatefulSet that terminates, and that the StatefulSet creates again, does not lose its place.
func TestStatefulClusterWaitsForAPodThatAStatefulSetCreatesAgain(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	s.ordinals(3)
	p := pool{s, "db"}
	pods := s.world.admin.CoreV1().Pods(s.name)
	finalizers := func(list string) {
		if _, err := pods.Patch(t.Context(), "db-1", types.MergePatchType, []byte(`{"metadata": {"finalizers": `+list+`}}`), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	finalizers(`["lockstep.test/slow"]`)
	p.deletes("db-1")
	file := filepath.Join(t.TempDir(), "db.yaml")
	if err := os.WriteFile(file, []byte(blocks(t, poolGuide, "From a StatefulSet", "yaml")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.world.cluster.ApplyIn(t.Context(), s.name, file); err != nil {
		t.Fatal(err)
	}
	p.stays("no pod is created", 5*time.Second, func(present) error {
		if n := len(p.pods()); n > 0 {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	finalizers("null")
	s.eventually("the StatefulSet has created it again", func(present) error {
		pod, err := pods.Get(t.Context(), "db-1", getOptions)
		if err == nil && pod.DeletionTimestamp != nil {
			err = errors.New("it terminates")
		}
		return err
	})
	orphan := metav1.DeletePropagationOrphan
	if err := s.world.admin.AppsV1().StatefulSets(s.name).Delete(t.Context(), "db", metav1.DeleteOptions{PropagationPolicy: &orphan}); err != nil {
		t.Fatal(err)
	}
	names, _ := identities(p.settles(3))
	if got := fmt.Sprint(names); got != "[db-0 db-1 db-2]" {
		t.Errorf("the pods are %s", got)
	}
}
