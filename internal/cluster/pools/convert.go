package pools

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/render"
)

// spec is the part of a StatefulCluster that lockstep decodes. Templates stay as they are.
type spec struct {
	Replicas             *int                 `json:"replicas"`
	Selector             metav1.LabelSelector `json:"selector"`
	Template             json.RawMessage      `json:"template"`
	VolumeClaimTemplates []json.RawMessage    `json:"volumeClaimTemplates"`
	ServiceName          string               `json:"serviceName"`
	MinReadySeconds      int                  `json:"minReadySeconds"`
	RevisionHistoryLimit *int                 `json:"revisionHistoryLimit"`
	Deadline             *int                 `json:"progressDeadlineSeconds"`
	Paused               bool                 `json:"paused"`
	PodManagementPolicy  string               `json:"podManagementPolicy"`
	PodReplacementPolicy string               `json:"podReplacementPolicy"`
	ScaleStrategy        struct {
		MaxUnavailable *intstr.IntOrString `json:"maxUnavailable"`
		PodsToDelete   []string            `json:"podsToDelete"`
	} `json:"scaleStrategy"`
	IdentityPolicy struct {
		OnDelete               string `json:"onDelete"`
		OnEviction             string `json:"onEviction"`
		HandoverTimeoutSeconds *int   `json:"handoverTimeoutSeconds"`
	} `json:"identityPolicy"`
	Claims struct {
		WhenDeleted       string `json:"whenDeleted"`
		WhenScaled        string `json:"whenScaled"`
		WhenReplaced      string `json:"whenReplaced"`
		RetiredTTLSeconds int    `json:"retiredTTLSeconds"`
		RetiredLimit      *int   `json:"retiredLimit"`
	} `json:"persistentVolumeClaimRetentionPolicy"`
	Liveness struct {
		NodeLostSeconds  *int                `json:"nodeLostSeconds"`
		StartupSeconds   *int                `json:"startupSeconds"`
		CrashLoopSeconds *int                `json:"crashLoopSeconds"`
		NotReadySeconds  int                 `json:"notReadySeconds"`
		MaxUnhealthy     *intstr.IntOrString `json:"maxUnhealthy"`
	} `json:"liveness"`
	UpdateStrategy struct {
		Type          string `json:"type"`
		RollingUpdate struct {
			Partition       *intstr.IntOrString `json:"partition"`
			MaxUnavailable  *intstr.IntOrString `json:"maxUnavailable"`
			MaxSurge        *intstr.IntOrString `json:"maxSurge"`
			PodUpdatePolicy string              `json:"podUpdatePolicy"`
			Paused          bool                `json:"paused"`
			InPlace         struct {
				GracePeriodSeconds int `json:"gracePeriodSeconds"`
			} `json:"inPlace"`
		} `json:"rollingUpdate"`
	} `json:"updateStrategy"`
}

// Defaults, as the CRD has them.
const (
	defaultHistory          = 10
	defaultHandoverSeconds  = 600
	defaultNodeLostSeconds  = 300
	defaultStartupSeconds   = 600
	defaultCrashLoopSeconds = 3600
	defaultDeadlineSeconds  = 600
	defaultMaxUnhealthy     = 40 // percent
)

// objectOf converts a StatefulCluster. One that cannot be read says so: it must not keep others from being read.
func objectOf(u *unstructured.Unstructured) pool.Object {
	o, err := readableObjectOf(u)
	if err != nil {
		version, _ := plan.ParseVersion(u.GetResourceVersion())
		return pool.Object{
			UID: string(u.GetUID()), Version: version, Generation: u.GetGeneration(), Deleting: u.GetDeletionTimestamp() != nil,
			Unreadable: err.Error(), Conditions: conditionsOf(u),
		}
	}
	return o
}

