package plan

import (
	"slices"
	"time"

	"github.com/lockstep-dev/lockstep/internal/reason"
)

// Asked is what this process has asked pods last about a decrease of the group, and
// what came of it: to prepare, where the decrease is at the stage Preparing, or to
// undo that. The zero Asked: nothing.
type Asked struct {
	Decrease Decrease
	UIDs     []string  // of the pods
	Underway bool      // not all of them have answered yet
	Heard    bool      // one of them may have heard it, now or when it was asked before
	Failed   string    // why not all of them agreed
	Again    time.Time // after a failure: they are not asked again before
}

// about tells whether pods were asked about exactly this decrease, all of these
// among them.
func (a Asked) about(d Decrease, pods []Pod) bool {
	return a.ofThe(d) && !slices.ContainsFunc(pods, func(pod Pod) bool { return !slices.Contains(a.UIDs, pod.UID) })
}

// ofThe tells whether pods were asked about that decrease since it got to its
// stage: the same one may be tried again, by whomever.
func (a Asked) ofThe(d Decrease) bool {
	return a.Decrease.Same(d) && a.Decrease.Stage == d.Stage && a.Decrease.Since.Equal(d.Since)
}

// prepare asks who leaves by a decrease of lockstep's own, once that is noted, and
// goes on when all have agreed.
func (b *board) prepare(d Decrease) []Action {
	leaves, because := b.stillDue(d)
	left := b.patience(d).Sub(b.Now) - (PrepareLimit - AnswerLimit) // it takes time to write down what came of it
	late := left <= 0
	asked := b.Asked
	if !asked.ofThe(d) {
		asked = Asked{}
	}
	switch {
	case unknownYet[because.Code] && !late:
		return nil // it is not known yet whether it is still wanted
	case (!because.None() || late) && !b.Hold.Own && b.Now.Before(b.patience(d)):
		return nil // another process may still be asking
	case !because.None() || late:
		return b.takeBack(d)
	case len(leaves.ask) > 0 && !asked.about(d, leaves.ask):
		return []Action{PreparePods{Decrease: d, Pods: leaves.ask, Within: left}}
	case asked.Underway:
		return nil
	case asked.Failed != "" && asked.Heard:
		return []Action{NoteDecrease{Decrease: d.TakenBack(b.Now), Because: reason.PreparationFailed, Why: asked.Failed}}
	case asked.Failed != "":
		return b.endUnheard(d, asked.Failed) // there is nothing to undo
	}
	d.Stage, d.Since, d.Asked = Admitted, b.Now, AskedOf(leaves.ask)
	return []Action{NoteDecrease{Decrease: d, Because: leaves.zone.wish.because}}
}

// undo tells pods that were prepared in vain that they stay, and ends the decrease
// when all have answered. Where it is in effect after all, there is nothing to take
// back, and its end is waited for.
func (b *board) undo(d Decrease) []Action {
	if c := b.Course(d); c == Unseen || c == InEffect {
		return nil
	}
	pods, asked := b.prepared(d), b.Asked
	switch {
	case len(pods) == 0:
		return nil // whom a StatefulSet has adopted that was made anew is not known yet
	case !asked.about(d, pods), !asked.Underway && asked.Failed != "" && !b.Now.Before(asked.Again):
		return []Action{UndoPreparation{Decrease: d, Pods: pods}}
	case asked.Underway || asked.Failed != "":
		return nil
	}
	return b.end(d)
}

// unanswered says which pods keep a preparation from being undone.
func (b *board) unanswered(d Decrease) Refusal {
	if d.Stage != Undoing || !b.Asked.ofThe(d) || b.Asked.Failed == "" {
		return Refusal{}
	}
	return Refusal{Code: reason.PodNotTold, Detail: b.Asked.Failed, Until: b.ahead(b.Asked.Again)}
}

// undoOrphanedPreparation notes again a decrease for which this process has asked pods that stay,
// and of which the hold says nothing any more: they may have heard that after
// somebody else told them to stay.
func (b *board) undoOrphanedPreparation() []Action {
	a := b.Asked
	if a.Decrease.Stage != Preparing || a.Underway || !a.Heard || !b.joinable(a.Decrease.Zone) {
		return nil
	}
	d := a.Decrease.TakenBack(b.Now)
	asked := func(pod Pod) bool { return slices.Contains(a.UIDs, pod.UID) }
	if !slices.ContainsFunc(b.prepared(d), asked) {
		return nil
	}
	return []Action{NoteDecrease{Decrease: d, Because: reason.DownscaleNeverCame}}
}
