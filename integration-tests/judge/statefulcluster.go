package judge

import (
	"encoding/json"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
)

// These are the labels and annotations of docs/contract.md for StatefulClusters.
const (
	poolLabel           = "lockstep.dev/statefulcluster"
	instanceIDLabel     = "lockstep.dev/instance-id"
	retiredAtAnnotation = "lockstep.dev/retired-at"
	handoverAnnotation  = "lockstep.dev/handover-from"
	handover            = "IdentityHandover"
	grantedEviction     = "EvictionGranted"
)

// PoolHold is the part of the Lease of a StatefulCluster that the judge reads.
type PoolHold struct {
	Pool    string
	Intents []PoolIntent
	Deleted bool
}

// PoolIntent is an intended disruption of a pod of a StatefulCluster.
type PoolIntent struct{ Pod, UID, Cause string }

// Claim is the part of a claim of a StatefulCluster that the judge reads.
type Claim struct {
	Name    string
	ID      string // of its identity
	Retired bool   // its identity has ended
	Ending  bool   // it is being deleted, or is deleted
	From    string // UID of the pod from which its identity is handed over, or may be
}

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

// claimOf converts a claim of a StatefulCluster. It returns nil for any other claim.
func claimOf(c *corev1.PersistentVolumeClaim, deleted bool) *Claim {
	if c.Labels[instanceIDLabel] == "" {
		return nil
	}
	return &Claim{
		Name: c.Name, ID: c.Labels[instanceIDLabel], Retired: c.Annotations[retiredAtAnnotation] != "", Ending: deleted || c.DeletionTimestamp != nil,
		From: c.Annotations[handoverAnnotation],
	}
}

// pools are what the judge knows of the StatefulClusters of a namespace.
type pools struct {
	intents    map[string][]PoolIntent // of the present Leases, by StatefulCluster
	handedOver map[string]bool         // UIDs of pods whose hand-over a Lease has recorded
	podOf      map[string]string       // the UID of the last pod of each identity
	claims     map[string]*Claim       // by name
}

func newPools() pools {
	return pools{intents: map[string][]PoolIntent{}, handedOver: map[string]bool{}, podOf: map[string]string{}, claims: map[string]*Claim{}}
}

func (v *verifier) applyPoolHold(h *PoolHold) {
	v.pools.intents[h.Pool] = h.Intents
	if h.Deleted {
		delete(v.pools.intents, h.Pool)
	}
	for _, i := range h.Intents {
		if i.Cause == handover || i.Cause == grantedEviction && v.pools.mayBeHandedOver(i.UID) {
			v.pools.handedOver[i.UID] = true
		}
	}
}

// mayBeHandedOver reports whether the claims of an identity are marked for the end of a pod. Then the record of its eviction
// is that of a hand-over as well.
func (p *pools) mayBeHandedOver(uid string) bool {
	for _, c := range p.claims {
		if c.From == uid && !c.Retired && !c.Ending {
			return true
		}
	}
	return false
}

// applyPodOfPool verifies a new pod of a StatefulCluster, and a change of the images of one.
func (v *verifier) applyPodOfPool(e Event) {
	p, id := e.Pod, e.Pod.Labels[instanceIDLabel]
	if !ofStatefulCluster(p) || id == "" {
		return
	}
	former, again := v.pools.podOf[id]
	if !p.Deleted {
		v.pools.podOf[id] = p.UID
	}
	switch before := v.pods[p.Name]; {
	case again && former != p.UID && !p.Deleted:
		open := slices.ContainsFunc(v.pools.intents[p.Labels[poolLabel]], func(i PoolIntent) bool { return i.Pod == p.Name && v.pools.handedOver[i.UID] })
		if !v.pools.handedOver[former] && !open {
			v.report(ofPools, nil, "%s was created again, and no Lease has recorded that its identity is handed over", p.Name)
		}
		if before != nil && before.UID == former && !before.Deleted {
			v.report(ofPools, nil, "%s was created again while its former pod existed", p.Name)
		}
	case before != nil && before.UID == p.UID && before.Images != p.Images && !v.records(p):
		if _, byOperator := v.operator(v.writes[e.Version].User); byOperator {
			v.report(ofPools, nil, "%s was updated in place without an intent", p.Name)
		}
	}
}

// ofPools is the number of guarantees about StatefulClusters: they have none.
const ofPools = 0

// records reports whether the Lease of its StatefulCluster has an intent of a pod.
func (v *verifier) records(p *Pod) bool {
	return slices.ContainsFunc(v.pools.intents[p.Labels[poolLabel]], func(i PoolIntent) bool { return i.UID == p.UID })
}

// verifyDeletionOfPool verifies the deletion of a pod of a StatefulCluster by an operator.
func (v *verifier) verifyDeletionOfPool(p *Pod, request Request) {
	if !v.records(p) {
		v.report(ofPools, nil, "%s was deleted without an intent", p.Name)
	}
	if request.ZeroGrace {
		v.report(ofPools, nil, "%s was deleted by force", p.Name)
	}
}

// verifyEvictionOfPool verifies the eviction of a pod of a StatefulCluster: one that served was recorded before.
func (v *verifier) verifyEvictionOfPool(p *Pod) {
	if before := v.pods[p.Name]; before.Serving() && before.UID == p.UID && !v.records(p) {
		v.report(ofPools, nil, "%s was evicted while it served, without an intent", p.Name)
	}
}

// applyClaim verifies the deletion of a claim by an operator: its identity has ended and has no pod.
func (v *verifier) applyClaim(c *Claim) {
	before := v.pools.claims[c.Name]
	v.pools.claims[c.Name] = c
	if before == nil || before.Ending || !c.Ending || !v.operatorDeletesClaim(c.Name) {
		return
	}
	if !before.Retired {
		v.report(ofPools, nil, "claim %s was deleted, and its identity had not ended", c.Name)
	}
	for _, p := range v.pods {
		if p.Labels[instanceIDLabel] == c.ID && ofStatefulCluster(p) && !p.Deleted {
			v.report(ofPools, nil, "claim %s was deleted while pod %s existed", c.Name, p.Name)
		}
	}
}

func (v *verifier) operatorDeletesClaim(name string) bool {
	return slices.ContainsFunc(v.requests, func(r Request) bool {
		_, byOperator := v.operator(r.User)
		return byOperator && r.Verb == "delete" && r.Resource == "persistentvolumeclaims" && r.Name == name && r.mayHaveSucceeded()
	})
}
