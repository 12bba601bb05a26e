package judge

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// These are the labels and annotations of docs/contract.md for StatefulClusters.
const (
	poolLabel               = "lockstep.dev/statefulcluster"
	poolUIDLabel            = "lockstep.dev/pool-uid"
	instanceIDLabel         = "lockstep.dev/instance-id"
	retiredAtAnnotation     = "lockstep.dev/retired-at"
	retiredReasonAnnotation = "lockstep.dev/retired-reason"
	keepAnnotation          = "lockstep.dev/keep"
	handoverAnnotation      = "lockstep.dev/handover-from"
	updateAnnotation        = "lockstep.dev/inplace-update"
)

// These are causes of intents, and reasons why identities have ended.
const (
	scaledDown       = "ScaledDown"
	replicasExceeded = "ReplicasExceeded"
	handover         = "IdentityHandover"
	unneeded         = "HandoverUnneeded"
	grantedEviction  = "EvictionGranted"
)

// Pool is the part of a StatefulCluster that the judge reads.
type Pool struct {
	Name           string
	UID            string
	Replicas       int
	MaxUnavailable int // as a number of pods
	MinReady       time.Duration
	DropsScaled    bool          // claims of identities that left by a downscale are deleted
	DropsReplaced  bool          // claims of identities that left for another reason are deleted
	Surges         bool          // more pods than asked for may exist while new identities get another template
	RetiredTTL     time.Duration // claims are deleted so long after the end of their identity; 0: never
	RetiredLimit   int           // so many ended identities keep their claims
	Deleted        bool          // it is being deleted, or is deleted
}

// PoolOf converts a StatefulCluster. It returns nil for any other object.
func PoolOf(o *unstructured.Unstructured, deleted bool) *Pool {
	if o.GetKind() != "StatefulCluster" {
		return nil
	}
	const policy = "persistentVolumeClaimRetentionPolicy"
	p := &Pool{
		Name: o.GetName(), UID: string(o.GetUID()), Deleted: deleted || o.GetDeletionTimestamp() != nil,
		Replicas: numberAt(o, 1, "replicas"), MinReady: time.Duration(numberAt(o, 0, "minReadySeconds")) * time.Second,
		DropsScaled: textAt(o, policy, "whenScaled") == "Delete", DropsReplaced: textAt(o, policy, "whenReplaced") == "Delete",
		RetiredTTL:   time.Duration(numberAt(o, 0, policy, "retiredTTLSeconds")) * time.Second,
		RetiredLimit: numberAt(o, math.MaxInt, policy, "retiredLimit"),
	}
	surge := []string{"updateStrategy", "rollingUpdate", "maxSurge"}
	p.Surges = textAt(o, "updateStrategy", "rollingUpdate", "podUpdatePolicy") == "Recreate" && (numberAt(o, 0, surge...) > 0 || textAt(o, surge...) != "")
	p.MaxUnavailable = numberAt(o, 1, "updateStrategy", "rollingUpdate", "maxUnavailable")
	if percent, is := strings.CutSuffix(textAt(o, "updateStrategy", "rollingUpdate", "maxUnavailable"), "%"); is {
		if share, err := strconv.Atoi(percent); err == nil {
			p.MaxUnavailable = (p.Replicas*share + 99) / 100
		}
	}
	return p
}

// numberAt returns a number of the spec.
func numberAt(o *unstructured.Unstructured, absent int, path ...string) int {
	n, found, err := unstructured.NestedInt64(o.Object, append([]string{"spec"}, path...)...)
	if !found || err != nil {
		return absent
	}
	return int(n)
}

// textAt returns a text of the spec.
func textAt(o *unstructured.Unstructured, path ...string) string {
	text, _, err := unstructured.NestedString(o.Object, append([]string{"spec"}, path...)...)
	if err != nil {
		return ""
	}
	return text
}

// PoolHold is the part of the Lease of a StatefulCluster that the judge reads.
type PoolHold struct {
	Pool    string
	Intents []PoolIntent
	Deleted bool
}

// PoolIntent is an intended disruption of a pod of a StatefulCluster.
type PoolIntent struct{ Pod, UID, Cause string }

// PoolHoldOf converts the Lease of a StatefulCluster. It returns nil for any other Lease.
func PoolHoldOf(l *coordinationv1.Lease) *PoolHold {
	if l.Labels[holdLabel] != "statefulcluster" {
		return nil
	}
	state := &PoolHold{Pool: l.Annotations[poolLabel]}
	var record struct{ Pods []PoolIntent }
	if text := l.Annotations[intentsAnnotation]; text != "" && json.Unmarshal([]byte(text), &record) == nil {
		state.Intents = record.Pods
	}
	return state
}

// Claim is the part of a claim of a StatefulCluster that the judge reads.
type Claim struct {
	Name      string
	Pool      string
	PoolUID   string // UID of the StatefulCluster for which it was made
	ID        string // of its identity
	Retired   bool   // its identity has ended
	RetiredAt time.Time
	Because   string // why its identity has ended
	Keep      bool   // a person wants to keep it
	Ending    bool   // it is being deleted, or is deleted
	From      string // UID of the pod from which its identity is handed over, or may be

	keptSince time.Time // when the verifier saw first that it is to be kept
}

// claimOf converts a claim of a StatefulCluster. It returns nil for any other claim.
func claimOf(c *corev1.PersistentVolumeClaim, deleted bool) *Claim {
	if c.Labels[instanceIDLabel] == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, c.Annotations[retiredAtAnnotation])
	if err != nil {
		at = time.Time{}
	}
	return &Claim{
		Name: c.Name, Pool: c.Labels[poolLabel], PoolUID: c.Labels[poolUIDLabel], ID: c.Labels[instanceIDLabel],
		Retired: c.Annotations[retiredAtAnnotation] != "", RetiredAt: at.UTC(), Because: c.Annotations[retiredReasonAnnotation],
		Keep: c.Annotations[keepAnnotation] == "true", Ending: deleted || c.DeletionTimestamp != nil, From: c.Annotations[handoverAnnotation],
	}
}

// ofStatefulCluster reports whether a pod has the label of a StatefulCluster.
func ofStatefulCluster(p *Pod) bool { return p.Labels[poolLabel] != "" }
