package operator_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/contract/permission"
	"github.com/lockstep-dev/lockstep/internal/operator"
)

var update = flag.Bool("update", false, "write the generated files anew")

// manifest is a generated file of the manifests, with the needs that it contains.
type manifest struct {
	file      string
	what      string
	kind      string // Role or ClusterRole
	name      string
	namespace string
	needs     []permission.Need
	scopes    []permission.Scope
}

var manifests = []manifest{
	{"rbac/cluster.yaml", "What lockstep may do in the whole cluster. The labels of a namespace decide whether lockstep works there.", "ClusterRole", "lockstep", "", operator.Permissions(), []permission.Scope{permission.Managed, permission.Cluster}},
	{"rbac/home.yaml", "What lockstep may do in its own namespace.", "Role", "lockstep-home", "lockstep-system", operator.Permissions(), []permission.Scope{permission.Home}},
	{"rbac/namespaced/role.yaml", "What lockstep may do in the one namespace it manages, instead of cluster.yaml: kubectl apply -n NAMESPACE.", "Role", "lockstep", "", operator.Permissions(), []permission.Scope{permission.Managed}},
	{"overlays/rollout-operator-role/role.yaml", "What lockstep may do under the service account of rollout-operator, if both run in one namespace: kubectl apply -n NAMESPACE.", "Role", "lockstep", "", slices.Concat(operator.Permissions(), operator.CertificatePermissions(theSecret)), []permission.Scope{permission.Managed, permission.Home}},
	{"statefulcluster/role.yaml", "What lockstep may do in the whole cluster for the kind StatefulCluster.", "ClusterRole", "lockstep-statefulcluster", "", operator.StatefulClusterPermissions(), []permission.Scope{permission.Managed, permission.Cluster}},
	{"statefulcluster/namespaced/role.yaml", "What lockstep may do for the kind StatefulCluster in the one namespace it manages: kubectl apply -n NAMESPACE.", "Role", "lockstep-statefulcluster", "", operator.StatefulClusterPermissions(), []permission.Scope{permission.Managed}},
	{"webhooks/certificate/role.yaml", "What lockstep may do with Secrets: keep the certificate of its webhooks in one.", "Role", "lockstep-certificate", "lockstep-system", operator.CertificatePermissions(theSecret), []permission.Scope{permission.Home}},
	{"webhooks/inject.yaml", "What lockstep may do with webhook configurations. The labels of a configuration decide whether lockstep changes it.", "ClusterRole", "lockstep-webhooks", "", operator.InjectionPermissions(nil), []permission.Scope{permission.Everywhere}},
	{"webhooks/named/inject.yaml", "What lockstep may do with webhook configurations: change its own.", "ClusterRole", "lockstep-webhooks", "", operator.InjectionPermissions(theConfigurations), []permission.Scope{permission.Everywhere}},
}

const theSecret = "lockstep-webhook-certificate"

var theConfigurations = []string{"lockstep-no-downscale", "lockstep-pod-eviction", "lockstep-pod-eviction-pin", "lockstep-prepare-downscale", "lockstep-zpdb-validation"}

func TestGeneratedRBACIsUpToDate(t *testing.T) {
	for _, m := range manifests {
		file := filepath.Join("../../manifests", m.file)
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(m.yaml()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		committed, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(m.yaml(), string(committed)); diff != "" {
			t.Errorf("%s is out of date, run make generate (-want +got):\n%s", file, diff)
		}
	}
}

func TestEveryPermissionIsInAManifest(t *testing.T) {
	covered := map[string]bool{}
	for _, m := range manifests {
		for _, need := range m.granted() {
			covered[fmt.Sprint(need)] = true
		}
	}
	for _, need := range slices.Concat(operator.Permissions(), operator.CertificatePermissions(theSecret), operator.InjectionPermissions(nil), operator.StatefulClusterPermissions()) {
		if !covered[fmt.Sprint(need)] || need.Why == "" || len(need.Verbs) == 0 {
			t.Errorf("%+v is in no manifest, or without a reason", need)
		}
	}
}

func (m manifest) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n# Generated from the permissions that the code declares; make generate updates it.\n", m.what)
	fmt.Fprintf(&b, "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n%srules:\n", m.kind, m.metadata())
	for _, need := range m.granted() {
		b.WriteString(rule(need))
	}
	if m.bound() {
		b.WriteString(m.binding())
	}
	return b.String()
}

// bound reports whether the manifest binds the role. A release of rollout-operator chooses the
// name of its service account.
func (m manifest) bound() bool { return m.file != "overlays/rollout-operator-role/role.yaml" }

// binding returns the binding of the role to lockstep.
func (m manifest) binding() string {
	return fmt.Sprintf("---\napiVersion: rbac.authorization.k8s.io/v1\nkind: %sBinding\nmetadata:\n%s", m.kind, m.metadata()) +
		fmt.Sprintf("roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: %s\n  name: %s\n", m.kind, m.name) +
		"subjects:\n  - kind: ServiceAccount\n    name: lockstep\n    namespace: lockstep-system\n"
}

// Users grant permissions for kinds that they choose: an aggregated ClusterRole combines all
// roles with a label of lockstep. Its manifest contains no rules, so that applying it again
// removes none.
func TestTheRoleForReferencesSumsUpOthers(t *testing.T) {
	const file = "../../manifests/rbac/references.yaml"
	m := manifest{kind: "ClusterRole", name: "lockstep-references"}
	text := "# What lockstep may do with resources that zones mirror, besides ReplicaTemplates: what every\n" +
		"# ClusterRole grants that has this label (docs/scaling.md).\n" +
		"# Generated from the permissions that the code declares; make generate updates it.\n" +
		"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n" + m.metadata() +
		"aggregationRule:\n  clusterRoleSelectors:\n    - matchLabels:\n        " + contract.ReferencesLabel + ": \"true\"\n" + m.binding()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	committed, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(committed)); diff != "" {
		t.Errorf("%s is out of date, run make generate (-want +got):\n%s", file, diff)
	}
}

func (m manifest) metadata() string {
	text := "  name: " + m.name + "\n"
	if m.namespace != "" {
		text += "  namespace: " + m.namespace + "\n"
	}
	return text
}

func (m manifest) granted() []permission.Need {
	return slices.DeleteFunc(slices.Clone(m.needs), func(need permission.Need) bool { return !slices.Contains(m.scopes, need.Scope) })
}

func rule(need permission.Need) string {
	text := fmt.Sprintf("  # %s\n  - apiGroups: [%q]\n    resources: [%q]\n", need.Why, need.APIGroup, need.Resource)
	if need.Name != "" {
		text += fmt.Sprintf("    resourceNames: [%q]\n", need.Name)
	}
	return text + fmt.Sprintf("    verbs: [%s]\n", `"`+strings.Join(need.Verbs, `", "`)+`"`)
}
