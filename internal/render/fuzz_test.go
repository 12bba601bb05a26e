package render_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/render"
)

// FuzzTemplates checks that no template causes a panic, and that a pod and a claim of one have the names, the owner and the labels
// that lockstep gives them, whatever the template says.
func FuzzTemplates(f *testing.F) {
	f.Add(`{"spec": {"containers": [{"name": "db", "image": "db:1"}]}}`, `{"metadata": {"name": "data"}, "spec": {}}`)
	f.Add(`{"metadata": {"labels": {"lockstep.dev/instance-id": "x"}, "name": "other", "ownerReferences": [{}]}, "spec": {"schedulingGates": null}}`, `{"metadata": {"labels": null}}`)
	f.Add(`{"metadata": [], "spec": {"volumes": {"name": 1}, "tolerations": [1, null, {}], "readinessGates": "x"}}`, `{"metadata": {"annotations": []}}`)
	f.Add(`null`, `[]`)
	f.Add(`{"spec": {}}`, `null`)
	f.Fuzz(func(t *testing.T, pod, claim string) {
		templates, err := render.Templates(json.RawMessage(pod), []json.RawMessage{json.RawMessage(claim)})
		if err != nil {
			return
		}
		first, err := render.Hash(templates)
		if again, errAgain := render.Hash(templates); first != again || (err == nil) != (errAgain == nil) {
			t.Errorf("the hashes %q and %q: %v, %v", first, again, err, errAgain)
		}
		key, object := plan.Key{Namespace: "team", Kind: plan.KindStatefulCluster, Name: "db"}, &pool.Object{UID: "u", Labels: map[string]string{"app": "db"}}
		const id = "0123456789abcdef"
		if rendered, err := render.Pod(key, object, render.Birth{ID: id, Revision: "db-1", Templates: templates}); err == nil {
			lawful(t, rendered, pool.PodName("db", id), contract.PoolLabel, contract.InstanceIDLabel, contract.RevisionLabel, "app")
			_, _ = render.Compare(rendered, rendered)
		}
		for _, template := range templates.Claims {
			if rendered, err := render.Claim(key, object, template, pool.CompletePod{ID: id}); err == nil {
				lawful(t, rendered, pool.ClaimName("db", template.Name, id), contract.PoolLabel, contract.InstanceIDLabel, contract.PoolUIDLabel)
			}
		}
	})
}

// lawful checks the metadata of an object that is about to be created.
func lawful(t *testing.T, rendered []byte, name string, labels ...string) {
	t.Helper()
	var created struct {
		Metadata struct {
			Name, Namespace string
			Labels          map[string]string
			OwnerReferences []struct{ UID string }
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(rendered))
	if err := decoder.Decode(&created); err != nil {
		if strings.Contains(err.Error(), "cannot unmarshal") {
			return // the API server refuses it
		}
		t.Fatalf("%s: %v", rendered, err)
	}
	m := created.Metadata
	if m.Name != name || m.Namespace != "team" {
		t.Errorf("%s/%s is created as %s", m.Namespace, m.Name, name)
	}
	for _, owner := range m.OwnerReferences {
		if owner.UID != "u" {
			t.Errorf("it belongs to %s", owner.UID)
		}
	}
	for _, key := range labels {
		if value := m.Labels[key]; value == "" || value == "x" {
			t.Errorf("its label %s is %q", key, value)
		}
	}
}

// A client may write anything into a ControllerRevision.
func TestTemplatesThatAreNoObjectsAreRefused(t *testing.T) {
	for _, text := range []string{`null`, `[]`, `"db"`, ``} {
		if _, err := render.Templates(json.RawMessage(text), nil); err == nil {
			t.Errorf("the pod template %s is accepted", text)
		}
		if _, err := render.Templates(json.RawMessage(`{}`), []json.RawMessage{json.RawMessage(text)}); err == nil {
			t.Errorf("the claim template %s is accepted", text)
		}
	}
}
