package act

import (
	"context"
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Preparations asks pods about a decrease. Nobody waits for their answers.
type Preparations interface {
	// Noted hears that this process has noted a decrease about which nobody was asked, and
	// what is left of the one before it.
	Noted(key plan.Key, d, former plan.Decrease)
	// Ask asks pods of a zone to prepare or, where the decrease is being undone, to undo that.
	Ask(key plan.Key, zone plan.Zone, d plan.Decrease, pods []plan.Pod, limit time.Duration)
}

// Messages takes messages for pods of zones with a delay. Nobody waits for answers.
type Messages interface {
	Tell(key plan.Key, zone plan.Zone, message plan.Message, pods []plan.Pod)
}

// remember tells whoever asks pods that this process has noted a decrease, and what is
// left of the one before it.
func (e *Executor) remember(key plan.Key, steps []plan.Action) {
	for _, step := range steps {
		if a, is := step.(plan.NoteDecrease); is && a.Decrease.Ours && a.Decrease.Stage == plan.Preparing {
			e.Preparations.Noted(key, a.Decrease, a.Former)
		}
	}
}

// ask lets pods be asked to prepare, or to undo that. Nobody waits for their answers.
func (e *Executor) ask(ctx context.Context, s plan.Snapshot, steps []plan.Action) []plan.Receipt {
	var receipts []plan.Receipt
	for _, step := range steps {
		var decrease plan.Decrease
		var pods []plan.Pod
		var limit time.Duration
		switch a := step.(type) {
		case plan.PreparePods:
			decrease, pods, limit = a.Decrease, a.Pods, a.Within
		case plan.UndoPreparation:
			decrease, pods = a.Decrease, a.Pods
		case plan.DeletePod, plan.Withdraw, plan.AdoptRevision, plan.NoteDecrease, plan.VoidDecrease, plan.EndDecrease, plan.StampDownscale,
			plan.SetReplicas, plan.ReportReplicas, plan.TellPods, plan.NoteAgreed, plan.EndIntent, plan.NoteZones, plan.TakePlace, plan.Release, plan.Wait:
			continue
		}
		if ctx.Err() != nil || !e.Managed(s.Key.Namespace) {
			continue
		}
		zone, _ := s.Zone(decrease.Zone)
		e.Preparations.Ask(s.Key, zone, decrease, pods, limit)
		receipts = append(receipts, plan.Receipt{Step: step})
	}
	return receipts
}

// Abandoned notes that pods must be told to stay: a process that no longer leads asked
// them to prepare, and its note has been taken back since, so they may have heard the
// request last.
func (e *Executor) Abandoned(ctx context.Context, key plan.Key, d plan.Decrease) error {
	record, possible := hold.UndoAnew(e.Holds.Cached(key), d, e.Clock.Now())
	if !possible {
		return nil // whoever leads finds the note as it stands
	}
	record.Own = false // whoever goes on looks first
	return e.request(ctx, "undo preparation anew", key, d.Zone, func(ctx context.Context) error {
		return e.Holds.Write(ctx, key, record)
	})
}

// tell hands messages over. It comes after the hold was written: who is told to
// stay must not count as about to leave any more.
func (e *Executor) tell(ctx context.Context, s plan.Snapshot, steps []plan.Action) []plan.Receipt {
	var receipts []plan.Receipt
	for _, step := range steps {
		a, is := step.(plan.TellPods)
		if !is || ctx.Err() != nil || !e.Managed(s.Key.Namespace) {
			continue
		}
		zone, _ := s.Zone(a.Zone)
		zone.Delay.Call = a.Call
		e.Messages.Tell(s.Key, zone, a.Message, a.Pods)
		receipts = append(receipts, plan.Receipt{Step: a})
	}
	return receipts
}

// unmoved leaves out messages for pods of zones on which something could not be
// written: who leaves after all must not be told to stay.
func unmoved(steps []plan.Action, receipts []plan.Receipt) []plan.Action {
	failed := map[string]bool{}
	for _, r := range receipts {
		switch a := r.Step.(type) {
		case plan.VoidDecrease:
			failed[a.Decrease.Zone] = failed[a.Decrease.Zone] || r.Err != nil
		case plan.SetReplicas:
			failed[a.Zone] = failed[a.Zone] || r.Err != nil
		case plan.DeletePod, plan.Withdraw, plan.AdoptRevision, plan.NoteDecrease, plan.PreparePods, plan.UndoPreparation, plan.EndDecrease,
			plan.StampDownscale, plan.ReportReplicas, plan.TellPods, plan.NoteAgreed, plan.EndIntent, plan.NoteZones, plan.TakePlace, plan.Release, plan.Wait:
		}
	}
	return slices.DeleteFunc(slices.Clone(steps), func(step plan.Action) bool {
		a, is := step.(plan.TellPods)
		return is && failed[a.Zone]
	})
}
