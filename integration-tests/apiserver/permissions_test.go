package apiserver_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// manifests/rbac must grant exactly what lockstep needs. The tests compare it with the API server's
// audit log.

// inReserve lists grants that a run of the suites may not use.
var inReserve = map[string]string{
	"list namespaces":                 "an API server that streams lists is only watched; an older one receives list requests",
	"list leases.coordination.k8s.io": "the same",
	"list secrets":                    "the same",
	"list deployments.apps":           "the same",
	"list replicasets.apps":           "the same",
	"list customresourcedefinitions.apiextensions.k8s.io":               "the same",
	"list replicatemplates.rollout-operator.grafana.com":                "the same",
	"list zoneawarepoddisruptionbudgets.rollout-operator.grafana.com":   "the same",
	"list rolloutgroups.lockstep.dev":                                   "the same",
	"list validatingwebhookconfigurations.admissionregistration.k8s.io": "the same",
	"list mutatingwebhookconfigurations.admissionregistration.k8s.io":   "the same",
	"list controllerrevisions.apps":                                     "the same",
	"list statefulclusters.lockstep.dev":                                "the same, and for one that does not exist any more",
	"get controllerrevisions.apps":                                      "for a revision that another process creates at the same time, a moment that no test can choose",
	"get statefulsets.apps":                                             "for a StatefulSet that a replica has not seen yet, a moment that no test can choose",
	"get persistentvolumeclaims":                                        "for a claim that exists already although its pod is new, a moment that no test can choose",
	"get pods":                                                          "for a recorded pod that is no longer a pod of its group, which no test causes",
	"patch pods":                                                        "to cancel a pending delete that is no longer wanted, a moment that no test can choose",
}

// ofEverybody lists the grants of Kubernetes itself to every service account.
var ofEverybody = []string{"create selfsubjectaccessreviews.authorization.k8s.io"}

// judgePermissions returns requests of operators without a grant and, after a run of all tests,
// unused grants. TestMain calls it.
func judgePermissions(auditLog string) []string {
	grants, err := readGrants(rbacFolder)
	if err != nil {
		return []string{err.Error()}
	}
	requestKinds, err := readRequestKinds(auditLog)
	if err != nil {
		return []string{err.Error()}
	}
	wrong := beyond(grants, requestKinds)
	if !someTestsOnly() {
		wrong = append(wrong, unusedOf(grants, append(requestKinds, elsewhere...))...)
	}
	return wrong
}

// elsewhere is the list of requests of operators in a test's own cluster, which ended before
// TestMain judges.
var elsewhere []requestKind

// permissionsAreGranted judges the operators in a cluster of the test's own.
func permissionsAreGranted(t *testing.T, auditLog string) {
	t.Helper()
	grants, err := readGrants(rbacFolder)
	if err != nil {
		t.Fatal(err)
	}
	if elsewhere, err = readRequestKinds(auditLog); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range beyond(grants, elsewhere) {
		t.Error(wrong)
	}
}

func someTestsOnly() bool {
	for _, name := range []string{"test.run", "test.skip", "test.short"} {
		if f := flag.Lookup(name); f != nil && f.Value.String() != f.DefValue {
			return true
		}
	}
	return false
}

const rbacFolder = repository + "/manifests/rbac"

// The files of manifests/rbac, and the subjects of their grants.
const (
	forTheCluster   = "cluster.yaml"         // operators for the cluster, in all namespaces
	forTheNamespace = "namespaced/role.yaml" // operators for one namespace, in that namespace
	forHome         = "home.yaml"            // both, in the operator's namespace

	forCertificates = "../webhooks/certificate/role.yaml" // operators that serve webhooks, in their namespace
	forInjection    = "../webhooks/inject.yaml"           // operators that inject a CA

	// Operators with the kind enabled, for the cluster and for one namespace.
	forStatefulClusters          = "../statefulcluster/role.yaml"
	forStatefulClustersNamespace = "../statefulcluster/namespaced/role.yaml"

	forDials = "../../integration-tests/apiserver/" + dialRights // operators for the cluster, by references.yaml
)

// A grant is one verb on one resource in a rule.
type grant struct {
	file string
	what string // verb and resource: patch statefulsets/status.apps
	name string // only this object; empty: all objects
}

func (g grant) String() string {
	return strings.TrimSpace(g.what+" "+g.name) + " (" + g.file + ")"
}

// A requestKind is a kind of request by an operator.
type requestKind struct {
	account         string // the namespace of its service account
	everywhere      bool   // it is an operator for the cluster
	namespace, name string
	what            string // verb and resource, as in a grant
}

