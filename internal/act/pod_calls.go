package act

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Preparations calls pods about a downscale, without waiting for their answers.
type Preparations interface {
	// Recorded receives a downscale that this process has recorded and about which no pod was called, and the
	// rest of the previous one.
	Recorded(key plan.Key, d, former group.Downscale)
	// Ask calls pods of a zone to prepare or, if the downscale is being cancelled, to undo the preparation.
	Ask(key plan.Key, zone group.Zone, d group.Downscale, pods []plan.Pod, limit time.Duration)
}

// Messages notifies pods of zones with a delay.
type Messages interface {
	// Notify queues a message for pods of a zone, without waiting for their answers.
	Notify(key plan.Key, zone group.Zone, message group.Message, pods []plan.Pod)
}

// rememberDownscale passes on a downscale of lockstep's own that this process has recorded, and the rest of the
// previous one.
func (e *Executor) rememberDownscale(s *group.Snapshot, a group.RecordDownscale) {
	if a.Downscale.Ours && a.Downscale.Stage == group.Preparing {
		e.Preparations.Recorded(s.Key, a.Downscale, a.Former)
	}
}

// preparePods calls pods to prepare.
func (e *Executor) preparePods(s *group.Snapshot, a group.PreparePods) {
	zone, _ := s.Zone(a.Downscale.Zone)
	e.Preparations.Ask(s.Key, zone, a.Downscale, a.Pods, a.Within)
}

// cancelPreparation calls pods to undo their preparation.
func (e *Executor) cancelPreparation(s *group.Snapshot, a group.CancelPreparation) {
	zone, _ := s.Zone(a.Downscale.Zone)
	e.Preparations.Ask(s.Key, zone, a.Downscale, a.Pods, 0)
}

// notifyPods notifies pods of a zone with a delay that they leave, or that they stay.
func (e *Executor) notifyPods(s *group.Snapshot, a group.NotifyPods) {
	zone, _ := s.Zone(a.Zone)
	zone.Delay.Call = a.Call
	e.Messages.Notify(s.Key, zone, a.Message, a.Pods)
}
