package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// lockstepUser is the operator's user name.
const lockstepUser = "system:serviceaccount:" + systemNamespace + ":lockstep"

// A write is one kind of request that changes an object of a namespace.
type write struct {
	method, path, body string
	contentType        string // JSON if it is empty
	connects           bool   // connects to a pod or node, so it cannot succeed here
}

const core = "/api/v1/namespaces/NAMESPACE/"

var writes = map[string]write{
	"create":                  {method: "POST", path: core + "configmaps", body: `{"metadata":{"name":"new"}}`},
	"create a Lease":          {method: "POST", path: "/apis/coordination.k8s.io/v1/namespaces/NAMESPACE/leases", body: `{"metadata":{"name":"new"}}`},
	"create an Event":         {method: "POST", path: "/apis/events.k8s.io/v1/namespaces/NAMESPACE/events", body: event},
	"create objects of a CRD": {method: "POST", path: "/apis/example.com/v1/namespaces/NAMESPACE/lamps", body: `{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"new"}}`},
	"update":                  {method: "PUT", path: core + "configmaps/kept", body: `{"metadata":{"name":"kept"}}`},
	"patch":                   {method: "PATCH", path: "/apis/apps/v1/namespaces/NAMESPACE/statefulsets/zone-a", body: `{"metadata":{"labels":{"new":"x"}}}`, contentType: string(types.MergePatchType)},
	"apply":                   {method: "PATCH", path: core + "configmaps/kept?fieldManager=x", body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"kept"}}`, contentType: string(types.ApplyYAMLPatchType)},
	"patch a status":          {method: "PATCH", path: "/apis/apps/v1/namespaces/NAMESPACE/statefulsets/zone-a/status", body: `{"status":{"replicas":7}}`, contentType: string(types.MergePatchType)},
	"scale":                   {method: "PATCH", path: "/apis/apps/v1/namespaces/NAMESPACE/statefulsets/zone-a/scale", body: `{"spec":{"replicas":1}}`, contentType: string(types.MergePatchType)},
	"delete":                  {method: "DELETE", path: core + "pods/zone-a-0"},
	"delete a collection":     {method: "DELETE", path: core + "configmaps"},
	"evict":                   {method: "POST", path: core + "pods/zone-a-0/eviction", body: `{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"zone-a-0"}}`},
	"request a token":         {method: "POST", path: core + "serviceaccounts/default/token", body: `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenRequest","spec":{"expirationSeconds":600}}`},
	"execute in a pod":        {method: "POST", path: core + "pods/zone-a-0/exec?command=true", connects: true},
	"reach a pod":             {method: "GET", path: core + "pods/zone-a-0/proxy/", connects: true},
}

const event = `{"metadata":{"name":"new"},"eventTime":"2026-01-01T00:00:00.000000Z","reportingController":"x","reportingInstance":"x",` +
	`"action":"x","reason":"x","type":"Normal","regarding":{"namespace":"NAMESPACE"}}`

// try sends the request, as a dry run if the API server answers it by itself.
func (w write) try(ctx context.Context, client kubernetes.Interface, namespace string) error {
	path, query, _ := strings.Cut(strings.ReplaceAll(w.path, "NAMESPACE", namespace), "?")
	request := client.Discovery().RESTClient().Verb(w.method).AbsPath(path)
	if name, value, found := strings.Cut(query, "="); found {
		request.Param(name, value)
	}
	if !w.connects {
		request.Param("dryRun", "All")
	}
	if w.body != "" {
		kind := w.contentType
		if kind == "" {
			kind = "application/json"
		}
		request.SetHeader("Content-Type", kind).Body([]byte(strings.ReplaceAll(w.body, "NAMESPACE", namespace)))
	}
	err := request.Do(ctx).Error()
	if w.connects && !isDenial(err, namespace) {
		return nil // there is no server to connect to
	}
	return err
}

// isDenial reports whether the policy denied the request, with its message.
func isDenial(err error, namespace string) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "'lockstep-opt-in' denied request: "+
		"lockstep may not write to namespace "+namespace+", which did not opt in: label it so that it matches lockstep.dev/enabled=true")
}

// as returns a client that impersonates another user with all permissions. Only admission can
// refuse its requests.
func (in *installation) as(t *testing.T, user string) kubernetes.Interface {
	t.Helper()
	config := in.cluster.AdminConfig()
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
	return in.client(t, config)
}

