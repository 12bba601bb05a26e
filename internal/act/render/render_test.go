package render_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/act/render"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

var key = plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}

const id = pool.ID("0123456789abcdef")

// object returns a StatefulCluster with a template and claim templates.
func object(template string, claims ...pool.ClaimTemplate) *pool.Object {
	return &pool.Object{UID: "u", Revision: "db-1", Template: []byte(template), Labels: map[string]string{"app": "db"}, ClaimTemplates: claims}
}

var data = pool.ClaimTemplate{Name: "data", Template: []byte(`{"metadata": {"name": "data", "creationTimestamp": null}, "spec": {"new": [1]}, "status": {}}`)}

func TestAPodIsItsTemplateWithAnIdentity(t *testing.T) {
	const tolerations = `[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}, {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}]`
	const metadata = `"metadata": {"name": "db-0123456789abcdef", "namespace": "team",
		"labels": {"app": "db", "lockstep.dev/statefulcluster": "db", "lockstep.dev/instance-id": "0123456789abcdef", "controller-revision-hash": "db-1"},
		"ownerReferences": [{"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "name": "db", "uid": "u", "controller": true}]}`
	for sentence, tc := range map[string]struct {
		object *pool.Object
		want   string
	}{
		"without claims it has no gate": {
			object(`{"spec": {"containers": [{"name": "c", "image": "i"}]}}`),
			`{"apiVersion": "v1", "kind": "Pod", ` + metadata + `,
			  "spec": {"containers": [{"name": "c", "image": "i"}], "hostname": "db-0123456789abcdef", "tolerations": ` + tolerations + `}}`,
		},
		"with claims it has a gate, and a volume for each": {
			object(`{"spec": {}}`, data),
			`{"apiVersion": "v1", "kind": "Pod", ` + metadata + `,
			  "spec": {"hostname": "db-0123456789abcdef", "tolerations": ` + tolerations + `, "schedulingGates": [{"name": "lockstep.dev/claims"}],
			    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "db-data-0123456789abcdef"}}]}}`,
		},
		"a claim template wins over a volume of its name, and other volumes stay": {
			object(`{"spec": {"volumes": [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]}}`, data),
			`{"apiVersion": "v1", "kind": "Pod", ` + metadata + `,
			  "spec": {"hostname": "db-0123456789abcdef", "tolerations": ` + tolerations + `, "schedulingGates": [{"name": "lockstep.dev/claims"}],
			    "volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "data", "persistentVolumeClaim": {"claimName": "db-data-0123456789abcdef"}}]}}`,
		},
		"a pod with a node has no gate, because the API server refuses both": {
			object(`{"spec": {"nodeName": "n"}}`, data),
			`{"apiVersion": "v1", "kind": "Pod", ` + metadata + `,
			  "spec": {"nodeName": "n", "hostname": "db-0123456789abcdef", "tolerations": ` + tolerations + `,
			    "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "db-data-0123456789abcdef"}}]}}`,
		},
		"its own gates, tolerations, host name and unknown fields stay": {
			object(`{"metadata": {"creationTimestamp": null}, "spec": {"hostname": "h", "future": {"a": 1}, "tolerations": [{"key": "node.kubernetes.io/not-ready", "tolerationSeconds": 5}, {"key": "node.kubernetes.io/unreachable"}]}}`),
			`{"apiVersion": "v1", "kind": "Pod", ` + metadata + `,
			  "spec": {"hostname": "h", "future": {"a": 1}, "tolerations": [{"key": "node.kubernetes.io/not-ready", "tolerationSeconds": 5}, {"key": "node.kubernetes.io/unreachable"}]}}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := render.Pod(key, tc.object, id)
			if err != nil {
				t.Fatal(err)
			}
			same(t, tc.want, got)
		})
	}
}

func TestAClaimIsItsTemplateWithAnIdentity(t *testing.T) {
	got, err := render.Claim(key, object(`{}`, data), data, id)
	if err != nil {
		t.Fatal(err)
	}
	same(t, `{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "db-data-0123456789abcdef", "namespace": "team",
		"labels": {"app": "db", "lockstep.dev/statefulcluster": "db", "lockstep.dev/instance-id": "0123456789abcdef", "lockstep.dev/claim": "data", "lockstep.dev/pool-uid": "u"}},
		"spec": {"new": [1]}}`, got)
}

func TestATemplateThatIsNoObjectIsAnError(t *testing.T) {
	if _, err := render.Pod(key, object(`[]`), id); err == nil {
		t.Error("a pod was made of a list")
	}
	if _, err := render.Claim(key, object(`{}`), pool.ClaimTemplate{Name: "data", Template: []byte(`1`)}, id); err == nil {
		t.Error("a claim was made of a number")
	}
}

// same compares two JSON texts.
func same(t *testing.T, want string, got []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal([]byte(want), &a); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
