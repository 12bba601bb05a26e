package apiserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// shownBudgets returns the budgets that an operator has for the default group of a namespace, as name and
// limit. "unread" means that there may be others. Without a record of the group, it returns nil.
func shownBudgets(op *localcluster.Operator, namespace string) ([]string, error) {
	code, text := get(op.URL() + "/debug/groups/" + namespace + "/" + defaultGroup)
	if code != http.StatusOK {
		return nil, fmt.Errorf("the operator answers %d: %s", code, text)
	}
	var record struct {
		Snapshot struct {
			Budgets []struct {
				Name, Invalid string
				Limit         int
			}
			Unread bool
		} `json:"snapshot"`
	}
	if err := json.Unmarshal([]byte(text), &record); err != nil {
		return nil, fmt.Errorf("read the operator's record: %w", err)
	}
	shown := []string{}
	for _, b := range record.Snapshot.Budgets {
		shown = append(shown, fmt.Sprintf("%s %d%s", b.Name, b.Limit, b.Invalid))
	}
	if record.Snapshot.Unread {
		shown = append(shown, "unread")
	}
	return shown, nil
}

// seesBudgets waits until an operator has exactly these budgets.
func seesBudgets(t *testing.T, op *localcluster.Operator, namespace string, want ...string) {
	t.Helper()
	shown, err := []string{}, error(nil)
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if shown, err = shownBudgets(op, namespace); err == nil && slices.Equal(shown, want) {
			return
		}
	}
	t.Fatalf("the operator sees the budgets %q (%v), want %q\n%s", shown, err, want, lastLines(op.Logs(), "budget", 20))
}

func TestABudgetIsSeenAsItIsNow(t *testing.T) {
	t.Parallel()
	for sentence, begin := range map[string]func(*testing.T) *scene{"by the operator for the cluster": managed, "by one for the namespace": single} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			s.create(zone("zone-a", 1), zone("zone-b", 1))
			here := s.resources(budgets)
			for _, step := range []struct {
				do   func() error
				want []string
			}{
				{func() error { return s.budget("b", `{`+store+`}`) }, []string{"b 1"}},
				{func() error { return s.budget("a", `{`+store+`,"maxUnavailable":2}`) }, []string{"a 2", "b 1"}},
				{func() error {
					_, err := here.Patch(t.Context(), "b", types.MergePatchType, []byte(`{"spec":{"maxUnavailable":3}}`), metav1.PatchOptions{})
					return err
				}, []string{"a 2", "b 3"}},
				{func() error { return here.Delete(t.Context(), "a", deleteOptions) }, []string{"b 3"}},
			} {
				if err := step.do(); err != nil {
					t.Fatal(err)
				}
				seesBudgets(t, s.operator.Operator, s.name, step.want...)
			}
		})
	}
}

// saysOf returns the status of a budget as text: generation, allowed disruptions, zones, and conditions
// that are not True.
func saysOf(object *unstructured.Unstructured) string {
	var whole struct {
		Status struct {
			ObservedGeneration, DisruptionsAllowed int
			Zones, Partitions                      []struct {
				Name                                  string
				Pods, Unavailable, DisruptionsAllowed int
			}
			Conditions []metav1.Condition
		}
	}
	text, err := object.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(text, &whole)
	}
	if err != nil {
		return err.Error()
	}
	status := whole.Status
	says := fmt.Sprintf("at %d: %d", status.ObservedGeneration, status.DisruptionsAllowed)
	for _, part := range slices.Concat(status.Zones, status.Partitions) {
		says += fmt.Sprintf(", %s %d/%d %d", part.Name, part.Unavailable, part.Pods, part.DisruptionsAllowed)
	}
	for _, c := range status.Conditions {
		if c.Status != metav1.ConditionTrue {
			says += ", " + c.Reason
		}
	}
	return says
}

