package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// delayed is a group whose last pod has acknowledged a downscale with a delay of an hour.
const delayed = "zone-a rev=1\n zone-a-0 ready@1 ip=10.0.0.1 zone-a-1 ready@1 ip=10.0.0.2\nzone-b rev=1\n zone-b-0 ready@1\n"

// mirrors makes zone-a take over the replicas of a Deployment, which has one, with a delay of an
// hour.
func mirrors(s *scene) {
	s.server.put("/apis/apps", object{"kind": "APIGroup", "apiVersion": "v1", "name": "apps", "preferredVersion": object{"groupVersion": "apps/v1", "version": "v1"}})
	s.server.put("/apis/apps/v1", object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "apps/v1", "resources": []object{
		{"name": "deployments", "namespaced": true, "kind": "Deployment", "verbs": []string{"get", "list", "watch"}},
		{"name": "deployments/scale", "namespaced": true, "kind": "Scale", "verbs": []string{"get"}},
	}})
	const web = "/apis/apps/v1/namespaces/team/deployments/web"
	meta := object{"namespace": "team", "name": "web", "uid": "web", "resourceVersion": "5"}
	s.server.put(web, object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": meta})
	s.server.put(web+"/scale", object{"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": meta, "spec": object{"replicas": 1}})
	set := s.server.get(zonePath + "zone-a")
	about, _ := set["metadata"].(object)
	about["annotations"] = object{
		contract.MirrorNameAnnotation: "web", contract.MirrorKindAnnotation: "Deployment", contract.MirrorAPIVersionAnnotation: "apps/v1",
		contract.DelayAnnotation: "1h", contract.DelayURLAnnotation: "http://pod:8080/leave",
	}
	s.server.put(zonePath+"zone-a", set)
}

// acknowledges records in the hold that zone-a-1 acknowledged its removal.
func acknowledges(s *scene) {
	call := group.Call{Port: 8080, Path: "/leave", Service: "zone-a"}
	noted := map[string]group.DelayRecord{"zone-a": {Call: call, OrdinalRanges: []group.OrdinalRange{group.OrdinalRangeOf("zone-a-1", 1, time.Now().Add(-time.Minute))}}}
	s.server.put(leasePath+"lockstep-group-store", object{"kind": "Lease", "apiVersion": "coordination.k8s.io/v1", "metadata": object{
		"namespace": "team", "name": "lockstep-group-store", "labels": object{contract.HoldLabel: contract.HoldLabelOf(plan.KindGroup)},
		"annotations": object{contract.NameAnnotation(plan.KindGroup): "store", contract.AcknowledgedAnnotation: record.FormatAcknowledged(noted)},
	}})
}

// reportWait writes the wait of a zone, and its generation, into the RolloutGroup.
func reportWait(s *scene, zone, code string, generation int) {
	s.server.put("/apis/lockstep.dev/v1alpha1/namespaces/team/rolloutgroups/store", object{
		"kind": "RolloutGroup", "apiVersion": "lockstep.dev/v1alpha1", "metadata": object{"namespace": "team", "name": "store"}, "spec": object{"group": "store"},
		"status": object{
			"waiting": object{"reason": code, "zone": zone, "pod": "zone-a-1"},
			"zones":   []object{{"name": zone, "observedGeneration": generation, "reason": code, "replicas": 1, "updated": 1, "ready": 1, "done": 1, "down": 0, "budget": 1, "activity": "Blocked"}},
		},
	})
}

// waitsOf returns the waits in the output of why: zone, code and pod.
func waitsOf(s *scene) string {
	s.Helper()
	_, out, errs := s.types("why", "store", "-o", "json")
	var why struct {
		Waits []struct{ Zone, Code, Pod string }
	}
	if err := json.Unmarshal([]byte(out), &why); err != nil {
		s.Fatalf("%v: %s%s", err, out, errs)
	}
	var waits []string
	for _, w := range why.Waits {
		waits = append(waits, strings.TrimSpace(w.Zone+" "+w.Code+" "+w.Pod))
	}
	return strings.Join(waits, ", ")
}

func noDeployments(r *http.Request) *http.Response {
	if strings.Contains(r.URL.Path, "/deployments") {
		return apitest.Refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
	}
	return nil
}

func TestWhyShowsRecordedDelaysOfPods(t *testing.T) {
	inScene(t, []string{delayed}, func(s *scene) {
		mirrors(s)
		if got, want := waitsOf(s), "zone-a PodNotAcknowledged zone-a-1"; got != want {
			s.Errorf("no pod has acknowledged: %s, want %s", got, want)
		}
		acknowledges(s)
		if got, want := waitsOf(s), "zone-a DownscaleDelayed zone-a-1"; got != want {
			s.Errorf("zone-a-1 has agreed: %s, want %s", got, want)
		}
	})
}

func TestWhyShowsOperatorWaitsFromTheRolloutGroup(t *testing.T) {
	const forbidden = "zone-a ReferenceForbidden"
	for sentence, tc := range map[string]struct {
		code       string // the reason of zone-a's wait in the RolloutGroup
		generation int
		hidden     bool // the user may not read the Deployment
		want       string
	}{
		"its requests fail":                                   {code: "RequestForbidden", generation: 1, want: "zone-a RequestForbidden zone-a-1"},
		"another writer overwrites its replicas":              {code: "ReplicasContested", generation: 1, want: "zone-a ReplicasContested zone-a-1"},
		"it may not read the Deployment":                      {code: "ReferenceForbidden", generation: 1, want: forbidden + " zone-a-1"},
		"the user may not read the Deployment":                {code: "PodNotAcknowledged", generation: 1, hidden: true, want: "zone-a PodNotAcknowledged zone-a-1"},
		"the user may not read it, and there is no wait":      {code: "", generation: 1, hidden: true, want: ""},
		"a wait that the caches show is computed from them":   {code: "Paused", generation: 1, want: "zone-a PodNotAcknowledged zone-a-1"},
		"the status of another generation does not count":     {code: "RequestForbidden", generation: 7, want: "zone-a PodNotAcknowledged zone-a-1"},
		"nor does it if the user may not read the Deployment": {code: "Paused", generation: 7, hidden: true, want: ""},
		"an invalid code is not printed":                      {code: "\x1b[2J", generation: 1, hidden: true, want: ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			inScene(t, []string{delayed}, func(s *scene) {
				mirrors(s)
				reportWait(s, "zone-a", tc.code, tc.generation)
				if tc.hidden {
					s.server.refuse = noDeployments
				}
				if got := waitsOf(s); got != tc.want {
					s.Errorf("got %q, want %q", got, tc.want)
				}
			})
		})
	}
}

// The object may be outdated, from a time when the namespace was managed.
func TestRolloutGroupIsIgnoredInUnmanagedNamespaces(t *testing.T) {
	inScene(t, []string{delayed}, func(s *scene) {
		s.server.put("/api/v1/namespaces/team", object{"kind": "Namespace", "apiVersion": "v1", "metadata": object{"name": "team"}})
		mirrors(s)
		reportWait(s, "zone-a", "RequestForbidden", 1)
		if got, want := waitsOf(s), "zone-a PodNotAcknowledged zone-a-1"; got != want {
			s.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestWhyWorksWithoutARolloutGroup(t *testing.T) {
	inScene(t, []string{rolling}, func(s *scene) {
		seen := waitsOf(s)
		w := group.Describe(fixture.MustParse(rolling), group.Plan(fixture.MustParse(rolling))).Waits[0]
		if want := w.Zone + " " + string(w.Because.Code); !strings.HasPrefix(seen, want) {
			s.Errorf("got %q, want %q first", seen, want)
		}
	})
}
