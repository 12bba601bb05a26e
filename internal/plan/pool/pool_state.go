package pool

import (
	"slices"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// poolState is a snapshot with what the rules count.
type poolState struct {
	*Snapshot
	staying []Pod // active pods of the pool without an open intent
	leaving []Pod // active pods whose recorded deletion can still happen
	ended   []Pod // pods whose containers have ended
	open    int   // intents that count
}

func newPoolState(s *Snapshot) *poolState {
	p := &poolState{Snapshot: s}
	pending := map[string]bool{}
	for _, i := range s.Hold.Intents {
		status := s.IntentStatus(i)
		pending[i.Pod] = pending[i.Pod] || status == plan.Pending
		if status.Counts() {
			p.open++
		}
	}
	for i := range s.Pods {
		switch pod := s.Pods[i]; {
		case !s.owns(&pod) || pod.Phase == plan.Terminating:
		case pod.Finished:
			p.ended = append(p.ended, pod)
		case pending[pod.Name]:
			p.leaving = append(p.leaving, pod)
		default:
			p.staying = append(p.staying, pod)
		}
	}
	slices.SortStableFunc(p.staying, leavesFirst(s))
	slices.SortStableFunc(p.leaving, leavesFirst(s))
	return p
}

// intentOf returns the pending intent of a pod.
func (p *poolState) intentOf(pod *Pod) plan.Intent {
	for _, i := range p.Hold.Intents {
		if i.Pod == pod.Name && p.IntentStatus(i) == plan.Pending {
			return i
		}
	}
	return plan.Intent{}
}
