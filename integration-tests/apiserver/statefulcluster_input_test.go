package apiserver_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// dryRun are options for requests that store nothing.
var dryRun = []string{metav1.DryRunAll}

// tries creates a StatefulCluster by a dry run, with changes of its spec as JSON.
func (s *scene) tries(name, changes string) error {
	s.t.Helper()
	spec := map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "db"}},
		"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "db", "image": "db:1"}}}},
	}
	var changed map[string]any
	if err := json.Unmarshal([]byte(changes), &changed); err != nil {
		s.t.Fatal(err)
	}
	maps.Copy(spec, changed)
	_, err := s.resources(statefulClusters).Create(s.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lockstep.dev/v1alpha1", "kind": "StatefulCluster", "metadata": map[string]any{"name": name}, "spec": spec,
	}}, metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict})
	return err
}

// longest is the longest name of a StatefulCluster.
var longest = strings.Repeat("d", 46)

func TestStatefulClusterThatIsInvalidIsRefusedWithItsField(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	for sentence, tc := range map[string]struct {
		name, spec string
		want       string // part of the answer; empty: it is accepted
	}{
		"the smallest":                               {"db", `{}`, ""},
		"the longest name":                           {longest, `{}`, ""},
		"a longer name":                              {longest + "d", `{}`, "at most 46 characters"},
		"a name with a dot":                          {"d.b", `{}`, "DNS label"},
		"an empty selector":                          {"db", `{"selector": {}}`, "spec.selector.matchLabels must not be empty"},
		"a selector that asks for replacement":       {"db", `{"selector": {"matchLabels": {"app": "db", "lockstep.dev/specified-delete": "true"}}}`, "spec.selector.matchLabels must not have labels of lockstep.dev"},
		"an expression with a label of lockstep":     {"db", `{"selector": {"matchLabels": {"app": "db"}, "matchExpressions": [{"key": "lockstep.dev/retain-identity", "operator": "Exists"}]}}`, "spec.selector.matchExpressions must not have labels of lockstep.dev"},
		"no template":                                {"db", `{"template": null}`, "spec.template"},
		"no containers":                              {"db", `{"template": {"spec": {"containers": []}}}`, "spec.template.spec.containers"},
		"a container without an image":               {"db", `{"template": {"spec": {"containers": [{"name": "db"}]}}}`, "spec.template.spec.containers[0].image"},
		"another restart policy":                     {"db", `{"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "db", "image": "db:1"}]}}}`, "spec.template.spec.restartPolicy"},
		"negative replicas":                          {"db", `{"replicas": -1}`, "spec.replicas"},
		"too many replicas":                          {"db", `{"replicas": 10001}`, "spec.replicas"},
		"two claim templates of a name":              {"db", `{"volumeClaimTemplates": [{"metadata": {"name": "data"}}, {"metadata": {"name": "data"}}]}`, "names of claim templates must be unique"},
		"a claim template without name":              {"db", `{"volumeClaimTemplates": [{"metadata": {}}]}`, "a claim template needs metadata.name"},
		"seventeen claim templates":                  {"db", `{"volumeClaimTemplates": [` + strings.TrimSuffix(strings.Repeat(`{"metadata": {"name": "data"}},`, 17), ",") + `]}`, "must have at most 16 items"},
		"storage that is no quantity":                {"db", `{"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "much"}}}}]}`, "storage must be a quantity"},
		"storage as a number":                        {"db", `{"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": 1000}}}}]}`, ""},
		"a percentage without a sign":                {"db", `{"updateStrategy": {"rollingUpdate": {"maxUnavailable": "25"}}}`, "maxUnavailable must be a number or a percentage"},
		"nothing unavailable and no surge":           {"db", `{"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0}}}`, "maxUnavailable may be 0 only with podUpdatePolicy Recreate"},
		"nothing unavailable and a surge of nothing": {"db", `{"updateStrategy": {"rollingUpdate": {"maxUnavailable": "0%", "maxSurge": 0, "podUpdatePolicy": "Recreate"}}}`, "maxUnavailable may be 0 only with podUpdatePolicy Recreate"},
		"nothing unavailable and a surge":            {"db", `{"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": "10%", "podUpdatePolicy": "Recreate"}}}`, ""},
		"a surge that is too high":                   {"db", `{"updateStrategy": {"rollingUpdate": {"maxSurge": "200%"}}}`, "maxSurge must be a number or a percentage"},
		"a percentage that is too high":              {"db", `{"updateStrategy": {"rollingUpdate": {"partition": "101%"}}}`, "partition must be a number or a percentage"},
		"a percentage of nothing":                    {"db", `{"liveness": {"maxUnhealthy": "0%"}}`, "maxUnhealthy must be a number of at least 1 or a percentage"},
		"too many seconds":                           {"db", `{"minReadySeconds": 31536001}`, "spec.minReadySeconds"},
		"an unknown policy":                          {"db", `{"podManagementPolicy": "Sometimes"}`, "spec.podManagementPolicy"},
		"a field that does not exist":                {"db", `{"replicass": 3}`, `unknown field "spec.replicass"`},
		"ordinals":                                   {"db", `{"ordinals": {"start": 1}}`, "spec.ordinals has no meaning"},
		"a node and claims":                          {"db", `{"template": {"spec": {"nodeName": "n", "containers": [{"name": "db", "image": "db:1"}]}}, "volumeClaimTemplates": [{"metadata": {"name": "data"}}]}`, "excludes claim templates"},
		"a selector without labels":                  {"db", `{"selector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}`, "spec.selector: Invalid value"},
		"no selector":                                {"db", `{"selector": null}`, "spec.selector: Required value"},
		"no spec of the template":                    {"db", `{"template": {}}`, "spec.template.spec: Required value"},
		"a container without a name":                 {"db", `{"template": {"spec": {"containers": [{"image": "db:1"}]}}}`, "spec.template.spec.containers[0].name"},
		"sixty-five containers":                      {"db", `{"template": {"spec": {"containers": [` + strings.TrimSuffix(strings.Repeat(`{"name": "db", "image": "db:1"},`, 65), ",") + `]}}}`, "spec.template.spec.containers: Too many"},
		"a node without claims":                      {"db", `{"template": {"spec": {"nodeName": "n", "containers": [{"name": "db", "image": "db:1"}]}}}`, ""},
		"a claim template without metadata":          {"db", `{"volumeClaimTemplates": [{}]}`, "spec.volumeClaimTemplates[0].metadata: Required value"},
		"a claim template with an empty name":        {"db", `{"volumeClaimTemplates": [{"metadata": {"name": ""}}]}`, "spec.volumeClaimTemplates[0]: Invalid value"},
		"a Service with a long name":                 {"db", `{"serviceName": "` + strings.Repeat("d", 64) + `"}`, "spec.serviceName: Too long"},
		"a negative number of unavailable pods":      {"db", `{"updateStrategy": {"rollingUpdate": {"maxUnavailable": -1}}}`, "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value"},
		"too many unavailable pods":                  {"db", `{"updateStrategy": {"rollingUpdate": {"maxUnavailable": 10001}}}`, "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value"},
		"a negative surge":                           {"db", `{"updateStrategy": {"rollingUpdate": {"maxSurge": -1}}}`, "spec.updateStrategy.rollingUpdate.maxSurge: Invalid value"},
		"nothing unavailable without Recreate":       {"db", `{"updateStrategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}}}`, "spec.updateStrategy.rollingUpdate: Invalid value"},
		"a negative partition":                       {"db", `{"updateStrategy": {"rollingUpdate": {"partition": -1}}}`, "spec.updateStrategy.rollingUpdate.partition: Invalid value"},
		"a partition of all":                         {"db", `{"updateStrategy": {"rollingUpdate": {"partition": "100%"}}}`, ""},
		"a percentage with a zero in front":          {"db", `{"updateStrategy": {"rollingUpdate": {"partition": "05%"}}}`, "spec.updateStrategy.rollingUpdate.partition: Invalid value"},
		"no pod that may be unhealthy":               {"db", `{"liveness": {"maxUnhealthy": 0}}`, "spec.liveness.maxUnhealthy: Invalid value"},
		"an unhealthy percentage that is too high":   {"db", `{"liveness": {"maxUnhealthy": "101%"}}`, "spec.liveness.maxUnhealthy: Invalid value"},
		"a negative time":                            {"db", `{"liveness": {"nodeLostSeconds": -1}}`, "spec.liveness.nodeLostSeconds"},
		"a grace period that is too long":            {"db", `{"updateStrategy": {"rollingUpdate": {"inPlace": {"gracePeriodSeconds": 31536001}}}}`, "spec.updateStrategy.rollingUpdate.inPlace.gracePeriodSeconds"},
		"an age of nothing":                          {"db", `{"persistentVolumeClaimRetentionPolicy": {"retiredTTLSeconds": 0}}`, "spec.persistentVolumeClaimRetentionPolicy.retiredTTLSeconds"},
		"an unknown policy for claims":               {"db", `{"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Sometimes"}}`, "spec.persistentVolumeClaimRetentionPolicy.whenScaled"},
		"an unknown policy for identities":           {"db", `{"identityPolicy": {"onDelete": "Sometimes"}}`, "spec.identityPolicy.onDelete"},
		"an unknown policy for updates":              {"db", `{"updateStrategy": {"rollingUpdate": {"podUpdatePolicy": "Sometimes"}}}`, "spec.updateStrategy.rollingUpdate.podUpdatePolicy"},
		"a pod that is to be deleted twice":          {"db", `{"scaleStrategy": {"podsToDelete": ["db-0", "db-0"]}}`, "spec.scaleStrategy.podsToDelete[1]: Duplicate value"},
		"what Go writes of an empty object": {"db", `{"serviceName": "", "updateStrategy": {}, "template": {"metadata": {"creationTimestamp": null},
			"spec": {"containers": [{"name": "db", "image": "db:1", "resources": {}}]}},
			"volumeClaimTemplates": [{"metadata": {"name": "data", "creationTimestamp": null}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}, "status": {}}]}`, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if err := s.tries(tc.name, tc.spec); tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("the answer is %v, want %q", err, tc.want)
			}
		})
	}
}

