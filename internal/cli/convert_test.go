package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// converts runs kubectl lockstep convert stc for a text on the standard input.
func converts(t *testing.T, text string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), []string{"convert", "stc", "-f", "-"}, Streams{In: strings.NewReader(text), Out: &stdout, Err: &stderr}, "v1")
	return code, stdout.String(), stderr.String()
}

const convertedSet = `apiVersion: lockstep.dev/v1alpha1
kind: StatefulCluster
metadata:
  annotations:
    lockstep.dev/adopt: "true"
    team: storage
  labels:
    app: db
  name: db
  namespace: mimir
spec:
  persistentVolumeClaimRetentionPolicy:
    whenScaled: Delete
  replicas: 3
  selector:
    matchLabels:
      app: db
  serviceName: db
  template:
    metadata:
      labels:
        app: db
    spec:
      containers:
      - args:
        - |-
          a
          b
        name: db
      futureField: 9007199254740993
  updateStrategy:
    rollingUpdate:
      partition: 100%
  volumeClaimTemplates:
  - metadata:
      name: data
    spec:
      accessModes:
      - ReadWriteOnce
`

func TestAStatefulSetIsConverted(t *testing.T) {
	code, out, errs := converts(t, `{"apiVersion": "v1", "kind": "List", "items": [{
		"apiVersion": "apps/v1", "kind": "StatefulSet",
		"metadata": {"name": "db", "namespace": "mimir", "uid": "u", "resourceVersion": "7", "labels": {"app": "db", "rollout-group": "dbs"},
			"annotations": {"team": "storage", "kubectl.kubernetes.io/last-applied-configuration": "{}"}},
		"spec": {"replicas": 3, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}}, "podManagementPolicy": "OrderedReady",
			"ordinals": {"start": 5}, "later": true, "updateStrategy": {"rollingUpdate": {"partition": 2147483647}},
			"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"},
			"template": {"metadata": {"creationTimestamp": null, "labels": {"app": "db"}},
				"spec": {"futureField": 9007199254740993, "containers": [{"name": "db", "args": ["a\nb"]}]}},
			"volumeClaimTemplates": [{"kind": "PersistentVolumeClaim", "metadata": {"name": "data", "creationTimestamp": null},
				"spec": {"accessModes": ["ReadWriteOnce"]}, "status": {"phase": "Pending"}}]},
		"status": {"replicas": 3}
	}, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "db"}}]}`)
	if code != exitOK || out != convertedSet {
		t.Errorf("exit code %d, got\n%s\nwant\n%s", code, out, convertedSet)
	}
	for _, remark := range []string{
		"StatefulSet db: spec.ordinals is left out", "StatefulSet db: podManagementPolicy OrderedReady is left out", "StatefulSet db: spec.later is left out",
		"StatefulSet db: label rollout-group is left out", "Service db is left out",
	} {
		if !strings.Contains(errs, remark) {
			t.Errorf("nothing says %q:\n%s", remark, errs)
		}
	}
}

// A file has several documents. What this version does not know of an original stays.
func TestAnOriginalIsConverted(t *testing.T) {
	const original = "apiVersion: enge.me/v1alpha1\nkind: StatefulCluster\nmetadata:\n  name: notes\nspec:\n  replicas: 2\n  serviceName: \"\"\n  updateStrategy: {}\n  later: true\n"
	code, out, errs := converts(t, "---\n"+original+"---\n# nothing\n---\n"+strings.Replace(original, "notes", "more", 1))
	want := strings.ReplaceAll(`apiVersion: lockstep.dev/v1alpha1
kind: StatefulCluster
metadata:
  annotations:
    lockstep.dev/adopt: "true"
  name: NAME
spec:
  later: true
  replicas: 2
  serviceName: ""
  updateStrategy: {}
`, "NAME", "notes")
	if want += "---\n" + strings.ReplaceAll(want, "notes", "more"); code != exitOK || out != want || errs != "" {
		t.Errorf("exit code %d, got\n%s%s\nwant\n%s", code, out, errs, want)
	}
}

func TestWhatIsNotConverted(t *testing.T) {
	const set = `{"apiVersion": "apps/v1", "kind": "StatefulSet", `
	for _, tc := range []struct{ name, text, want string }{
		{"an empty file", "", "- has no StatefulSet"},
		{"another kind", `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db"}}`, "Pod db is left out"},
		{"one of lockstep", `{"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "metadata": {"name": "db"}}`, "StatefulCluster db is left out"},
		{"no object", `[1]`, "a document is no object"},
		{"no YAML", "a: b: c", "error: read -: "},
		{"items that are no objects", `{"items": [1]}`, "an item of the List is no object"},
		{"no name", set + `"metadata": [], "spec": {"replicas": 1}}`, "it has no metadata.name"},
		{"no specification", set + `"metadata": {"name": "db"}}`, "it has no spec"},
		{"a long name", set + `"metadata": {"name": "` + strings.Repeat("a", 47) + `"}, "spec": {"replicas": 1}}`, "its name has 47 characters"},
		{"fields of wrong types", set + `"metadata": {"name": "db"}, "spec": {"template": 1, "volumeClaimTemplates": 2, "updateStrategy": 3}}`, ""},
		{"a name that is no name", set + `"metadata": {"name": "a\u001b[31m"}}`, `a\x1b[31m`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, out, errs := converts(t, tc.text)
			if refused := code != exitOK; refused != (tc.want != "") || refused != (out == "") || !strings.Contains(errs, tc.want) {
				t.Errorf("exit code %d, got %s%s, want %q", code, out, errs, tc.want)
			}
		})
	}
}

func TestConvertReadsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db.yaml")
	if err := os.WriteFile(file, []byte("apiVersion: apps/v1\nkind: StatefulSet\nmetadata:\n  name: db\nspec:\n  podManagementPolicy: Parallel\n  replicas: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := Run(t.Context(), []string{"convert", "statefulcluster", "-f", file}, Streams{Out: &out, Err: &errs}, "v1"); code != exitOK || !strings.Contains(out.String(), "name: db") || errs.Len() > 0 {
		t.Errorf("exit code %d, got %s%s", code, &out, &errs)
	}
	for _, args := range [][]string{{"convert", "stc"}, {"convert", "-f", file}, {"convert", "sts", "-f", file}, {"convert", "stc", "-f", file + "x"}} {
		if code := Run(t.Context(), args, Streams{Out: &out, Err: &errs}, "v1"); code != exitFailed {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}
