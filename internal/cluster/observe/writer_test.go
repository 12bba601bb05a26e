package observe

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheWriterOfReplicasIsTheOtherOwnerThatWroteLast(t *testing.T) {
	const replicas, paused = `{"f:spec":{"f:replicas":{}}}`, `{"f:metadata":{"f:annotations":{"f:grafana.com/rollout-paused":{}}},"f:spec":{"f:template":{}}}`
	by := func(manager, fields string, minute int) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, FieldsV1: metav1.NewFieldsV1(fields), Time: new(metav1.NewTime(time.Unix(int64(60*minute), 0))),
		}
	}
	undated := by("undated", replicas, 0)
	undated.Time = nil
	for sentence, tc := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"no writer":                           {nil, ""},
		"lockstep alone":                      {[]metav1.ManagedFieldsEntry{by("lockstep", replicas, 1)}, ""},
		"a tool":                              {[]metav1.ManagedFieldsEntry{by("gitops", replicas, 1), by("lockstep", paused, 2)}, "gitops"},
		"a tool that shares it with lockstep": {[]metav1.ManagedFieldsEntry{by("lockstep", replicas, 3), by("gitops", replicas, 1)}, "gitops"},
		"a writer of other fields does not count":    {[]metav1.ManagedFieldsEntry{by("kubectl", paused, 2), by("gitops", replicas, 1)}, "gitops"},
		"the later of two writers":                   {[]metav1.ManagedFieldsEntry{by("gitops", replicas, 1), by("hpa", replicas, 2), by("helm", replicas, 1)}, "hpa"},
		"one without a time":                         {[]metav1.ManagedFieldsEntry{undated}, "undated"},
		"unreadable fields are ignored":              {[]metav1.ManagedFieldsEntry{by("odd", "[", 1), {Manager: "empty"}}, ""},
		"replicas outside of the fields are ignored": {[]metav1.ManagedFieldsEntry{by("odd", `{"f:spec":{"f:replicas":7}}`, 1)}, ""},
		"a scale subresource counts like this":       {[]metav1.ManagedFieldsEntry{{Manager: "kube-controller-manager", Subresource: "scale", FieldsV1: metav1.NewFieldsV1(replicas)}}, "kube-controller-manager"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := writerOfReplicas(tc.entries); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