func TestStatefulClusterIsNotChangedInWhatIsImmutable(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	p := s.createPool(0, map[string]any{"serviceName": "db"})
	data := func(storage string) string {
		return `{"spec": {"volumeClaimTemplates": [{"metadata": {"name": "logs"}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}},
			{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "` + storage + `"}}}}]}}`
	}
	for sentence, tc := range map[string]struct{ patch, want string }{
		"the selector":              {`{"spec": {"selector": {"matchLabels": {"app": "other"}}}}`, "spec.selector is immutable"},
		"the Service":               {`{"spec": {"serviceName": "other"}}`, "spec.serviceName is immutable"},
		"no Service":                {`{"spec": {"serviceName": null}}`, "spec.serviceName is immutable"},
		"less storage":              {data("1000Mi"), "must not shrink"},
		"as much in another form":   {data("1024Mi"), ""},
		"more storage":              {data("2Gi"), ""},
		"another name of a claim":   {strings.Replace(data("1Mi"), `"data"`, `"new"`, 1), ""},
		"another number of pods":    {`{"spec": {"replicas": 1}}`, ""},
		"an image of the container": {withContainer("db:2", ""), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := s.resources(statefulClusters).Patch(t.Context(), p.name, types.MergePatchType, []byte(tc.patch), metav1.PatchOptions{DryRun: dryRun})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("the answer is %v, want %q", err, tc.want)
			}
		})
	}
}

func TestStatefulClusterSaysWhetherItsServiceIsHeadless(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	s.withRoleForPools()
	p := s.createPool(1, map[string]any{"serviceName": "db"})
	says := func(status string) {
		t.Helper()
		p.eventually("the condition ServiceReady is "+status, func(present) error {
			o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
			if err == nil && conditionOf(o, "ServiceReady") != status {
				err = fmt.Errorf("it is %q", conditionOf(o, "ServiceReady"))
			}
			return err
		})
	}
	p.settles(1) // without the Service, too
	says("False")
	services := s.world.admin.CoreV1().Services(s.name)
	headless := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := services.Create(t.Context(), headless, createOptions); err != nil {
		t.Fatal(err)
	}
	p.updates(`{"spec": {"replicas": 2}}`)
	p.settles(2)
	says("True")
}