func (d requestKind) String() string {
	return fmt.Sprintf("%s %s in %q, by the operator in %s", d.what, d.name, d.namespace, d.account)
}

func (g grant) covers(d requestKind) bool {
	if g.what != d.what || g.name != "" && g.name != d.name {
		return false
	}
	switch g.file {
	case forTheCluster, forDials, forStatefulClusters:
		return d.everywhere
	case forTheNamespace, forStatefulClustersNamespace:
		return !d.everywhere && d.account == d.namespace
	case forInjection:
		return d.namespace == ""
	}
	return d.account == d.namespace
}

// beyond returns each kind of request that no grant covers.
func beyond(grants []grant, requestKinds []requestKind) []string {
	var wrong []string
	for _, d := range requestKinds {
		covered := slices.ContainsFunc(grants, func(g grant) bool { return g.covers(d) })
		if !covered && !slices.Contains(ofEverybody, d.what) {
			wrong = append(wrong, "manifests/rbac does not grant: "+d.String())
		}
	}
	slices.Sort(wrong)
	return slices.Compact(wrong)
}

// unusedOf returns each grant that no request used and that is not in reserve.
func unusedOf(grants []grant, requestKinds []requestKind) []string {
	var wrong []string
	reserved := map[string]bool{}
	for _, g := range grants {
		reserved[g.what] = true
		used := slices.ContainsFunc(requestKinds, g.covers)
		if !used && inReserve[g.what] == "" {
			wrong = append(wrong, "manifests/rbac grants permissions that no test has used: "+g.String())
		}
	}
	for what := range inReserve {
		if !reserved[what] {
			wrong = append(wrong, "kept in reserve and granted nowhere: "+what)
		}
	}
	slices.Sort(wrong)
	return wrong
}

func readGrants(folder string) ([]grant, error) {
	var grants []grant
	for _, file := range []string{forTheCluster, forTheNamespace, forHome, forCertificates, forInjection, forStatefulClusters, forStatefulClustersNamespace, forDials} {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			return nil, fmt.Errorf("read roles: %w", err)
		}
		documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
		for {
			var role rbacv1.ClusterRole // also decodes a Role, and a binding, which has no rules
			err := documents.Decode(&role)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("read roles of %s: %w", file, err)
			}
			for _, rule := range role.Rules {
				grants = append(grants, grantsOf(file, rule)...)
			}
		}
	}
	return grants, nil
}

func grantsOf(file string, rule rbacv1.PolicyRule) []grant {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var grants []grant
	for _, verb := range rule.Verbs {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, name := range names {
					grants = append(grants, grant{file: file, what: verb + " " + inGroupOf(resource, group), name: name})
				}
			}
		}
	}
	return grants
}

func inGroupOf(resource, group string) string { return strings.TrimSuffix(resource+"."+group, ".") }

// readDeeds returns the kinds of requests of operators, each once.
func readRequestKinds(auditLog string) ([]requestKind, error) {
	file, err := os.Open(auditLog)
	if err != nil {
		return nil, fmt.Errorf("read audit log: %w", err)
	}
	defer file.Close()
	seen := map[requestKind]bool{}
	var requestKinds []requestKind
	lines := bufio.NewReaderSize(file, 1<<20)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return markEverywhere(requestKinds), nil // a last line without an end is still being written
		}
		if err != nil {
			return nil, fmt.Errorf("read audit log: %w", err)
		}
		d, isOne, err := readRequestKind(line)
		if err != nil {
			return nil, err
		}
		if isOne && !seen[d] {
			seen[d] = true
			requestKinds = append(requestKinds, d)
		}
	}
}

// markEverywhere marks the operators for the cluster. Only they watch namespaces.
func markEverywhere(requestKinds []requestKind) []requestKind {
	watchers := map[string]bool{}
	for _, d := range requestKinds {
		if d.what == "watch namespaces" {
			watchers[d.account] = true
		}
	}
	for i, d := range requestKinds {
		requestKinds[i].everywhere = watchers[d.account]
	}
	return requestKinds
}

