package render_test

import (
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/render"
)

// rendered is a pod of a template, as a dry run returns it.
const rendered = `{"metadata": {"name": "db-0123456789abcdef", "labels": {"app": "db", "lockstep.dev/statefulcluster": "db",
	"lockstep.dev/instance-id": "0123456789abcdef", "controller-revision-hash": "db-1"}},
	"spec": {"hostname": "db-0123456789abcdef", "subdomain": "db", "tolerations": [{"key": "node.kubernetes.io/not-ready"}],
	"schedulingGates": [{"name": "lockstep.dev/claims"}],
	"containers": [{"name": "db", "image": "db:1", "args": ["a", "b"], "env": [{"name": "A", "value": "1"}]}],
	"volumes": [{"name": "kube-api-access-x2x4z"}, {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}},
		{"name": "data", "persistentVolumeClaim": {"claimName": "db-data-0123456789abcdef"}}]}}`

// running is the pod of a StatefulSet with the same template, to which admission has added a container and a label.
const running = `{"metadata": {"name": "db-0", "labels": {"app": "db", "controller-revision-hash": "db-5d4f", "added": "x"}},
	"spec": {"hostname": "db-0", "subdomain": "db", "nodeName": "n", "tolerations": [{"key": "node.kubernetes.io/not-ready", "tolerationSeconds": 300}],
	"containers": [{"name": "added", "image": "added:1"}, {"name": "db", "image": "db:1", "args": ["a", "b"], "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]}],
	"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}, {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}},
		{"name": "kube-api-access-b7b8b"}]}, "status": {"phase": "Running"}}`

func TestAPodIncludesEverythingOfARenderedOne(t *testing.T) {
	for sentence, tc := range map[string]struct {
		from, to string // of the text of the running pod
		want     bool
	}{
		"with more that admission has added": {"", "", true},
		"without the image":                  {`"db:1"`, `"db:0"`, false},
		"without a label":                    {`"app": "db"`, `"app": "other"`, false},
		"without a variable":                 {`{"name": "A", "value": "1"}`, `{"name": "A", "value": "0"}`, false},
		"with arguments in another order":    {`["a", "b"]`, `["b", "a"]`, false},
		"with one more argument":             {`["a", "b"]`, `["a", "b", "c"]`, false},
		"with another shared claim":          {`"claimName": "shared"`, `"claimName": "other"`, false},
		"without the volume of a claim":      {`{"name": "data"`, `{"name": "date"`, false},
		"with another subdomain":             {`"subdomain": "db"`, `"subdomain": "other"`, false},
		"with a list instead of an object":   {`"persistentVolumeClaim": {"claimName": "shared"}`, `"persistentVolumeClaim": []`, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			pod := running
			if tc.from != "" {
				pod = strings.ReplaceAll(running, tc.from, tc.to)
			}
			if got, err := render.Includes([]byte(pod), []byte(rendered)); err != nil || got != tc.want {
				t.Errorf("got %t, %v, want %t", got, err, tc.want)
			}
		})
	}
	for _, pair := range [][2]string{{"[", rendered}, {running, "["}} {
		if _, err := render.Includes([]byte(pair[0]), []byte(pair[1])); err == nil {
			t.Error("text that is no pod was compared")
		}
	}
}
