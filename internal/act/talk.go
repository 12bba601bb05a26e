package act

import (
	"context"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Preparations asks pods about a downscale. Nobody waits for their answers.
type Preparations interface {
	// Noted hears that this process has noted a downscale about which nobody was asked, and
	// what is left of the one before it.
	Noted(key plan.Key, d, former plan.Downscale)
	// Ask asks pods of a zone to prepare or, where the downscale is being undone, to undo that.
	Ask(key plan.Key, zone plan.Zone, d plan.Downscale, pods []plan.Pod, limit time.Duration)
}

// Messages takes messages for pods of zones with a delay. Nobody waits for answers.
type Messages interface {
	Tell(key plan.Key, zone plan.Zone, message plan.Message, pods []plan.Pod)
}

// rememberDownscale passes on that this process has noted a downscale of lockstep's own, and what is left of the
// one before it.
func (e *Executor) rememberDownscale(s plan.Snapshot, a plan.RecordDownscale) {
	if a.Downscale.Ours && a.Downscale.Stage == plan.Preparing {
		e.Preparations.Noted(s.Key, a.Downscale, a.Former)
	}
}

// preparePods has pods asked to prepare.
func (e *Executor) preparePods(s plan.Snapshot, a plan.PreparePods) {
	zone, _ := s.Zone(a.Downscale.Zone)
	e.Preparations.Ask(s.Key, zone, a.Downscale, a.Pods, a.Within)
}

// undoPreparation has pods asked to undo their preparation.
func (e *Executor) undoPreparation(s plan.Snapshot, a plan.CancelPreparation) {
	zone, _ := s.Zone(a.Downscale.Zone)
	e.Preparations.Ask(s.Key, zone, a.Downscale, a.Pods, 0)
}

// tellPods has pods of a zone with a delay told that they leave, or that they stay.
func (e *Executor) tellPods(s plan.Snapshot, a plan.NotifyPods) {
	zone, _ := s.Zone(a.Zone)
	zone.Delay.Call = a.Call
	e.Messages.Tell(s.Key, zone, a.Message, a.Pods)
}

// Abandoned notes that pods must be told to stay: a process that no longer leads asked
// them to prepare, and its note has been taken back since, so they may have heard the
// request last.
func (e *Executor) Abandoned(ctx context.Context, key plan.Key, d plan.Downscale) error {
	record, possible := hold.UndoAnew(e.Holds.Cached(key), d, e.Clock.Now())
	if !possible {
		return nil // whoever leads finds the note as it stands
	}
	record.Own = false // whoever goes on looks first
	return e.request(ctx, "undo preparation anew", key, d.Zone, func(ctx context.Context) error {
		return e.Holds.Write(ctx, key, record)
	})
}

// withoutResized leaves out messages for pods of zones whose replicas could not be written: a pod that leaves
// after all must not be told to stay.
func withoutResized(messages []plan.Action, receipts []plan.Receipt) []plan.Action {
	failed := map[string]bool{}
	for _, r := range receipts {
		switch r.Step.(type) {
		case plan.CancelDownscale, plan.SetReplicas:
			zone := r.Step.Effect().Zone
			failed[zone] = failed[zone] || r.Err != nil
		}
	}
	return slices.DeleteFunc(messages, func(step plan.Action) bool { return failed[step.Effect().Zone] })
}