// says waits until a budget has this status.
func (s *scene) says(budget, want string) {
	s.t.Helper()
	s.eventually("the status of budget "+budget+" is "+want, func(present) error {
		object, err := s.resources(budgets).Get(s.t.Context(), budget, getOptions)
		if err != nil {
			return err
		}
		if got := saysOf(object); got != want {
			return fmt.Errorf("it is %s", got)
		}
		return nil
	})
}

const everyPod = `"selector":{"matchLabels":{}}`

func TestABudgetSaysHowManyEvictionsItAllows(t *testing.T) {
	t.Parallel()
	for sentence, begin := range map[string]func(*testing.T) *scene{"by the operator for the cluster": managed, "by one for the namespace": single} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			s.begin(zone("zone-a", 2), zone("zone-b", 1, gated()))
			s.isBroken("zone-b-0")
			if err := s.budget("all", `{`+everyPod+`}`); err != nil {
				t.Fatal(err)
			}
			s.says("all", "at 1: 0, zone-a 0/2 0, zone-b 1/1 0")
			s.gate("zone-b-0", corev1.ConditionTrue)
			s.says("all", "at 1: 1, zone-a 0/2 1, zone-b 0/1 1")
			_, err := s.resources(budgets).Patch(t.Context(), "all", types.MergePatchType, []byte(`{"spec":{"maxUnavailable":2,"podNamePartitionRegex":"zone-[ab]-([0-9]+)"}}`), metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			s.says("all", "at 2: 3, zone-a 0/2 2, zone-b 0/1 1, 0 0/2 2, 1 0/1 1")
			if err := s.budget("none", `{`+store+`}`); err != nil { // only StatefulSets have this label here
				t.Fatal(err)
			}
			s.says("none", "at 1: 0, NoPodsCovered")
			if err := s.budget("more", `{`+everyPod+`}`); err != nil {
				t.Fatal(err)
			}
			s.says("more", "at 1: 0, zone-a 0/2 0, zone-b 0/1 0, SeveralBudgets")
			s.says("all", "at 2: 0, zone-a 0/2 0, zone-b 0/1 0, 0 0/2 0, 1 0/1 0, SeveralBudgets")
		})
	}
}

func TestBudgetStatusShowsTheAnswerToTheLastEviction(t *testing.T) {
	t.Parallel()
	e := evictions(t)
	e.createOpen(zone("zone-a", 2, gated()), zone("zone-b", 2))
	if err := e.budget("all", `{`+everyPod+`}`); err != nil {
		t.Fatal(err)
	}
	seesBudgets(t, e.operator.Operator, e.name, "all 1")
	before := e.pod("zone-a-0")
	e.mayEvict("zone-a-0")
	if err := e.evict("zone-a-0"); err != nil {
		t.Fatal(err)
	}
	e.decidedLast("all", "zone-a-0: true, EvictionGranted")
	e.refused(e.evict("zone-b-0"), "eviction of zone-b-0 in zone-b is refused")
	e.decidedLast("all", "zone-b-0: false, GroupHeld")
	e.opens(before)
	e.settled()
}

// decidedLast waits until the status of a budget has this last decision.
func (s *scene) decidedLast(budget, want string) {
	s.t.Helper()
	s.eventually("the last decision of budget "+budget+" is "+want, func(present) error {
		object, err := s.resources(budgets).Get(s.t.Context(), budget, getOptions)
		if err != nil {
			return err
		}
		decision, _, err := unstructured.NestedMap(object.Object, "status", "lastDecision")
		if err != nil {
			return err
		}
		got := fmt.Sprintf("%v: %v, %v", decision["pod"], decision["allowed"], decision["reason"])
		if refused := decision["allowed"] == false; got != want || refused != (decision["message"] != nil) || decision["time"] == nil {
			return fmt.Errorf("it is %v", decision)
		}
		return nil
	})
}

func TestNoStatusIsWrittenInAnUnmanagedNamespace(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	if err := s.budget("all", `{`+everyPod+`}`); err != nil {
		t.Fatal(err)
	}
	s.begin(zone("zone-a", 1))
	s.stays("the budget has no status", 4*time.Second, func(present) error {
		object, err := s.resources(budgets).Get(t.Context(), "all", getOptions)
		if err != nil {
			return err
		}
		if status, has := object.Object["status"]; has {
			return fmt.Errorf("it has %v", status)
		}
		return nil
	})
	s.optsIn(true)
	s.says("all", "at 1: 1, zone-a 0/1 1")
}

