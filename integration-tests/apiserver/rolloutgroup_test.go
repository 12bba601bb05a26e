package apiserver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

var rolloutGroups = schema.GroupVersionResource{Group: "lockstep.dev", Version: "v1alpha1", Resource: "rolloutgroups"}

// outlineOf returns the state of a RolloutGroup as text: activity, progress, holder, wait, true
// conditions, and the result of kstatus.
func outlineOf(o *unstructured.Unstructured) string {
	text := func(fields ...string) string {
		value, _, _ := unstructured.NestedString(o.Object, append([]string{"status"}, fields...)...)
		return value
	}
	says := []string{text("activity"), text("progress")}
	if holder := text("holder"); holder != "" {
		says = append(says, holder)
	}
	if why := text("waiting", "reason"); why != "" {
		says = append(says, why+" on "+text("waiting", "on"))
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, it := range conditions {
		if c, is := it.(map[string]any); is && c["status"] == "True" {
			says = append(says, fmt.Sprint(c["type"]))
		}
	}
	judged, err := status.Compute(o)
	if err != nil {
		return err.Error()
	}
	return strings.Join(append(says, judged.Status.String()), ", ")
}

// showsGroup waits until a RolloutGroup has this outline.
func (s *scene) showsGroup(name, want string) {
	s.t.Helper()
	s.eventually("RolloutGroup "+name+" is: "+want, func(present) error {
		o, err := s.resources(rolloutGroups).Get(s.t.Context(), name, getOptions)
		if err != nil {
			return err
		}
		if got := outlineOf(o); got != want {
			return fmt.Errorf("it is: %s", got)
		}
		return nil
	})
}

// hasNoRolloutGroup waits until there is no RolloutGroup.
func (s *scene) hasNoRolloutGroup() {
	s.t.Helper()
	s.eventually("there is no RolloutGroup", func(present) error {
		list, err := s.resources(rolloutGroups).List(s.t.Context(), listOptions)
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("there is %s", list.Items[0].GetName())
		}
		return err
	})
}

// kubectl runs the real kubectl in the scene's namespace and returns its output.
func (s *scene) kubectl(args ...string) string {
	s.t.Helper()
	program, err := localcluster.Program(s.t.Context(), "kubectl", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(s.t.Context(), s.patience)
	defer stop()
	command := exec.CommandContext(ctx, program, append(args, "--kubeconfig="+s.world.cluster.AdminKubeconfig(), "-n", s.name)...)
	command.Env = []string{"HOME=" + s.world.cluster.Dir()}
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); err != nil {
		s.t.Fatalf("kubectl %q: %v\n%s", args, errors.Join(err, context.Cause(ctx)), out.String())
	}
	return out.String()
}

func TestARolloutGroupShowsARolloutFromBeginningToEnd(t *testing.T) {
	t.Parallel()
	for sentence, begin := range map[string]func(*testing.T) *scene{"by the operator for the cluster": managed, "by one for the namespace": single} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			s.create(zone("zone-a", 2), zone("zone-b", 1))
			s.showsGroup("store", "Settled, 3/3, Ready, Current")
			s.changeAll(version(2), gated())
			s.showsGroup("store", "Rolling, 0/3, rollout/zone-a, PodStarting on zone-a-0, Reconciling, GroupHeld, InProgress")
			table := s.kubectl("get", "rg")
			if got := strings.Join(strings.Fields(table)[:14], " "); got != "NAME ACTIVITY PROGRESS HOLDER WAITING ON AGE store Rolling 0/3 rollout/zone-a PodStarting zone-a-0 "+strings.Fields(table)[13] {
				t.Errorf("kubectl get rg prints:\n%s", table)
			}
			s.gate("zone-a-0", corev1.ConditionTrue)
			s.showsGroup("store", "Rolling, 1/3, rollout/zone-a, PodStarting on zone-a-1, Reconciling, GroupHeld, InProgress")
			s.opensGates("zone-a-1")
			s.showsGroup("store", "Rolling, 2/3, rollout/zone-b, PodStarting on zone-b-0, Reconciling, GroupHeld, InProgress")
			s.gate("zone-b-0", corev1.ConditionTrue)
			s.kubectl("wait", `--for=jsonpath={.status.zones[?(@.name=="zone-b")].observedGeneration}=2`, "--timeout=90s", "rolloutgroup/store")
			s.kubectl("wait", "--for=condition=Ready", "--timeout=90s", "rolloutgroup/store")
			s.settled()
			s.showsGroup("store", "Settled, 3/3, Ready, Current")
			for _, name := range slices.Clone(s.zones) {
				s.remove(name)
			}
			s.hasNoRolloutGroup()
		})
	}
}

