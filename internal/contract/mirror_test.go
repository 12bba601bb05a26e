package contract_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// mirrored returns annotations with a name and a kind. It adds more, whose keys are the ends of annotation
// names.
func mirrored(more map[string]string) map[string]string {
	annotations := map[string]string{contract.MirrorNameAnnotation: "web", contract.MirrorKindAnnotation: "ReplicaTemplate"}
	for end, value := range more {
		annotations["grafana.com/rollout-mirror-replicas-from-resource-"+end] = value
	}
	return annotations
}

func TestMirror(t *testing.T) {
	const apiGroup = "rollout-operator.grafana.com"
	of := func(apiGroup string, writeBack bool) group.Mirror {
		return group.Mirror{Reference: group.Reference{APIGroup: apiGroup, Kind: "ReplicaTemplate", Name: "web"}, WriteBack: writeBack}
	}
	for name, tc := range map[string]struct {
		more map[string]string
		want group.Mirror
	}{
		"group and version":                                   {map[string]string{"api-version": apiGroup + "/v1"}, of(apiGroup, true)},
		"the version does not matter":                         {map[string]string{"api-version": apiGroup + "/"}, of(apiGroup, true)},
		"a version may be any label":                          {map[string]string{"api-version": apiGroup + "/stable-1"}, of(apiGroup, true)},
		"without a version it is of the core":                 {nil, of("", false)},
		"a version alone is of the core":                      {map[string]string{"api-version": "v1"}, of("", false)},
		"an empty group is the core group":                    {map[string]string{"api-version": "/v1"}, of("", false)},
		"written back if requested":                           {map[string]string{"api-version": apiGroup + "/v1", "write-back": "T"}, of(apiGroup, true)},
		"not written back if so requested":                    {map[string]string{"api-version": apiGroup + "/v1", "write-back": "0"}, of(apiGroup, false)},
		"an invalid boolean is not true":                      {map[string]string{"api-version": apiGroup + "/v1", "write-back": "yes"}, of(apiGroup, false)},
		"Kubernetes' own kinds are recognized by their names": {map[string]string{"api-version": "apps/v1", "write-back": "true"}, of("apps", false)},
		"as are those of its other groups":                    {map[string]string{"api-version": "storage.k8s.io/v1"}, of("storage.k8s.io", false)},
		"a project next to Kubernetes has words":              {map[string]string{"api-version": "leaderworkerset.x-k8s.io/v1"}, of("leaderworkerset.x-k8s.io", true)},
		"neither name nor kind":                               {map[string]string{"name": "", "kind": "", "api-version": "a/b/c"}, group.Mirror{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, contract.Mirror(mirrored(tc.more))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if got := contract.Mirror(nil); got.Configured() {
		t.Errorf("without annotations: got %+v", got)
	}
}

func TestTheErrorOfAnUnusableReferenceNamesTheCauseAndAcceptedValues(t *testing.T) {
	const (
		annotation = "annotation grafana.com/rollout-mirror-replicas-from-resource-"
		ofName     = ": must be the name of an object, such as web"
		ofKind     = ": must be a kind, such as ReplicaTemplate"
		ofVersion  = ": must be an API version, such as rollout-operator.grafana.com/v1"
	)
	for name, tc := range map[string]struct {
		more map[string]string
		want string
	}{
		"no name":                     {map[string]string{"name": ""}, annotation + "name is missing or empty" + ofName},
		"no kind":                     {map[string]string{"kind": ""}, annotation + "kind is missing or empty" + ofKind},
		"a name with a path":          {map[string]string{"name": "../nodes"}, annotation + `name is "../nodes", which is not a name of an object` + ofName},
		"a name with a parent folder": {map[string]string{"name": ".."}, annotation + `name is "..", which is not a name of an object` + ofName},
		"a name with a query":         {map[string]string{"name": "a?b"}, annotation + `name is "a?b", which is not a name of an object` + ofName},
		"an encoded name":             {map[string]string{"name": "a%2fb"}, annotation + `name is "a%2fb", which is not a name of an object` + ofName},
		"a name that is too long":     {map[string]string{"name": strings.Repeat("a", 254)}, annotation + `name is "` + strings.Repeat("a", 39) + `..., which is not a name of an object` + ofName},
		"a kind with a space":         {map[string]string{"kind": "Replica Template"}, annotation + `kind is "Replica Template", which is not a kind` + ofKind},
		"a kind that is too long":     {map[string]string{"kind": strings.Repeat("K", 64)}, annotation + `kind is "` + strings.Repeat("K", 39) + `..., which is not a kind` + ofKind},
		"two slashes":                 {map[string]string{"api-version": "a/b/c"}, annotation + `api-version is "a/b/c", which is not a group and version` + ofVersion},
		"a group without version":     {map[string]string{"api-version": "grafana.com"}, annotation + `api-version is "grafana.com", which is not a group and version` + ofVersion},
		"a group with a path":         {map[string]string{"api-version": "../v1"}, annotation + `api-version is "../v1", which has no API group` + ofVersion},
		"a group in capitals":         {map[string]string{"api-version": "Grafana.com/v1"}, annotation + `api-version is "Grafana.com/v1", which has no API group` + ofVersion},
		"a version with a path":       {map[string]string{"api-version": "grafana.com/.."}, annotation + `api-version is "grafana.com/..", which has no version` + ofVersion},
		"too long a version":          {map[string]string{"api-version": "a.b/" + strings.Repeat("v", 64)}, annotation + `api-version is "a.b/` + strings.Repeat("v", 35) + `..., which has no version` + ofVersion},
		"several": {
			map[string]string{"name": "", "kind": "\n", "api-version": "a b/v1"},
			annotation + "name is missing or empty" + ofName + "; " + annotation + `kind is "\n", which is not a kind` + ofKind + "; " +
				annotation + `api-version is "a b/v1", which has no API group` + ofVersion,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(group.Mirror{Invalid: tc.want}, contract.Mirror(mirrored(tc.more))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Whatever a tenant writes, it is either used in a path unchanged, or rejected with a printable message of
// limited length.
func TestNoReferenceEscapesItsPathSegment(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-zA-Z./%:\-]{0,10}`))
		m := contract.Mirror(mirrored(map[string]string{
			"name": text.Draw(t, "name"), "kind": text.Draw(t, "kind"), "api-version": text.Draw(t, "api-version"),
		}))
		if m.Invalid != "" && m.Reference != (group.Reference{}) {
			t.Fatalf("invalid, and yet %+v", m)
		}
		if len(m.Invalid) > 700 || strings.ContainsFunc(m.Invalid, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Fatalf("not fit to be shown: %q", m.Invalid)
		}
		for _, part := range []string{m.Reference.APIGroup, m.Reference.Kind, m.Reference.Name} {
			if part == "." || strings.Contains(part, "..") || strings.ContainsAny(part, "/%?# ") {
				t.Fatalf("%q would be part of a path", part)
			}
		}
	})
}
