package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// mirrored makes a zone take over the replicas of a template, whose kind discovery shows.
func (s *scene) mirrored(zone string) {
	const group, version = "rollout-operator.grafana.com", "rollout-operator.grafana.com/v1"
	set := s.server.get(zonePath + zone)
	merge(set, object{"metadata": object{"annotations": object{
		contract.MirrorNameAnnotation: "web", contract.MirrorKindAnnotation: "ReplicaTemplate", contract.MirrorAPIVersionAnnotation: version,
	}}})
	s.server.put(zonePath+zone, set)
	preferred := metav1.GroupVersionForDiscovery{GroupVersion: version, Version: "v1"}
	s.server.put("/apis/"+group, metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: group, Versions: []metav1.GroupVersionForDiscovery{preferred}, PreferredVersion: preferred,
	})
	s.server.put("/apis/"+version, metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version, APIResources: []metav1.APIResource{
			{Name: "replicatemplates", Kind: "ReplicaTemplate", Namespaced: true, Verbs: metav1.Verbs{"get", "list", "watch"}},
			{Name: "replicatemplates/scale", Kind: "Scale", Group: "autoscaling", Version: "v1", Namespaced: true, Verbs: metav1.Verbs{"get"}},
		},
	})
}

// forbidding refuses requests whose path has this suffix or contains it.
func forbidding(part string) func(*http.Request) *http.Response {
	return func(r *http.Request) *http.Response {
		if strings.Contains(r.URL.Path, part) {
			return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
		}
		return nil
	}
}

func TestResourceThatTheUserCannotReadIsNoWait(t *testing.T) {
	for part, named := range map[string]string{
		"/apis/rollout-operator.grafana.com": "you may not read ReplicaTemplate.rollout-operator.grafana.com web: discovery",
		"replicatemplates":                   "you may not read ReplicaTemplate.rollout-operator.grafana.com web: list and watch replicatemplates",
	} {
		for line, want := range map[string]string{
			"status":            "team/calm Settled",
			"status calm":       "team/calm Settled",
			"why calm":          "Nothing waits",
			"plan calm":         "nothing, as far as your permissions show",
			"why zone-x-0":      "",
			"plan calm -o json": "",
		} {
			t.Run(line+" "+part, func(t *testing.T) {
				inScene(t, []string{settled}, func(s *scene) {
					s.mirrored("zone-x")
					s.server.refuse = forbidding(part)
					out := s.ends(exitOK, strings.Fields(line)...)
					if strings.Contains(out, "lockstep may not") || strings.Contains(out, "ReferenceForbidden") || strings.Contains(out, "needs a person") {
						s.Errorf("it blames the operator:\n%s", out)
					}
					if !strings.Contains(out, want) || !strings.Contains(out, named) && !strings.Contains(line, "zone-x-0") {
						s.Errorf("it contains neither %q nor %q:\n%s", want, named, out)
					}
				})
			})
		}
	}
}

func TestResourceThatTheUserCannotReadIsNoWaitInJSON(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		s.mirrored("zone-x")
		s.server.refuse = forbidding("replicatemplates")
		var why struct {
			Waits, Remarks []struct {
				Zone, Code  string
				NeedsPerson bool
			}
		}
		if err := json.Unmarshal([]byte(s.ends(exitOK, "why", "calm", "-o", "json")), &why); err != nil {
			s.Fatal(err)
		}
		if last := len(why.Remarks) - 1; len(why.Waits) > 0 || last < 0 || why.Remarks[last].Code != "ReferenceNotRead" || why.Remarks[last].NeedsPerson {
			s.Errorf("got %+v", why)
		}
	})
}