func TestARolloutGroupDistinguishesAPauseFromAProblem(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 1, inGroup("Store_A")), zone("zone-b", 1, inGroup("Store_A")))
	const name = "group.40289ded3209e5c86ab86b8df6b59e3b"
	s.showsGroup(name, "Settled, 2/2, Ready, Current")
	s.change("zone-a", version(2), paused(true))
	s.showsGroup(name, "Blocked, 1/2, Paused on zone-a, InProgress")
	s.change("zone-b", strategy(appsv1.RollingUpdateStatefulSetStrategyType))
	s.change("zone-a", paused(false))
	s.showsGroup(name, "Blocked, 1/2, WrongUpdateStrategy on zone-b, Stalled, Failed")
}

// Names of groups are label values, which need not be valid names of objects.
func TestEveryGroupHasARolloutGroupWhateverItsName(t *testing.T) {
	t.Parallel()
	s := managed(t)
	groups := []string{"store", "Store", "store_", "a..b", "group.40289ded3209e5c86ab86b8df6b59e3b", strings.Repeat("x", 63), "0", ""}
	for i, group := range groups {
		if strings.HasSuffix(group, "_") {
			groups[i] = group + "1"
		}
		s.begin(zone(fmt.Sprint("zone-", i), 1, inGroup(groups[i])))
	}
	slices.Sort(groups)
	s.eventually("every group has its own", func(present) error {
		list, err := s.resources(rolloutGroups).List(s.t.Context(), listOptions)
		if err != nil {
			return err
		}
		var shown []string
		for _, o := range list.Items {
			group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
			if outlineOf(&o) == "Settled, 1/1, Ready, Current" {
				shown = append(shown, group)
			}
		}
		slices.Sort(shown)
		if !slices.Equal(shown, groups) {
			return fmt.Errorf("shown are %q", shown)
		}
		return nil
	})
}

// A new object has no status until its first write, and while that write is refused.
func TestARolloutGroupWithoutAStatusIsNotTakenForOneThatIsReady(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	made, err := s.resources(rolloutGroups).Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": rolloutGroups.GroupVersion().String(), "kind": "RolloutGroup",
		"metadata": map[string]any{"name": "store"}, "spec": map[string]any{"group": "store"},
	}}, createOptions)
	if err != nil {
		t.Fatal(err)
	}
	if got := outlineOf(made); got != ", , InProgress" {
		t.Errorf("it is: %s", got)
	}
}

// The recipe is read from docs/status.md.
func TestAScriptWaitsUntilLockstepHasSeenItsChange(t *testing.T) {
	t.Parallel()
	s := managed(t)
	group := inGroup("ingester")
	s.create(zone("zone-a", 1, group), zone("zone-b", 1, group))
	recipe := documented(t, "../../docs/status.md", "generation=")
	s.change("zone-a", version(2))
	s.runs(recipe)
	set, err := s.world.admin.AppsV1().StatefulSets(s.name).Get(t.Context(), "zone-a", getOptions)
	if err != nil || set.Status.CurrentRevision != set.Status.UpdateRevision {
		t.Errorf("the script is done before the rollout: %+v, %v", set.Status, err)
	}
	s.change("zone-a", replicas(2)) // another change, so that the generation becomes higher than the one in the script
	s.runs(strings.Replace(recipe, "$(kubectl get statefulset", "2 # $(kubectl get statefulset", 1))
}

// documented returns the part of a shell block in a document that begins with a text.
func documented(t *testing.T, file, from string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), from)
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatalf("%s has no block with %s", file, from)
	}
	return from + block
}