func readRequestKind(line []byte) (requestKind, bool, error) {
	if !bytes.Contains(line, []byte(`:lockstep"`)) {
		return requestKind{}, false, nil
	}
	var event struct {
		Verb   string
		User   struct{ Username string }
		Object *struct{ Resource, Subresource, Namespace, Name, APIGroup string } `json:"objectRef"`
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return requestKind{}, false, fmt.Errorf("read audit log: %w", err)
	}
	account, isOperator := strings.CutSuffix(event.User.Username, ":lockstep")
	if !isOperator || event.Object == nil {
		return requestKind{}, false, nil
	}
	o := event.Object
	return requestKind{
		account:   strings.TrimPrefix(account, "system:serviceaccount:"),
		namespace: o.Namespace,
		name:      o.Name,
		what:      event.Verb + " " + inGroupOf(strings.TrimSuffix(o.Resource+"/"+o.Subresource, "/"), o.APIGroup),
	}, true, nil
}

func TestRequestedAndGrantedPermissionsAreCompared(t *testing.T) {
	grants := []grant{
		{forTheCluster, "delete pods", ""},
		{forTheCluster, "patch statefulsets/status.apps", ""},
		{forTheNamespace, "delete pods", ""},
		{forHome, "update leases.coordination.k8s.io", "lockstep-leader"},
	}
	wide := func(namespace, name, what string) requestKind {
		return requestKind{systemNamespace, true, namespace, name, what}
	}
	single := func(namespace, name, what string) requestKind {
		return requestKind{"mimir", false, namespace, name, what}
	}
	all := []requestKind{
		wide("team", "zone-a-0", "delete pods"),
		wide("team", "zone-a", "patch statefulsets/status.apps"),
		single("mimir", "zone-a-0", "delete pods"),
		wide(systemNamespace, "lockstep-leader", "update leases.coordination.k8s.io"),
		wide("", "", ofEverybody[0]),
	}
	for sentence, tc := range map[string]struct {
		requestKinds   []requestKind
		beyond, unused int
	}{
		"no missing and no unused permissions":                         {all, 0, 0},
		"a verb that is not granted is beyond":                         {append(all, wide("team", "zone-a-0", "update pods")), 1, 0},
		"a subresource is not its resource":                            {append(all, wide("team", "zone-a", "patch statefulsets.apps")), 1, 0},
		"another object than the named one is beyond":                  {append(all, wide(systemNamespace, "other", "update leases.coordination.k8s.io")), 1, 0},
		"home is nowhere else":                                         {append(all, wide("team", "lockstep-leader", "update leases.coordination.k8s.io")), 1, 0},
		"the operator of one namespace has no permissions in another":  {append(all, single("team", "zone-a-0", "delete pods")), 1, 0},
		"the operator of one namespace has no part in the ClusterRole": {append(all, single("mimir", "zone-a", "patch statefulsets/status.apps")), 1, 0},
		"an unused permission":                                         {all[1:], 0, 1},
		"a permission that only the other kind of operator used":       {slices.Delete(slices.Clone(all), 2, 3), 0, 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := beyond(grants, tc.requestKinds); len(got) != tc.beyond {
				t.Errorf("beyond are %q, want %d", got, tc.beyond)
			}
			unused := slices.DeleteFunc(unusedOf(grants, tc.requestKinds), func(s string) bool { return strings.HasPrefix(s, "kept in reserve") })
			if len(unused) != tc.unused {
				t.Errorf("unused are %q, want %d", unused, tc.unused)
			}
		})
	}
}

func TestRequestKindsAreReadFromTheAuditLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	text := `{"verb":"patch","user":{"username":"system:serviceaccount:mimir:lockstep"},"objectRef":{"resource":"statefulsets","subresource":"status","namespace":"mimir","name":"zone-a","apiGroup":"apps"}}
{"verb":"patch","user":{"username":"system:serviceaccount:mimir:lockstep"},"objectRef":{"resource":"statefulsets","subresource":"status","namespace":"mimir","name":"zone-a","apiGroup":"apps"}}
{"verb":"delete","user":{"username":"admin"},"impersonatedUser":{"username":"system:serviceaccount:lockstep-system:lockstep"},"objectRef":{"resource":"pods","namespace":"team","name":"x"}}
{"verb":"get","user":{"username":"system:serviceaccount:mimir:lockstep"},"requestURI":"/version"}
{"verb":"watch","user":{"username":"system:serviceaccount:wide:lockstep"},"objectRef":{"resource":"namespaces"}}
{"verb":"delete","user":{"username":"system:serviceaccount:mimir:lockstep"},"objectRef":{"reso`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := readRequestKinds(file)
	if err != nil {
		t.Fatal(err)
	}
	want := []requestKind{
		{"mimir", false, "mimir", "zone-a", "patch statefulsets/status.apps"},
		{"wide", true, "", "", "watch namespaces"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
