package operator_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/lockstep-dev/lockstep/internal/operator"
)

const generatedPolicy = "../../manifests/policy/opt-in.yaml"

func TestGeneratedPolicyIsUpToDate(t *testing.T) {
	got := policyFor(t)
	if *update {
		if err := os.WriteFile(generatedPolicy, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(generatedPolicy)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, string(committed)); diff != "" {
		t.Errorf("%s is out of date, run make generate (-want +got):\n%s", generatedPolicy, diff)
	}
}

// The suite on the real API server evaluates these expressions; this test compares their text.
func TestASelectorInCEL(t *testing.T) {
	const number = `["k"].matches("^0*[0-9]{1,19}$") && variables.labels["k"].find("[0-9]{19}$") <= "9223372036854775807" && int(variables.labels["k"])`
	for selector, want := range map[string]string{
		"k=v":           `"k" in variables.labels && variables.labels["k"] == "v"`,
		"k==v":          `"k" in variables.labels && variables.labels["k"] == "v"`,
		"k=":            `"k" in variables.labels && variables.labels["k"] == ""`,
		"k!=v":          `!("k" in variables.labels && variables.labels["k"] == "v")`,
		"k in (b,a)":    `"k" in variables.labels && variables.labels["k"] in ["a", "b"]`,
		"k notin (a,b)": `!("k" in variables.labels && variables.labels["k"] in ["a", "b"])`,
		"x.io/k":        `"x.io/k" in variables.labels`,
		"!k":            `!("k" in variables.labels)`,
		"k>007":         `"k" in variables.labels && variables.labels` + number + ` > 7`,
		"k<00":          `"k" in variables.labels && variables.labels` + number + ` < 0`,
		"b!=c,a":        `"a" in variables.labels && !("b" in variables.labels && variables.labels["b"] == "c")`,
	} {
		t.Run(selector, func(t *testing.T) {
			policy, _ := decode(t, policyFor(t, "-namespaces.selector="+selector))
			if got := policy.Spec.Validations[0].Expression; got != want {
				t.Errorf("got\n  %s\nwant\n  %s", got, want)
			}
		})
	}
}

func TestThePolicyNamesTheOperatorAndItsHome(t *testing.T) {
	policy, binding := decode(t, policyFor(t, "-operator.namespace=ours", "-namespaces.selector=a in (x,y),!b"))
	var conditions []string
	for _, c := range policy.Spec.MatchConditions {
		conditions = append(conditions, c.Expression)
	}
	want := []string{`request.userInfo.username == "system:serviceaccount:ours:lockstep"`, `request.namespace != "ours"`}
	if diff := cmp.Diff(want, conditions); diff != "" {
		t.Errorf("match conditions (-want +got):\n%s", diff)
	}
	if message := policy.Spec.Validations[0].MessageExpression; !strings.Contains(message, "a in (x,y),!b") {
		t.Errorf("the message does not say how to opt in: %s", message)
	}
	if *policy.Spec.FailurePolicy != admissionregistrationv1.Fail {
		t.Errorf("failure policy %s", *policy.Spec.FailurePolicy)
	}
	if binding.Spec.PolicyName != policy.Name {
		t.Errorf("the policy is %s, the binding is of %s", policy.Name, binding.Spec.PolicyName)
	}
}

func policyFor(t *testing.T, args ...string) string {
	t.Helper()
	text, err := operator.AdmissionPolicy(parse(t, args...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func decode(t *testing.T, text string) (admissionregistrationv1.ValidatingAdmissionPolicy, admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	t.Helper()
	var policy admissionregistrationv1.ValidatingAdmissionPolicy
	var binding admissionregistrationv1.ValidatingAdmissionPolicyBinding
	documents := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text))
	for _, into := range []any{&policy, &binding} {
		if err := documents.Decode(into); err != nil {
			t.Fatal(err)
		}
	}
	return policy, binding
}
