package observe

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

// WriterOfReplicas reads a StatefulSet from the API server and returns the field manager other
// than lockstep's that owns its spec.replicas. If there are several, it returns the last writer.
// It returns "" if there is none, or if the StatefulSet does not have that UID any more. Caches
// do not keep field managers.
func (o *Observer) WriterOfReplicas(ctx context.Context, namespace, name, uid string) (string, error) {
	sets, err := o.client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{ // the ClusterRole permits list
		FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(),
	})
	if err != nil {
		return "", fmt.Errorf("read the field managers of StatefulSet %s/%s: %w", namespace, name, err)
	}
	for i := range sets.Items {
		if string(sets.Items[i].UID) == uid {
			return writerOfReplicas(sets.Items[i].ManagedFields), nil
		}
	}
	return "", nil
}

func writerOfReplicas(entries []metav1.ManagedFieldsEntry) string {
	var writer string
	var last time.Time
	for _, entry := range entries {
		if entry.Manager == contract.FieldManager || !ownsReplicas(entry) {
			continue
		}
		var at time.Time
		if entry.Time != nil {
			at = entry.Time.Time
		}
		if writer == "" || at.After(last) {
			writer, last = entry.Manager, at
		}
	}
	return writer
}

func ownsReplicas(entry metav1.ManagedFieldsEntry) bool {
	if entry.FieldsV1 == nil {
		return false
	}
	var owned struct {
		Spec struct {
			Replicas *struct{} `json:"f:replicas"`
		} `json:"f:spec"`
	}
	return json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) == nil && owned.Spec.Replicas != nil
}