func readableObjectOf(u *unstructured.Unstructured) (pool.Object, error) {
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
		Replicas: valueOr(s.Replicas, 1), MinReady: seconds(s.MinReadySeconds), RevisionHistory: valueOr(s.RevisionHistoryLimit, defaultHistory),
		Keep: keepPolicyOf(&s), Deadline: seconds(valueOr(s.Deadline, defaultDeadlineSeconds)),
		HandoverTimeout: seconds(valueOr(s.IdentityPolicy.HandoverTimeoutSeconds, defaultHandoverSeconds)),
		Paused:          s.Paused || s.UpdateStrategy.RollingUpdate.Paused, Strategy: strategyOf(&s), Liveness: livenessOf(&s), Claim: claimPolicyOf(&s),
		Ordered: s.PodManagementPolicy == "OrderedReady", AwaitEnds: s.PodReplacementPolicy == "Failed", PodsToDelete: s.ScaleStrategy.PodsToDelete,
		ScaleMaxUnavailable: shareOf(s.ScaleStrategy.MaxUnavailable, 0), Labels: s.Selector.MatchLabels, Service: s.ServiceName,
	}
	selector, err := metav1.LabelSelectorAsSelector(&s.Selector)
	if err != nil {
		return pool.Object{}, fmt.Errorf("StatefulCluster %s/%s: read spec.selector: %w", u.GetNamespace(), u.GetName(), err)
	}
	o.Selector = selector.String()
	if o.Templates, o.Hash, err = templatesOf(&s, selector); err != nil {
		o.InvalidTemplate = err.Error()
	}
	o.Adopt = u.GetAnnotations()[contract.AdoptAnnotation] == "true"
	o.WithoutEffect = contract.WithoutEffectOnPool(u.GetAnnotations(), u.GetLabels(), o.Paused)
	if o.Paused {
		o.PausedUntil = contract.PausedUntil(u.GetAnnotations())
	}
	o.Current, _, _ = unstructured.NestedString(u.Object, "status", "currentRevision")
	o.Conditions = conditionsOf(u)
	return o, nil
}

// templatesOf returns the templates and their hash. A template that cannot be used is the only thing that is wrong: pods that
// exist, and the earlier revisions, need nothing of it.
func templatesOf(s *spec, selector labels.Selector) (pool.Templates, string, error) {
	requirements, _ := selector.Requirements()
	if slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return r.Key() == contract.RevisionLabel }) {
		return pool.Templates{}, "", errors.New("spec.selector has the label " + contract.RevisionLabel + ", which lockstep gives each pod; create the StatefulCluster with another selector")
	}
	if !selector.Matches(labelsOf(s)) {
		return pool.Templates{}, "", errors.New("spec.selector excludes the pods of spec.template")
	}
	templates, err := render.Templates(s.Template, s.VolumeClaimTemplates)
	if err != nil {
		return pool.Templates{}, "", err
	}
	for i := range templates.Claims {
		templates.Claims[i].Storage = storageOf(templates.Claims[i].Storage.Text)
	}
	hash, err := render.Hash(templates)
	if err != nil {
		return pool.Templates{}, "", err
	}
	return templates, hash, nil
}

