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
	if without := s.withoutGate(); without > 0 {
		remark(reason.GraceUnavailable, fmt.Sprintf("%d of %d pods", without, s.countOwned()))
	}
	return remarks
}

// withoutGate counts the pods that cannot leave their clients before they are updated in place, although the object asks for
// that: they were created without the gate.
func (s *Snapshot) withoutGate() int {
	n := 0
	if s.Object.Strategy.Grace > 0 {
		for i := range s.Pods {
			n += one(s.owns(&s.Pods[i]) && s.Pods[i].Active() && s.Pods[i].Gate == NoGate)
		}
	}
	return n
}

func (s *Snapshot) countOwned() int {
	n := 0
	for i := range s.Pods {
		n += one(s.owns(&s.Pods[i]) && s.Pods[i].Active())
	}
	return n
}
