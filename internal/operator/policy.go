package operator

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/lockstep-dev/lockstep/internal/operator/config"
)

// serviceAccount is the name of the operator's service account in the manifests.
const serviceAccount = "lockstep"

// AdmissionPolicy returns, as YAML, a ValidatingAdmissionPolicy that denies every write of
// lockstep to a namespace that did not opt in, and its binding. They match the selector and the
// operator's namespace of c. The policy limits the damage of a fault in lockstep or of a stolen
// token. The ClusterRole cannot do that, because roles cannot select namespaces by labels.
func AdmissionPolicy(c config.Config) (string, error) {
	selector, err := labels.Parse(c.Namespaces.Selector)
	if err != nil {
		return "", fmt.Errorf("read -namespaces.selector: %w", err)
	}
	home := c.Operator.Namespace
	return strings.NewReplacer(
		"SELECTOR", selector.String(),
		"USER", fmt.Sprintf("system:serviceaccount:%s:%s", home, serviceAccount),
		"HOME", home,
		"OPTED_IN", celOf(selector, "variables.labels", "\n        "),
	).Replace(policyTemplate), nil
}

// policyTemplate contains CEL expressions. Selectors consist of letters, digits and punctuation
// that need no escape in YAML's block scalars and in CEL's strings.
const policyTemplate = `# Denies every write of lockstep to a namespace that did not opt in, except lockstep's own namespace.
# Generated for -namespaces.selector="SELECTOR" and the namespace HOME. If yours differ,
# generate the policy with lockstep -print-admission-policy and the same flags.
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata:
  name: lockstep-opt-in
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
      - apiGroups: ["*"]
        apiVersions: ["*"]
        operations: ["CREATE", "UPDATE", "DELETE", "CONNECT"]
        resources: ["*/*"]
        scope: Namespaced
  matchConditions:
    - name: by-lockstep
      expression: >-
        request.userInfo.username == "USER"
    - name: away-from-home
      expression: >-
        request.namespace != "HOME"
  variables:
    - name: labels
      expression: >-
        has(namespaceObject.metadata.labels) ? namespaceObject.metadata.labels : {}
  validations:
    - expression: >-
        OPTED_IN
      messageExpression: >-
        "lockstep may not write to namespace " + request.namespace +
        ", which did not opt in: label it so that it matches SELECTOR"
      reason: Forbidden
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata:
  name: lockstep-opt-in
spec:
  policyName: lockstep-opt-in
  validationActions: ["Deny"]
`
