package pools

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// spec is the part of a StatefulCluster that lockstep decodes. Templates stay as they are.
type spec struct {
	Replicas             *int                 `json:"replicas"`
	Selector             metav1.LabelSelector `json:"selector"`
	Template             json.RawMessage      `json:"template"`
	VolumeClaimTemplates []json.RawMessage    `json:"volumeClaimTemplates"`
	ServiceName          string               `json:"serviceName"`
	MinReadySeconds      int                  `json:"minReadySeconds"`
}

// objectOf converts a StatefulCluster.
func objectOf(u *unstructured.Unstructured) (pool.Object, error) {
	text, err := json.Marshal(u.Object["spec"])
	if err != nil {
		return pool.Object{}, fmt.Errorf("encode spec of StatefulCluster %s/%s: %w", u.GetNamespace(), u.GetName(), err)
	}
	var s spec
	if err := json.Unmarshal(text, &s); err != nil {
		return pool.Object{}, fmt.Errorf("read spec of StatefulCluster %s/%s: %w", u.GetNamespace(), u.GetName(), err)
	}
	version, _ := plan.ParseVersion(u.GetResourceVersion())
	o := pool.Object{
		UID: string(u.GetUID()), Version: version, Generation: u.GetGeneration(), Deleting: u.GetDeletionTimestamp() != nil,
		Replicas: 1, MinReady: time.Duration(s.MinReadySeconds) * time.Second,
		Template: s.Template, Labels: s.Selector.MatchLabels, Service: s.ServiceName,
	}
	if s.Replicas != nil {
		o.Replicas = *s.Replicas
	}
	hash := fnv.New32a()
	_, _ = hash.Write(s.Template) // a hash returns no error
	for _, template := range s.VolumeClaimTemplates {
		var named struct{ Metadata metav1.ObjectMeta }
		if err := json.Unmarshal(template, &named); err != nil {
			return pool.Object{}, fmt.Errorf("read claim template of StatefulCluster %s/%s: %w", u.GetNamespace(), u.GetName(), err)
		}
		_, _ = fmt.Fprintln(hash, named.Metadata.Name)
		o.ClaimTemplates = append(o.ClaimTemplates, pool.ClaimTemplate{Name: named.Metadata.Name, Template: template})
	}
	o.Revision = u.GetName() + "-" + rand.SafeEncodeString(strconv.FormatUint(uint64(hash.Sum32()), 10))
	return o, nil
}

// podOf converts a pod with the labels of a pool.
func podOf(p *corev1.Pod) pool.Pod {
	converted := pool.Pod{
		Pod: observe.PodOf(p, 0), ID: pool.ID(p.Labels[contract.InstanceIDLabel]),
		Scheduled: p.Spec.NodeName != "",
		Finished:  p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded,
	}
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		converted.Owner = string(owner.UID)
	}
	for _, gate := range p.Spec.SchedulingGates {
		converted.Gated = converted.Gated || gate.Name == contract.ClaimsGate
	}
	for i := range p.Status.ContainerStatuses {
		converted.Restarts += int(p.Status.ContainerStatuses[i].RestartCount)
	}
	converted.Cost, _ = strconv.Atoi(p.Annotations[contract.DeletionCostAnnotation]) // a cost that cannot be read is none
	return converted
}

// claimOf converts the metadata of a claim with the labels of a pool.
func claimOf(m *metav1.PartialObjectMetadata) pool.Claim {
	version, _ := plan.ParseVersion(m.ResourceVersion)
	return pool.Claim{
		Name: m.Name, UID: string(m.UID), Version: version, ID: pool.ID(m.Labels[contract.InstanceIDLabel]),
		Template: m.Labels[contract.ClaimLabel], Pool: m.Labels[contract.PoolUIDLabel],
		Deleting: m.DeletionTimestamp != nil, Retired: m.Annotations[contract.RetiredAtAnnotation] != "",
	}
}
