package pool

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

var _ plan.Workload = (*Snapshot)(nil)

// View implements plan.Workload.
func (s *Snapshot) View() plan.View {
	return plan.View{Key: s.Key, APIVersion: "lockstep.dev/v1alpha1", Kind: "StatefulCluster", Now: s.Now, Live: s.Live, Operation: plan.StatefulClusterOperation}
}

// Record implements plan.Workload. A pool records nothing of its own.
func (s *Snapshot) Record() plan.Record { return plan.Record{Hold: s.Hold} }

// NextPart implements plan.Workload.
func (*Snapshot) NextPart(recorded plan.Part) plan.Part { return recorded }

// Pod implements plan.Workload.
func (s *Snapshot) Pod(name string) (plan.Pod, bool) {
	for i := range s.Pods {
		if s.Pods[i].Name == name {
			return s.Pods[i].Pod, true
		}
	}
	return plan.Pod{}, false
}

// Units implements plan.Workload: a pool is one unit.
func (s *Snapshot) Units() []plan.Unit {
	if !s.Object.Exists() {
		return nil
	}
	return []plan.Unit{{Name: s.Key.Name, UID: s.Object.UID, MinReady: s.Object.MinReady}}
}

// Rollout implements plan.Workload.
func (s *Snapshot) Rollout(string) plan.UnitRollout {
	return plan.UnitRollout{To: s.Object.Revision, Observed: true, Budget: 1, Done: s.RolledOut()}
}

// RolledOut implements plan.Workload.
func (s *Snapshot) RolledOut() bool {
	for i := range s.Pods {
		if p := &s.Pods[i]; s.owns(p) && p.Active() && p.Revision != s.Object.Revision {
			return false
		}
	}
	return true
}

// Gone implements plan.Workload: neither the object nor a pod of it exists.
func (s *Snapshot) Gone() bool { return !s.Object.Exists() && len(s.Pods) == 0 }

// Due implements plan.Workload.
func (*Snapshot) Due() []time.Time { return nil }

// Remarks implements plan.Workload.
func (*Snapshot) Remarks() []plan.Wait { return nil }

// Shown implements plan.Workload.
func (s *Snapshot) Shown() plan.Shown {
	shown := plan.Shown{ObjectsAt: s.ObjectsAt, PodsAt: s.PodsAt}
	var pods []plan.Pod
	for i := range s.Pods {
		if s.owns(&s.Pods[i]) {
			pods = append(pods, s.Pods[i].Pod)
		} else {
			shown.Strays = append(shown.Strays, s.Pods[i].Pod)
		}
	}
	if s.Object.Exists() {
		shown.Objects = []plan.ShownObject{{Name: s.Key.Name, UID: s.Object.UID, Version: s.Object.Version, Pods: pods}}
	} else {
		shown.Strays = append(shown.Strays, pods...)
	}
	return shown
}

// owns reports whether a pod belongs to the object. A pod of another owner, or of none, is never counted and never
// changed.
func (s *Snapshot) owns(p *Pod) bool { return s.Object.Exists() && p.Owner == s.Object.UID }