func (in *installation) client(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (in *installation) policyDenies(t *testing.T) {
	if err := in.cluster.Apply(t.Context(), "../localcluster/testdata/manifests/1-definition.yaml"); err != nil {
		t.Fatal(err)
	}
	in.group(t, systemNamespace)
	for _, namespace := range []string{"stranger", "opted-in", systemNamespace} {
		kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
		if _, err := in.admin.CoreV1().ConfigMaps(namespace).Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	lockstep := in.as(t, lockstepUser)
	in.policyIsInForce(t, lockstep)
	for name, w := range writes {
		if err := w.try(t.Context(), lockstep, "stranger"); !isDenial(err, "stranger") {
			t.Errorf("%s in an unmanaged namespace: got %v, want the policy's refusal", name, err)
		}
		for _, namespace := range []string{"opted-in", systemNamespace} {
			if err := w.try(t.Context(), lockstep, namespace); err != nil {
				t.Errorf("%s in %s: %v", name, namespace, err)
			}
		}
		for _, user := range []string{"jane", "system:serviceaccount:" + systemNamespace + ":default", "system:serviceaccount:stranger:lockstep"} {
			if err := w.try(t.Context(), in.as(t, user), "stranger"); err != nil {
				t.Errorf("%s by %s: %v", name, user, err)
			}
		}
	}
	in.ownTokenIsDenied(t)
}

// policyIsInForce waits until the API server enforces the policy.
func (in *installation) policyIsInForce(t *testing.T, lockstep kubernetes.Interface) {
	t.Helper()
	awaitInstalled(t, "the policy is in force", func(ctx context.Context) error {
		if err := writes["create"].try(ctx, lockstep, "stranger"); !isDenial(err, "stranger") {
			return errors.New(fmt.Sprint("got ", err))
		}
		return nil
	})
}

// ownTokenIsDenied makes requests that the ClusterRole grants, with the operator's own token.
func (in *installation) ownTokenIsDenied(t *testing.T) {
	t.Helper()
	file, err := in.cluster.ServiceAccountKubeconfig(t.Context(), systemNamespace, "lockstep")
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", file)
	if err != nil {
		t.Fatal(err)
	}
	err = in.client(t, config).CoreV1().Pods("stranger").Delete(t.Context(), "zone-a-0", metav1.DeleteOptions{})
	if !isDenial(err, "stranger") {
		t.Errorf("a pod deleted with the operator's token: got %v, want the policy's refusal", err)
	}
}

func (in *installation) policyFollows(t *testing.T) {
	const atMost = 30 * time.Second
	lockstep := in.as(t, lockstepUser)
	for _, step := range []struct {
		label  string
		denied bool
	}{{`null`, true}, {`"true"`, false}, {`"false"`, true}, {`"true"`, false}} {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"lockstep.dev/enabled":%s}}}`, step.label)
		if _, err := in.admin.CoreV1().Namespaces().Patch(t.Context(), "opted-in", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		changed := time.Now()
		awaitInstalled(t, "the policy follows the label "+step.label, func(ctx context.Context) error {
			err := writes["delete"].try(ctx, lockstep, "opted-in")
			if isDenial(err, "opted-in") != step.denied {
				return errors.New(fmt.Sprint("got ", err))
			}
			return nil
		})
		if took := time.Since(changed); took > atMost {
			t.Errorf("label %s took effect after %s, at most %s wanted", step.label, took, atMost)
		}
	}
}

// printedPolicy returns the policy that the operator prints.
func (in *installation) printedPolicy(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), in.program, append([]string{"-print-admission-policy"}, args...)...)
	command.Env = []string{}
	printed, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(printed)
}

// policySelects makes the API server evaluate the policies of many selectors for namespaces with
// many sets of labels, and compares the results with the meaning of the selectors. One policy
// evaluates all of them, and returns the results in the message of its refusal.
func (in *installation) policySelects(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	draw := lots{rand.New(rand.NewPCG(seed, 0))}
	selectors := slices.Concat(oddSelectors, draw.selectors(20))
	in.applyQuestionnaire(t, selectors)
	probe := in.as(t, prober)
	in.namespace(t, "unlabelled", nil)
	awaitInstalled(t, "the questionnaire is in force", func(ctx context.Context) error {
		return errorOf(verdicts(ctx, probe, "unlabelled"))
	})
	for i, set := range slices.Concat(oddLabels, draw.labels(30)) {
		namespace := in.namespace(t, fmt.Sprintf("labelled-%d", i), set)
		got, err := verdicts(t.Context(), probe, namespace.Name)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(selectors) {
			t.Fatalf("%d verdicts on %d selectors", len(got), len(selectors))
		}
		for n, text := range selectors {
			selector, err := labels.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			if want := selector.Matches(labels.Set(namespace.Labels)); want != (got[n] == '1') {
				t.Errorf("selector %s and labels %v: the policy returns %t, want %t", text, namespace.Labels, !want, want)
			}
		}
	}
}

// prober is the user whose requests the questionnaire always refuses.
const prober = "prober"

const questions = "questions"

// applyQuestionnaire creates a policy from the expressions of many.
func (in *installation) applyQuestionnaire(t *testing.T, selectors []string) {
	t.Helper()
	var requested []string
	var policy admissionregistrationv1.ValidatingAdmissionPolicy
	for _, selector := range selectors {
		policy = admissionregistrationv1.ValidatingAdmissionPolicy{}
		printed := strings.NewReader(in.printedPolicy(t, "-namespaces.selector="+selector))
		if err := yaml.NewYAMLOrJSONDecoder(printed, 4096).Decode(&policy); err != nil {
			t.Fatal(err)
		}
		requested = append(requested, policy.Spec.Validations[0].Expression)
	}
	policy.ObjectMeta = metav1.ObjectMeta{Name: questions}
	policy.Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{
		Name: "by-prober", Expression: fmt.Sprintf("request.userInfo.username == %q", prober),
	}}
	policy.Spec.Validations = []admissionregistrationv1.Validation{{
		Expression:        "false",
		MessageExpression: `"verdicts:" + [` + strings.Join(requested, ", ") + `].map(verdict, verdict ? "1" : "0").join("")`,
	}}
	policies := in.admin.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	if _, err := policies.Create(t.Context(), &policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := in.admin.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(),
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: questions},
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: questions, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// verdicts returns 1 for each selector that matches the namespace, else 0.
func verdicts(ctx context.Context, probe kubernetes.Interface, namespace string) (string, error) {
	err := writes["create"].try(ctx, probe, namespace)
	if err == nil {
		return "", errors.New("the questionnaire was not called")
	}
	_, found, ok := strings.Cut(err.Error(), "verdicts:")
	if !ok {
		return "", err
	}
	return found, nil
}

func errorOf(_ string, err error) error { return err }

var oddSelectors = []string{
	"lockstep.dev/enabled=true", "lockstep.dev/enabled", "!lockstep.dev/enabled", "kubernetes.io/metadata.name",
	"a=", "a!=", "a in ()", "a in (,x)", "a notin (,x)", "a==x,a!=y,b.io/x,!c", "a=x,a=y",
	"a>5", "a<5", "a>005", "a<00", "a>9223372036854775806", "a<9223372036854775807", "a>0,a<10,a!=7",
}

var oddLabels = []map[string]string{
	nil, {"lockstep.dev/enabled": "true"}, {"lockstep.dev/enabled": "false"}, {"lockstep.dev/enabled": ""},
	{"a": "9223372036854775807"}, {"a": "9223372036854775808"}, {"a": "99999999999999999999"},
	{"a": "000000000000000000000000000000000000000000000000000000000006"}, {"a": "0000000000009223372036854775808"},
	{"a": "6_0"}, {"a": "0x6"}, {"a": "6.0"}, {"a": "6e1"},
}

// lots draws from few words, so that selectors and labels often match.
type lots struct{ *rand.Rand }

var (
	drawnKeys   = []string{"a", "b.io/x", "c"}
	drawnValues = []string{"", "x", "y", "X-y_z.9", "0", "3", "07", "12"}
)

func (l lots) one(of []string) string { return of[l.IntN(len(of))] }

func (l lots) selectors(n int) []string {
	var all []string
	for range n {
		var requirements []string
		for range 1 + l.IntN(3) {
			requirements = append(requirements, l.requirement())
		}
		all = append(all, strings.Join(requirements, ","))
	}
	return all
}

func (l lots) requirement() string {
	key, value := l.one(drawnKeys), l.one(drawnValues)
	switch l.IntN(8) {
	case 0:
		return key
	case 1:
		return "!" + key
	case 2:
		return key + "=" + value
	case 3:
		return key + "!=" + value
	case 4:
		return key + " in (" + value + "," + l.one(drawnValues) + ")"
	case 5:
		return key + " notin (" + value + "," + l.one(drawnValues) + ")"
	case 6:
		return key + ">" + l.one([]string{"0", "3", "12"})
	}
	return key + "<" + l.one([]string{"0", "3", "12"})
}

func (l lots) labels(n int) []map[string]string {
	var all []map[string]string
	for range n {
		set := map[string]string{}
		for _, key := range drawnKeys {
			if l.IntN(3) > 0 {
				set[key] = l.one(drawnValues)
			}
		}
		all = append(all, set)
	}
	return all
}