// single returns a scene with an operator for its namespace only.
func single(t *testing.T) *scene {
	t.Helper()
	s := unmanaged(t)
	s.withRole()
	s.startOperator()
	return s
}

// budget creates a budget with this spec in JSON.
func (s *scene) budget(name, spec string) error {
	_, err := s.resources(budgets).Create(s.t.Context(), zpdb(s.t, name, spec), createOptions)
	return err
}

// ownCluster is a test's own cluster. The CRD affects the cluster, and in the shared one, no request of
// an operator may be refused.
type ownCluster struct {
	*testing.T
	cluster *localcluster.Cluster
	admin   kubernetes.Interface
	client  dynamic.Interface
}

func newOwnCluster(t *testing.T) *ownCluster {
	t.Helper()
	c := &ownCluster{T: t, cluster: localcluster.For(t, localcluster.Options{})}
	var err error
	if c.admin, err = kubernetes.NewForConfig(c.cluster.AdminConfig()); err != nil {
		t.Fatal(err)
	}
	if c.client, err = dynamic.NewForConfig(c.cluster.AdminConfig()); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestBudgetsInAClusterWithoutTheirKind(t *testing.T) {
	t.Parallel()
	c := newOwnCluster(t)
	c.apply(home, "operator/namespace.yaml", "operator/serviceaccount.yaml", "rbac/cluster.yaml", "rbac/home.yaml")
	operators := map[string]*localcluster.Operator{"team": c.operate(home), "single": nil}
	for namespace := range operators {
		c.namespace(namespace)
	}
	operators["single"] = c.alone("single")
	for namespace, op := range operators {
		c.group(namespace)
		seesBudgets(t, op, namespace)
		ready(t, op, "budgets: ok")
	}
	t.Run("they are seen once it is installed, and removed with it", func(t *testing.T) { c.comesAndGoes(t, operators) })
	t.Run("an operator that may not read them is ready and reports it", c.mayNotRead)
}

func (c *ownCluster) comesAndGoes(t *testing.T, operators map[string]*localcluster.Operator) {
	t.Helper()
	c.apply("", "crds")
	for namespace := range operators {
		if _, err := c.client.Resource(budgets).Namespace(namespace).Create(t.Context(), zpdb(t, "late", `{`+store+`}`), createOptions); err != nil {
			t.Fatal(err)
		}
	}
	for namespace, op := range operators {
		seesBudgets(t, op, namespace, "late 1")
	}
	c.deletesCRD(budgets.GroupResource())
	for namespace, op := range operators {
		seesBudgets(t, op, namespace)
		ready(t, op, "budgets: ok")
	}
}

func (c *ownCluster) mayNotRead(t *testing.T) {
	const namespace = "without"
	c.namespace(namespace)
	c.apply(namespace, "rbac/namespaced/role.yaml")
	roles := c.admin.RbacV1().Roles(namespace)
	role, err := roles.Get(t.Context(), account, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	role.Rules = slices.DeleteFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, budgets.Resource) })
	c.mayList(t, namespace, true)
	if _, err := roles.Update(t.Context(), role, updateOptions); err != nil {
		t.Fatal(err)
	}
	c.mayList(t, namespace, false)
	c.apply(namespace, "operator/serviceaccount.yaml", "rbac/home.yaml")
	op := c.operate(namespace, "-kubernetes.namespace="+namespace, "-operator.namespace="+namespace)
	ready(t, op, "list "+budgets.Resource, "watch "+budgets.Resource, "budgets: the budgets for evictions are not known: ")
	c.group(namespace)
	seesBudgets(t, op, namespace, "unread")
}