// labelsOf returns the labels of a pod that the selector may match: those of the selector and of the template. A label of the
// template that contradicts the selector makes it match nothing.
func labelsOf(s *spec) labels.Set {
	var template struct {
		Metadata struct {
			Labels map[string]string `json:"labels"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(s.Template, &template) // a template that cannot be read is refused as such
	all := labels.Set{}
	maps.Copy(all, s.Selector.MatchLabels)
	maps.Copy(all, template.Metadata.Labels)
	return all
}

// conditionsOf returns the conditions of a status. One that cannot be read is left out.
func conditionsOf(u *unstructured.Unstructured) []pool.Condition {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	var all []pool.Condition
	for _, item := range list {
		c, _ := item.(map[string]any)
		kind, _, _ := unstructured.NestedString(c, "type")
		status, _, _ := unstructured.NestedString(c, "status")
		text, _, _ := unstructured.NestedString(c, "lastTransitionTime")
		if since, err := time.Parse(time.RFC3339, text); err == nil {
			all = append(all, pool.Condition{Type: kind, Status: status, Since: since})
		}
	}
	return all
}

func strategyOf(s *spec) pool.Strategy {
	rolling := &s.UpdateStrategy.RollingUpdate
	return pool.Strategy{
		OnDelete:       s.UpdateStrategy.Type == "OnDelete",
		Partition:      shareOf(rolling.Partition, 0),
		MaxUnavailable: shareOf(rolling.MaxUnavailable, 1),
		MaxSurge:       shareOf(rolling.MaxSurge, 0),
		Policy:         cmp.Or(pool.PodUpdatePolicy(rolling.PodUpdatePolicy), pool.InPlaceIfPossible),
		Grace:          seconds(rolling.InPlace.GracePeriodSeconds),
	}
}

func keepPolicyOf(s *spec) pool.KeepPolicy {
	const keeps = "KeepIdentity"
	return pool.KeepPolicy{OnDelete: s.IdentityPolicy.OnDelete == keeps, OnEviction: s.IdentityPolicy.OnEviction == keeps}
}

func claimPolicyOf(s *spec) pool.ClaimPolicy {
	const deletes = "Delete"
	return pool.ClaimPolicy{
		DeleteWithObject:   s.Claims.WhenDeleted == deletes,
		DeleteWhenScaled:   s.Claims.WhenScaled == deletes,
		DeleteWhenReplaced: s.Claims.WhenReplaced == deletes,
		DeleteAfter:        seconds(s.Claims.RetiredTTLSeconds),
		Limit:              s.Claims.RetiredLimit,
	}
}

func livenessOf(s *spec) pool.Liveness {
	l := &s.Liveness
	unhealthy := pool.Share{Percent: defaultMaxUnhealthy}
	if l.MaxUnhealthy != nil {
		unhealthy = shareOf(l.MaxUnhealthy, 0)
	}
	return pool.Liveness{
		NodeLost:     seconds(valueOr(l.NodeLostSeconds, defaultNodeLostSeconds)),
		Startup:      seconds(valueOr(l.StartupSeconds, defaultStartupSeconds)),
		CrashLoop:    seconds(valueOr(l.CrashLoopSeconds, defaultCrashLoopSeconds)),
		NotReady:     seconds(l.NotReadySeconds),
		MaxUnhealthy: unhealthy,
	}
}

// shareOf converts a number or a percentage. The CRD rejects other texts.
func shareOf(v *intstr.IntOrString, absent int) pool.Share {
	if v == nil {
		return pool.Share{Pods: absent}
	}
	percent, is := strings.CutSuffix(v.StrVal, "%")
	if v.Type == intstr.Int || !is {
		return pool.Share{Pods: v.IntValue()}
	}
	share, _ := strconv.Atoi(percent)
	return pool.Share{Percent: share}
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

func valueOr(v *int, absent int) int {
	if v == nil {
		return absent
	}
	return *v
}

// podOf converts a pod with the labels of a pool.
func podOf(p *corev1.Pod) pool.Pod {
	converted := pool.Pod{
		Pod: observe.PodOf(p, 0), ID: pool.ID(p.Labels[contract.InstanceIDLabel]),
		Scheduled:  p.Spec.NodeName != "",
		Node:       pool.Node{Name: p.Spec.NodeName},
		Finished:   p.Status.Phase == corev1.PodFailed || p.Status.Phase == corev1.PodSucceeded,
		Generation: p.Generation, Observed: p.Status.ObservedGeneration,
		Containers: containersOf(p), Update: updateOf(p),
	}
	if converted.Finished {
		converted.Ended = endOf(p)
	}
	converted.Gate, converted.GateSince = gateOf(p)
	converted.Resize, converted.ResizeSince = resizeOf(p)
	converted.Retain = p.Labels[contract.RetainIdentityLabel] == "true" || p.Annotations[contract.RetainIdentityLabel] == "true"
	converted.Asked = p.Labels[contract.SpecifiedDeleteLabel] == "true" || p.Annotations[contract.SpecifiedDeleteLabel] == "true"
	for i := range p.Spec.Volumes {
		volume := &p.Spec.Volumes[i]
		if claim := volume.PersistentVolumeClaim; claim != nil && isOfIdentity(claim.ClaimName, volume.Name, p, converted.ID) {
			converted.Mounts = append(converted.Mounts, pool.Mount{Template: volume.Name, Claim: claim.ClaimName})
		}
	}
	for _, c := range p.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status != corev1.ConditionTrue:
			converted.NotReady = c.LastTransitionTime.Time
		case c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue:
			converted.Disrupted = true
		}
	}
	converted.From = p.Annotations[contract.HandoverAnnotation]
	converted.Withdrawn = contract.WithdrawnVersion(p.Annotations)
	if owner := metav1.GetControllerOfNoCopy(p); owner != nil {
		converted.Owner = string(owner.UID)
	}
	if p.DeletionTimestamp != nil {
		converted.EndsBy = p.DeletionTimestamp.Time // the API server adds the grace period
	}
	for _, gate := range p.Spec.SchedulingGates {
		converted.Gated = converted.Gated || gate.Name == contract.ClaimsGate
	}
	for i := range p.Status.ContainerStatuses {
		c := &p.Status.ContainerStatuses[i]
		converted.Restarts += int(c.RestartCount)
		converted.Ran = converted.Ran || c.RestartCount > 0 || c.State.Running != nil || c.State.Terminated != nil || c.LastTerminationState.Terminated != nil
	}
	converted.Cost, _ = strconv.Atoi(p.Annotations[contract.DeletionCostAnnotation]) // a cost that cannot be read is none
	return converted
}

// endOf returns when a pod was finished at the latest: when the owner of its phase has last written its status. The status itself does
// not say that of a pod that its node has rejected: it has no containers, and often no conditions. The API server writes that time and
// that of the creation, so both are of one clock. 0: no field manager owns the phase.
func endOf(p *corev1.Pod) plan.UnixTime {
	var last plan.UnixTime
	for i := range p.ManagedFields {
		if entry := &p.ManagedFields[i]; entry.Time != nil && ownsPhase(entry) {
			last = max(last, plan.UnixTimeOf(entry.Time.Time))
		}
	}
	return last
}

func ownsPhase(entry *metav1.ManagedFieldsEntry) bool {
	var owned struct {
		Status struct {
			Phase *struct{} `json:"f:phase"`
		} `json:"f:status"`
	}
	return entry.FieldsV1 != nil && json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) == nil && owned.Status.Phase != nil
}

// isOfIdentity reports whether the claim of a volume is one of the identity of the pod. Claims of an identity that was adopted
// have the names that a StatefulSet gives them.
func isOfIdentity(claim, volume string, p *corev1.Pod, id pool.ID) bool {
	drawn := id.Drawn() && strings.HasSuffix(claim, "-"+string(id))
	return drawn || claim == pool.ClaimName(p.Labels[contract.PoolLabel], volume, id) || claim == volume+"-"+p.Name
}

func containersOf(p *corev1.Pod) []pool.Container {
	containers := make([]pool.Container, len(p.Spec.Containers))
	for i := range p.Spec.Containers {
		c := &containers[i]
		c.Name, c.Image, c.Resources = p.Spec.Containers[i].Name, p.Spec.Containers[i].Image, resourcesOf(&p.Spec.Containers[i].Resources)
		for j := range p.Status.ContainerStatuses {
			if status := &p.Status.ContainerStatuses[j]; status.Name == c.Name {
				c.ID, c.Running = status.ContainerID+" "+status.ImageID, status.State.Running != nil
			}
		}
	}
	return containers
}

// updateOf returns what a pod says about its last update in place.
func updateOf(p *corev1.Pod) pool.InPlaceUpdate {
	update, is := contract.ReadInPlaceUpdate(p.Annotations)
	if !is {
		return pool.InPlaceUpdate{}
	}
	at, _ := plan.ParseVersion(update.Version)
	converted := pool.InPlaceUpdate{Revision: update.Revision, At: at, Since: update.Since, Restarts: update.Restarts, Begun: update.Begun}
	if update.Begun {
		converted.Before = map[string]pool.Resources{}
		for name, r := range update.Before {
			converted.Before[name] = pool.Resources(r)
		}
	}
	return converted
}

// revision is a ControllerRevision, converted once.
type revision struct {
	metav1.ObjectMeta
	pool.Revision
}

// revisionOf converts a ControllerRevision. One whose content cannot be read has no hash.
func revisionOf(r *appsv1.ControllerRevision) *revision {
	version, _ := plan.ParseVersion(r.ResourceVersion)
	converted := &revision{
		ObjectMeta: metav1.ObjectMeta{
			Name: r.Name, Namespace: r.Namespace, UID: r.UID, ResourceVersion: r.ResourceVersion, Labels: r.Labels, OwnerReferences: r.OwnerReferences,
		},
		Revision: pool.Revision{Name: r.Name, UID: string(r.UID), Version: version, Number: r.Revision},
	}
	if templates, err := render.Decode(r.Data.Raw); err == nil {
		converted.Templates = templates
		converted.Hash, _ = render.Hash(templates)
	}
	return converted
}

// bindCompleted is the annotation that Kubernetes sets when a claim is bound to a volume. The metadata shows no phase.
const bindCompleted = "pv.kubernetes.io/bind-completed"

// claimOf converts the metadata of a claim with the labels of a pool.
func claimOf(m *metav1.PartialObjectMetadata) pool.Claim {
	version, _ := plan.ParseVersion(m.ResourceVersion)
	return pool.Claim{
		Name: m.Name, UID: string(m.UID), Version: version, ID: pool.ID(m.Labels[contract.InstanceIDLabel]),
		Template: m.Labels[contract.ClaimLabel], Pool: m.Labels[contract.PoolUIDLabel],
		Siblings: siblingsOf(m.Annotations), From: m.Annotations[contract.HandoverAnnotation], Retain: m.Annotations[contract.RetainIdentityLabel] == "true", Deleting: m.DeletionTimestamp != nil, Bound: m.Annotations[bindCompleted] != "", Retired: m.Annotations[contract.RetiredAtAnnotation] != "",
		Keep:    m.Annotations[contract.KeepAnnotation] == "true" || m.Labels[contract.KeepAnnotation] == "true",
		Owned:   metav1.IsControlledBy(m, &metav1.ObjectMeta{UID: types.UID(m.Labels[contract.PoolUIDLabel])}),
		Storage: storageOf(m.Annotations[contract.StorageAnnotation]),
		Ended:   endedAt(m.Annotations), Because: knownReason(m.Annotations[contract.RetiredReasonAnnotation]),
	}
}

// unlabelledOf converts the metadata of a claim that lacks the labels of an identity. What it belongs to may delete it.
func unlabelledOf(m *metav1.PartialObjectMetadata, template, object string) *pool.UnlabelledClaim {
	version, _ := plan.ParseVersion(m.ResourceVersion)
	claim := &pool.UnlabelledClaim{Name: m.Name, Template: template, UID: string(m.UID), Version: version}
	for _, owner := range m.OwnerReferences {
		if string(owner.UID) != object {
			claim.Owner = owner.Kind + "/" + owner.Name
		}
	}
	return claim
}

// storageOf returns an amount of storage. A text that cannot be read is none.
func storageOf(text string) pool.Storage {
	quantity, err := resource.ParseQuantity(text)
	if err != nil || quantity.Sign() <= 0 {
		return pool.Storage{}
	}
	if bytes, fits := quantity.AsInt64(); fits {
		return pool.Storage{Text: text, Bytes: bytes}
	}
	if quantity.CmpInt64(math.MaxInt64) > 0 {
		return pool.Storage{Text: text, Bytes: math.MaxInt64}
	}
	return pool.Storage{Text: text, Bytes: quantity.Value()}
}

// endedAt returns when the identity of a claim ended. A time that cannot be read is none.
func endedAt(annotations map[string]string) time.Time {
	at, _ := time.Parse(time.RFC3339, annotations[contract.RetiredAtAnnotation])
	return at
}

// knownReason returns a reason of the catalogue. Another text is none.
func knownReason(text string) reason.Code {
	if _, known := reason.Explain(reason.Code(text)); known {
		return reason.Code(text)
	}
	return ""
}

func siblingsOf(annotations map[string]string) []string {
	if names := annotations[contract.SiblingsAnnotation]; names != "" {
		return strings.Split(names, ",")
	}
	return nil
}
