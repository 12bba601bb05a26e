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

// Record implements plan.Workload.
func (s *Snapshot) Record() plan.Record { return plan.Record{Hold: s.Hold, Part: s.Part} }

// Pod implements plan.Workload.
func (s *Snapshot) Pod(name string) (plan.Pod, bool) {
	p, exists := s.podNamed(name)
	return p.Pod, exists
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
	newest := s.Newest().Name
	budget := max(1, s.Object.Strategy.MaxUnavailable.Of(s.Object.Replicas))
	available := Describe(*s, nil).Available >= s.Object.Replicas
	return plan.UnitRollout{
		From: s.Current().Name, To: newest, Observed: newest != "", Budget: budget, Paused: s.Object.PausedAt(s.Now),
		Done: available && s.RolledOut(), Available: available,
	}
}

// RolledOut implements plan.Workload.
func (s *Snapshot) RolledOut() bool {
	newest := s.Newest().Name
	for i := range s.Pods {
		if p := &s.Pods[i]; s.owns(p) && p.Active() && (p.Revision != newest || p.Update.Begun) {
			return false
		}
	}
	return true
}

// Gone implements plan.Workload: neither the object nor a pod of it exists.
func (s *Snapshot) Gone() bool { return !s.Object.Exists() && len(s.Pods) == 0 }

// Due implements plan.Workload: when pods are to be replaced by new identities, when hand-overs are given up, when turns
// change, and when a pause ends.
func (s *Snapshot) Due() []time.Time {
	p, due := newPoolState(s), []time.Time(nil)
	if end := s.Object.PausedUntil.Time; s.Object.Paused && end.After(s.Now) {
		due = append(due, end)
	}
	for i := range p.staying {
		pod := &p.staying[i]
		switch a := p.ailmentOf(pod); {
		case a.at.After(s.Now):
			due = append(due, a.at)
		case p.ails(pod) && p.pauses(pod):
			due = append(due, p.replacedFrom(pod))
		}
	}
	if at := p.lookIsDue(); s.Object.Adopt && p.missing() > 0 && at.After(s.Now) {
		due = append(due, at)
	}
	if at := p.serviceIsDue(); s.Object.Service != "" && s.Service.Missing != "" && at.After(s.Now) {
		due = append(due, at)
	}
	for i := range p.ended {
		if pod := &p.ended[i]; pod.pauses {
			due = append(due, p.replacedFrom(&pod.Pod))
		}
	}
	for i := range p.staying {
		if at := p.staying[i].Created.Time().Add(s.Object.Liveness.Startup); s.Object.limitsBirths() && at.After(s.Now) {
			due = append(due, at)
		}
	}
	for i := range s.Pods {
		if at := s.Pods[i].EndsBy.Add(s.Object.HandoverTimeout); at.After(s.Now) && len(p.handovers) > 0 {
			due = append(due, at)
		}
	}
	for _, i := range s.Hold.Intents {
		if i.Granted() && !i.Lapsed() {
			due = append(due, s.Now.Add(plan.GrantLimit-i.Known))
		}
	}
	for _, spent := range p.spentIdentities() {
		if at := spent.ended.Add(s.Object.Claim.DeleteAfter); at.After(s.Now) && !spent.keep {
			due = append(due, at)
		}
	}
	for i := range s.Pods {
		if pod := &s.Pods[i]; p.isUnmatched(pod) && p.releasedFrom(pod).After(s.Now) {
			due = append(due, p.releasedFrom(pod))
		}
	}
	for i := range s.Pods {
		if at, late := s.lateSince(&s.Pods[i]); late && at.After(s.Now) {
			due = append(due, at)
		}
	}
	due = append(due, p.looksDue()...)
	return append(due, p.turns()...)
}

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
func (s *Snapshot) owns(p *Pod) bool {
	return s.Object.Exists() && p.Owner == s.Object.UID && !p.Unmatched
}
