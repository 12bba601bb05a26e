package act_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	statefulcluster "github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/render"
)

// An object that is deleted without its pods, and applied again, finds its former revisions.
func TestARevisionOfAFormerObjectIsTakenOver(t *testing.T) {
	templates := statefulcluster.Templates{Pod: poolTemplates().Pod}
	hash, err := render.Hash(templates)
	if err != nil {
		t.Fatal(err)
	}
	content, err := render.Encode(templates)
	if err != nil {
		t.Fatal(err)
	}
	for sentence, tc := range map[string]struct {
		metadata map[string]any
		data     json.RawMessage
		last     string // the last request
	}{
		"it has the templates":      {map[string]any{}, content, "PATCH controllerrevisions/db-" + hash},
		"it has other templates":    {map[string]any{}, []byte(`{"spec": {"template": {"spec": {"hostname": "a"}}}}`), "POST controllerrevisions"},
		"it belongs to another one": {map[string]any{"ownerReferences": []any{map[string]any{"uid": "o"}}}, content, "POST controllerrevisions"},
		"it has not the label":      {map[string]any{"labels": nil}, content, "POST controllerrevisions"},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.Checks = &checks{}
			posts := 0
			r.refuses = func(what string) int32 {
				if what != "POST controllerrevisions" {
					return 0
				}
				if posts++; posts > 1 {
					return 0
				}
				return http.StatusPreconditionFailed // the first name is taken
			}
			r.answers = func(what string) any {
				if !strings.HasPrefix(what, "GET controllerrevisions") {
					return nil
				}
				metadata := map[string]any{"name": "db-" + hash, "uid": "r", "resourceVersion": "9", "labels": map[string]any{"lockstep.dev/statefulcluster": "db"}}
				maps.Copy(metadata, tc.metadata)
				return map[string]any{"kind": "ControllerRevision", "apiVersion": "apps/v1", "metadata": metadata, "data": tc.data}
			}
			s := testPool()
			s.Object.Templates = templates
			if _, err := r.Run(t.Context(), s, []plan.Action{statefulcluster.RecordRevision{Pool: "db", Hash: hash, Number: 2}}, hold.Decision{}); err != nil {
				t.Fatal(err)
			}
			said := r.said()
			if got := said[len(said)-1]; got != tc.last {
				t.Fatalf("the requests are %q, the last one should be %s", said, tc.last)
			}
			const body = `{"metadata":{"ownerReferences":[{"apiVersion":"lockstep.dev/v1alpha1","kind":"StatefulCluster","name":"db","uid":"u","controller":true}],"resourceVersion":"9","uid":"r"},"revision":2}`
			if last := r.bodies[len(r.bodies)-1]; strings.HasPrefix(tc.last, "PATCH") && last != body {
				t.Errorf("sent %s, want %s", last, body)
			}
		})
	}
}

// If each new pod is released as soon as it exists, another one is created all the time. Without its scheduling gate, it seems that its
// claims were deleted.
func TestATemplateWhosePodsLoseWhatLockstepNeedsIsRefused(t *testing.T) {
	type texts = map[string]string
	const id = "0123456789abcdef"
	for label, want := range map[string]*checks{
		"db":       {},
		"other":    {refused: []string{"abc: something changes the labels of new pods, so that spec.selector does not match them" + correctIt}},
		"nameless": {refused: []string{"abc: something changes the label lockstep.dev/statefulcluster of new pods" + correctIt}},
		"another":  {refused: []string{"abc: something changes the label lockstep.dev/instance-id of new pods" + correctIt}},
		"old":      {refused: []string{"abc: something changes the label controller-revision-hash of new pods" + correctIt}},
		"ungated":  {refused: []string{"abc: something takes the scheduling gate lockstep.dev/claims off new pods" + correctIt}},
	} {
		labels := map[string]texts{
			"db":       {"app": "db", contract.PoolLabel: "db", contract.InstanceIDLabel: id},
			"other":    {"app": "other", contract.PoolLabel: "db", contract.InstanceIDLabel: id},
			"nameless": {"app": "db", contract.InstanceIDLabel: id},
			"another":  {"app": "db", contract.PoolLabel: "db", contract.InstanceIDLabel: "fedcba9876543210"},
			"old":      {"app": "db", contract.PoolLabel: "db", contract.InstanceIDLabel: id, contract.RevisionLabel: "old"},
			"ungated":  {"app": "db", contract.PoolLabel: "db", contract.InstanceIDLabel: id},
		}[label]
		if labels[contract.RevisionLabel] == "" {
			labels[contract.RevisionLabel] = "abc"
		}
		r, passedOn := newRoom(t), &checks{}
		r.Checks = passedOn
		r.answers = func(what string) any {
			if !strings.HasPrefix(what, "POST pods") {
				return nil
			}
			return map[string]any{"kind": "Pod", "apiVersion": "v1", "metadata": map[string]any{"labels": labels}, "spec": map[string]any{}}
		}
		s := testPool()
		s.Draw = func() statefulcluster.ID { return id }
		s.Object.Selector, s.Object.Templates = "app=db", statefulcluster.Templates{Pod: poolTemplates().Pod}
		if label == "ungated" {
			s.Object.Templates = poolTemplates()
		}
		if _, err := r.Run(t.Context(), s, []plan.Action{statefulcluster.RecordRevision{Pool: "db", Hash: "abc", Number: 2}}, hold.Decision{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, passedOn, cmp.AllowUnexported(checks{})); diff != "" {
			t.Errorf("label %s (-want +got):\n%s", label, diff)
		}
		if recorded := len(r.said()) == 2; recorded != (label == "db") {
			t.Errorf("label %s: the requests are %q", label, r.said())
		}
	}
}