// mayList waits until the API server allows an operator to list budgets, or denies it.
func (c *ownCluster) mayList(t *testing.T, namespace string, granted bool) {
	t.Helper()
	right := authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "list", Group: budgets.Group, Resource: budgets.Resource}
	awaitInstalled(t, "the API server knows the role", func(ctx context.Context) error {
		allowed, err := may(ctx, c.admin, user(namespace), right)
		if err == nil && allowed != granted {
			err = errors.New("not yet")
		}
		return err
	})
}

// ready waits until an operator is ready and its answer contains all these texts.
func ready(t *testing.T, op *localcluster.Operator, wants ...string) {
	t.Helper()
	var code int
	var text string
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if code, text = get(op.URL() + "/ready"); code == http.StatusOK && !slices.ContainsFunc(wants, func(want string) bool { return !strings.Contains(text, want) }) {
			return
		}
	}
	t.Fatalf("the operator answers %d: %s, want %q", code, text, wants)
}

func (c *ownCluster) namespace(name string) {
	c.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: optedIn}}
	if _, err := c.admin.CoreV1().Namespaces().Create(c.Context(), namespace, createOptions); err != nil {
		c.Fatal(err)
	}
}

// group creates a group with one zone.
func (c *ownCluster) group(namespace string) {
	c.Helper()
	if _, err := c.admin.AppsV1().StatefulSets(namespace).Create(c.Context(), zone("zone-a", 1), createOptions); err != nil {
		c.Fatal(err)
	}
}

// apply applies manifests; objects without a namespace are created in this one.
func (c *ownCluster) apply(namespace string, files ...string) {
	c.Helper()
	for i := range files {
		files[i] = manifest + files[i]
	}
	var err error
	if namespace == "" || namespace == home {
		err = c.cluster.Apply(c.Context(), files...)
	} else {
		err = c.cluster.ApplyIn(c.Context(), namespace, files...)
	}
	if err != nil {
		c.Fatal(err)
	}
}

// deletesCRD deletes the CRD of a kind and waits until the deletion has finished. A CRD that is applied
// while the old one terminates is deleted with it.
func (c *ownCluster) deletesCRD(kind schema.GroupResource) {
	c.Helper()
	if err := c.client.Resource(definitions).Delete(c.Context(), kind.String(), deleteOptions); err != nil {
		c.Fatal(err)
	}
	c.eventually("the CRD of "+kind.String()+" is deleted", func() error {
		_, err := c.client.Resource(definitions).Get(c.Context(), kind.String(), getOptions)
		if apierrors.IsNotFound(err) {
			return nil
		}
		return errors.Join(errors.New("not yet"), err)
	})
}

// alone runs an operator for one namespace.
func (c *ownCluster) alone(namespace string) *localcluster.Operator {
	c.Helper()
	c.apply(namespace, "operator/serviceaccount.yaml", "rbac/namespaced/role.yaml", "rbac/home.yaml")
	return c.operate(namespace, "-kubernetes.namespace="+namespace, "-operator.namespace="+namespace)
}

// operate runs an operator as the service account lockstep of a namespace, until the end of the test.
func (c *ownCluster) operate(namespace string, args ...string) *localcluster.Operator {
	c.Helper()
	op := c.launch(namespace, args...)
	c.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(c.Context()), patience)
		defer cancel()
		if code, err := op.Stop(ctx); err != nil || code != 0 {
			c.Errorf("ended with %d: %v", code, err)
		}
	})
	return op
}

// launch starts an operator as the service account lockstep of a namespace.
func (c *ownCluster) launch(namespace string, args ...string) *localcluster.Operator {
	c.Helper()
	kubeconfig, err := c.cluster.ServiceAccountKubeconfig(c.Context(), namespace, account)
	if err != nil {
		c.Fatal(err)
	}
	if err := awaitRoles(c.Context(), c.admin, user(namespace), namespace); err != nil {
		c.Fatal(err)
	}
	op, err := localcluster.StartOperator(c.Context(), localcluster.OperatorOptions{Kubeconfig: kubeconfig, Args: args})
	if err != nil {
		c.Fatal(err)
	}
	return op
}