// runs runs a shell script. In its path, kubectl uses the scene's namespace.
func (s *scene) runs(script string) {
	s.t.Helper()
	program, err := localcluster.Program(s.t.Context(), "kubectl", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	dir := s.t.TempDir()
	kubectl := fmt.Sprintf("#!/bin/sh\nexec %q \"$@\" --kubeconfig=%q -n %s\n", program, s.world.cluster.AdminKubeconfig(), s.name)
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(kubectl), 0o700); err != nil {
		s.t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(s.t.Context(), s.patience)
	defer stop()
	command := exec.CommandContext(ctx, "sh", "-e", "-c", script)
	command.Env = []string{"HOME=" + s.world.cluster.Dir(), "PATH=" + dir + ":" + os.Getenv("PATH")}
	if out, err := command.CombinedOutput(); err != nil {
		s.t.Fatalf("%s\n%v\n%s", script, errors.Join(err, context.Cause(ctx)), out)
	}
}

func TestARolloutGroupIsPutRightAndStaysWithItsGroup(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.create(zone("zone-a", 1))
	s.showsGroup("store", "Settled, 1/1, Ready, Current")
	objects := s.resources(rolloutGroups)
	if _, err := objects.Patch(t.Context(), "store", types.MergePatchType, []byte(`{"spec":{"group":"other"}}`), metav1.PatchOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("it may be about another group: %v", err)
	}
	if _, err := objects.Patch(t.Context(), "store", types.MergePatchType, []byte(`{"status":{"activity":"Asleep"}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	s.showsGroup("store", "Settled, 1/1, Ready, Current")
	if err := objects.Delete(t.Context(), "store", deleteOptions); err != nil {
		t.Fatal(err)
	}
	s.showsGroup("store", "Settled, 1/1, Ready, Current")
}

func TestOneStatusWriteASecondShowsAHundredRollouts(t *testing.T) {
	t.Parallel()
	s := managed(t)
	s.patience = longPatience
	const groups = 100
	var zones []*appsv1.StatefulSet
	for i := range groups {
		for _, z := range []string{"a", "b"} {
			zones = append(zones, zone(fmt.Sprintf("g%d-%s", i, z), 1, inGroup(fmt.Sprint("g", i)), readyAfter(300*time.Millisecond)))
		}
	}
	s.create(zones...)
	s.changeAll(version(2))
	s.settled()
	for i := range groups {
		s.showsGroup(fmt.Sprint("g", i), "Settled, 2/2, Ready, Current")
	}
	requests, err := s.world.audit.RequestsIn(s.name)
	if err != nil {
		t.Fatal(err)
	}
	last, writes := map[string]time.Time{}, 0
	for _, r := range requests {
		if r.Resource != "rolloutgroups/status" {
			continue
		}
		writes++
		if between := r.At.Sub(last[r.Name]); between < 900*time.Millisecond { // a request may take longer to arrive than the next one
			t.Errorf("%s was written again after %s", r.Name, between)
		}
		last[r.Name] = r.At
	}
	t.Logf("%d writes for %d groups", writes, len(last))
	if len(last) != groups {
		t.Errorf("%d groups were written", len(last))
	}
}

func TestRolloutGroupsInAClusterWithoutTheirKind(t *testing.T) {
	t.Parallel()
	c := newOwnCluster(t)
	c.apply(home, "operator/namespace.yaml", "operator/serviceaccount.yaml", "rbac/cluster.yaml", "rbac/home.yaml")
	c.namespace("team")
	c.namespace("single")
	operators := map[string]*localcluster.Operator{"team": c.operate(home, "-log.level=info"), "single": c.alone("single")}
	for namespace, op := range operators {
		c.group(namespace)
		c.rolls(namespace, 2)
		ready(t, op, "permissions: ok")
	}
	for round := range 2 {
		c.apply("", "crds/lockstep.dev_rolloutgroups.yaml")
		for namespace := range operators {
			c.shows(namespace, "Settled, 1/1, Ready, Current")
		}
		c.deletesCRD(rolloutGroups.GroupResource())
		for namespace, op := range operators {
			c.rolls(namespace, 3+round)
			ready(t, op, "permissions: ok")
		}
	}
	for namespace, op := range operators {
		if n := strings.Count(op.Logs(), "RolloutGroup"); n > 7 {
			t.Errorf("the operator of %s has %d lines about it:\n%s", namespace, n, lastLines(op.Logs(), "RolloutGroup", 20))
		}
	}
}

// rolls changes the template of the group and waits until its pod is replaced.
func (c *ownCluster) rolls(namespace string, n int) {
	c.Helper()
	sets := c.admin.AppsV1().StatefulSets(namespace)
	err := retry.RetryOnConflict(oftenAndSoon, func() error {
		set, err := sets.Get(c.Context(), "zone-a", getOptions)
		if err != nil {
			return err
		}
		version(n)(set)
		_, err = sets.Update(c.Context(), set, updateOptions)
		return err
	})
	if err != nil {
		c.Fatal(err)
	}
	c.eventually("the group in "+namespace+" has rolled", func() error {
		set, err := sets.Get(c.Context(), "zone-a", getOptions)
		if err == nil && (set.Status.ObservedGeneration < set.Generation || set.Status.CurrentRevision != set.Status.UpdateRevision) {
			err = fmt.Errorf("its status is %+v", set.Status)
		}
		return err
	})
}

// shows waits until the RolloutGroup in a namespace has this outline.
func (c *ownCluster) shows(namespace, want string) {
	c.Helper()
	c.eventually("the group in "+namespace+" is: "+want, func() error {
		o, err := c.client.Resource(rolloutGroups).Namespace(namespace).Get(c.Context(), "store", getOptions)
		if err != nil {
			return err
		}
		if got := outlineOf(o); got != want {
			return fmt.Errorf("it is: %s", got)
		}
		return nil
	})
}

func (c *ownCluster) eventually(what string, check func() error) {
	c.Helper()
	err := errors.New("never called")
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	c.Fatalf("waited without success: %s\nlast: %v", what, err)
}
