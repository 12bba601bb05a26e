package pool

import (
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Remarks implements plan.Workload: what a person should correct on the object, although it stops nothing.
func (s *Snapshot) Remarks() []plan.Wait {
	var remarks []plan.Wait
	remark := func(code reason.Code, detail string) {
		remarks = append(remarks, plan.Wait{Zone: s.Key.Name, Because: plan.Refusal{Code: code, Detail: detail}})
	}
	o := &s.Object
	if o.Paused && o.PausedUntil.Invalid != "" {
		remark(reason.InvalidPausedUntil, o.PausedUntil.Invalid)
	}
	if o.Paused && !o.PausedAt(s.Now) {
		remark(reason.PauseExpired, "")
	}
	if o.WithoutEffect != "" {
		remark(reason.NoEffect, o.WithoutEffect)
	}
	if o.Strategy.Grace == 0 {
		return remarks
	}
	if without, pods := s.withoutGate(); without > 0 {
		remark(reason.GraceUnavailable, fmt.Sprintf("%d of %d pods", without, pods))
	}
	return remarks
}

// withoutGate counts the pods that were created without the gate, so they cannot leave their clients before they are updated in
// place, of how many.
func (s *Snapshot) withoutGate() (without, pods int) {
	for i := range s.Pods {
		if p := &s.Pods[i]; s.owns(p) && p.Active() {
			pods++
			without += one(p.Gate == NoGate)
		}
	}
	return without, pods
}
