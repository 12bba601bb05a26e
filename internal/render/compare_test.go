package render_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/render"
)

// stored is a pod as the API server returns it.
const stored = `{"metadata": {"name": "db-a", "labels": {"app": "db", "controller-revision-hash": "1"}, "annotations": {"a": "1"}},
	"spec": {"containers": [
		{"name": "db", "image": "db:1", "env": [{"name": "TIER", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['tier']"}}}],
		 "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi", "example.com/gpu": "1"}}, "volumeMounts": [{"name": "kube-api-access-x2x4z"}]},
		{"name": "log", "image": "log:1"}],
	 "initContainers": [{"name": "init", "image": "init:1", "env": [
		{"name": "ROLE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['role']"}}}, {"name": "NOTE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['note']"}}}]}],
	 "volumes": [{"name": "kube-api-access-x2x4z"}]}, "status": {"phase": "Pending", "qosClass": "Burstable"}}`

func TestCompare(t *testing.T) {
	both := map[string]string{"db": "db:1", "log": "log:1"}
	for sentence, tc := range map[string]struct {
		from, to string // of the text that differs
		want     pool.Change
	}{
		"nothing": {`"app"`, `"app"`, pool.Change{Equal: true}},
		"the name of the revision and of the volume with the token": {`x2x4z`, `b7b8b`, pool.Change{Equal: true}},
		"an image":                                   {`db:1`, `db:2`, pool.Change{InPlace: true, Images: map[string]string{"db": "db:2"}}},
		"a label":                                    {`"app": "db"`, `"app": "db", "new": "x"`, pool.Change{InPlace: true, Labels: map[string]*string{"new": new("x")}}},
		"a label that a container reads":             {`"app": "db"`, `"app": "db", "tier": "x"`, pool.Change{Labels: map[string]*string{"tier": new("x")}}},
		"a label that an init container reads":       {`"app": "db"`, `"app": "db", "role": "x"`, pool.Change{Labels: map[string]*string{"role": new("x")}}},
		"an annotation that an init container reads": {`{"a": "1"}`, `{"a": "1", "note": "x"}`, pool.Change{Annotations: map[string]*string{"note": new("x")}}},
		"the image of an init container":             {`init:1`, `init:2`, pool.Change{}},
		"an annotation with the name of a label that a container reads": {
			`{"a": "1"}`, `{"a": "1", "tier": "x"}`, pool.Change{InPlace: true, Annotations: map[string]*string{"tier": new("x")}},
		},
		"an annotation that is removed":  {`{"a": "1"}`, `{}`, pool.Change{InPlace: true, Annotations: map[string]*string{"a": nil}}},
		"an annotation of another value": {`{"a": "1"}`, `{"a": "2"}`, pool.Change{InPlace: true, Annotations: map[string]*string{"a": new("2")}}},
		"a request to restart": {
			`{"a": "1"}`, `{"a": "1", "kubectl.kubernetes.io/restartedAt": "x"}`, pool.Change{Annotations: map[string]*string{"kubectl.kubernetes.io/restartedAt": new("x")}},
		},
		"resources":                            {`"cpu": "1"`, `"cpu": "2"`, pool.Change{InPlace: true, Resources: map[string]pool.Resources{"db": {CPURequest: "2", MemoryLimit: "1Gi"}}}},
		"resources that the container lacked":  {`"cpu": "1"`, `"cpu": "1", "memory": "1Gi"`, pool.Change{}},
		"resources that cannot be changed":     {`"example.com/gpu": "1"`, `"example.com/gpu": "2"`, pool.Change{}},
		"resources and the quality of service": {`"cpu": "1"`, `"cpu": "2"`, pool.Change{Resources: map[string]pool.Resources{"db": {CPURequest: "2", MemoryLimit: "1Gi"}}}},
		"another field of a container":         {`"image": "log:1"`, `"image": "log:1", "tty": true`, pool.Change{}},
		"another field of the pod":             {`"volumes"`, `"hostPID": true, "volumes"`, pool.Change{}},
		"the name of a container":              {`"name": "log"`, `"name": "logs"`, pool.Change{Images: map[string]string{"logs": "log:1"}}},
		"an image and another field":           {`"image": "log:1"`, `"image": "log:2", "tty": true`, pool.Change{Images: map[string]string{"log": "log:2"}}},
		"a container that is added":            {`{"name": "log", "image": "log:1"}`, `{"name": "log", "image": "log:1"}, {"name": "new", "image": "new:1"}`, pool.Change{Images: map[string]string{"new": "new:1"}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if strings.Contains(sentence, "quality of service") {
				tc.from, tc.to = stored, strings.NewReplacer(tc.from, tc.to, "Burstable", "Guaranteed").Replace(stored)
			}
			newest := strings.ReplaceAll(strings.ReplaceAll(stored, tc.from, tc.to), `"controller-revision-hash": "1"`, `"controller-revision-hash": "2"`)
			got, err := render.Compare([]byte(stored), []byte(newest))
			if err != nil {
				t.Fatal(err)
			}
			tc.want.From = both
			if diff := cmp.Diff(tc.want, emptied(got)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if _, err := render.Compare([]byte(`[`), []byte(stored)); err == nil {
		t.Error("a list was compared")
	}
}

// emptied returns a change without empty maps.
func emptied(c pool.Change) pool.Change {
	if len(c.Images) == 0 {
		c.Images = nil
	}
	if len(c.Resources) == 0 {
		c.Resources = nil
	}
	if len(c.Labels) == 0 {
		c.Labels = nil
	}
	if len(c.Annotations) == 0 {
		c.Annotations = nil
	}
	return c
}

func TestARevisionIsReadAsItWasWritten(t *testing.T) {
	templates := pool.Templates{Pod: []byte(`{"spec":{"big":12345678901234567890}}`), Claims: []pool.ClaimTemplate{
		{Name: "data", Template: []byte(`{"metadata":{"name":"data"},"spec":{"size":"1Gi"}}`)},
	}}
	text, err := render.Encode(templates)
	if err != nil {
		t.Fatal(err)
	}
	read, err := render.Decode(text)
	if diff := cmp.Diff(templates, read); err != nil || diff != "" {
		t.Errorf("error %v, -want +got:\n%s", err, diff)
	}
	for _, damaged := range []string{``, `[]`, `{"spec": {"volumeClaimTemplates": [1]}}`} {
		if _, err := render.Decode([]byte(damaged)); err == nil {
			t.Errorf("%q was read", damaged)
		}
	}
}

func TestTheHashOfATemplateDoesNotDependOnItsForm(t *testing.T) {
	hash := func(template string, claims ...string) string {
		t.Helper()
		of := pool.Templates{Pod: []byte(template)}
		for _, name := range claims {
			of.Claims = append(of.Claims, pool.ClaimTemplate{Name: name})
		}
		sum, err := render.Hash(of)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	first := hash(`{"metadata": {"creationTimestamp": null}, "spec": {"a": 1, "b": 2}}`, "data")
	for sentence, tc := range map[string]struct {
		hash string
		same bool
	}{
		"another order, and no time of creation":        {hash(`{"spec":{"b":2,"a":1}}`, "data"), true},
		"another value":                                 {hash(`{"spec":{"b":2,"a":3}}`, "data"), false},
		"another name of a claim":                       {hash(`{"spec":{"b":2,"a":1}}`, "logs"), false},
		"a large number that differs in its last digit": {hash(`{"spec":{"b":12345678901234567890}}`), hash(`{"spec":{"b":12345678901234567891}}`) == hash(`{"spec":{"b":12345678901234567890}}`)},
	} {
		if same := tc.hash == first; same != tc.same {
			t.Errorf("%s: the same %t, want %t", sentence, same, tc.same)
		}
	}
}
