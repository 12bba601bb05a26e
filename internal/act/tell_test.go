package act_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/fixture"
	"github.com/lockstep-dev/lockstep/internal/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Tell implements act.Told.
func (r *recorder) Tell(_ plan.Key, zone plan.Zone, message plan.Message, pods []plan.Pod) {
	for _, pod := range pods {
		r.begin("tell "+string(message)+" to "+zone.Name+"/"+pod.Name+zone.Delay.Call.Path, nil)
		r.end()
	}
}

// Who is to stay after all is told so once the hold does not note any more that he
// agreed to leave: his next way out would be too short.
func TestPodsAreToldAfterTheHoldWasWritten(t *testing.T) {
	s := group()
	tell := plan.TellPods{Zone: "zone-a", Message: plan.Stay, Call: plan.Call{Port: 1, Path: "/former"}, Pods: s.Zones[0].Pods}
	forget := plan.NoteAgreed{Zone: "zone-a"}
	told := []string{"tell stay to zone-a/zone-a-0/former", "tell stay to zone-a/zone-a-1/former"}
	raise := plan.SetReplicas{Zone: "zone-a", UID: "uid-of-zone-a", Version: 10, From: 2, To: 3}
	for sentence, tc := range map[string]struct {
		steps    []plan.Action
		decision hold.Decision
		prepare  func(*room)
		want     []string
	}{
		"with a note":                 {[]plan.Action{tell, forget}, write(s, ""), nil, append([]string{newLease}, told...)},
		"without one":                 {[]plan.Action{tell}, hold.Decision{}, nil, told},
		"under a hold from outside":   {[]plan.Action{tell, forget, raise}, outside(s), nil, append([]string{"PATCH statefulsets/zone-a", newLease}, told...)},
		"not without the note":        {[]plan.Action{tell, forget}, write(s, ""), func(r *room) { r.refuses = refusing(newLease) }, []string{newLease, "GET " + theLease}},
		"not where nobody is managed": {[]plan.Action{tell}, hold.Decision{}, func(r *room) { r.optedOut = true }, nil},
		"not in a dry run":            {[]plan.Action{tell, forget}, write(s, ""), func(r *room) { r.DryRun = true }, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.Told = r.recorder
			if tc.prepare != nil {
				tc.prepare(r)
			}
			receipts, err := r.Run(t.Context(), s, tc.steps, tc.decision)
			if failed := r.refuses != nil; (err != nil) != failed {
				t.Errorf("got error %v", err)
			}
			if diff := cmp.Diff(tc.want, r.said()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if want := len(tc.steps); err == nil && len(tc.want) > 0 && len(receipts) != want {
				t.Errorf("%d receipts, want %d: %v", len(receipts), want, receipts)
			}
		})
	}
}

// outside is a note in a hold from outside that ran out long ago.
func outside(s plan.Snapshot) hold.Decision {
	d := write(s, "manual/maintenance")
	d.Record.Renewed = s.Now.Add(-1000 * hold.Duration)
	return d
}

func refusing(what string) func(string) int32 {
	return func(request string) int32 {
		if request == what {
			return http.StatusInternalServerError
		}
		return 0
	}
}

// A pod of one zone that does not answer keeps no other from being told to stay.
func TestPodsAreToldAlthoughAPreparationCannotBeUndone(t *testing.T) {
	s := group()
	s.Hold.Agreed = map[string]plan.Agreement{"zone-a": {Stretches: []plan.Stretch{plan.StretchOf("uid-of-zone-a-0", 0, s.Now)}}}
	d := fixture.Shrinking("zone-b", 3, 1, plan.Undoing)
	s.Hold.Decrease = d
	steps := []plan.Action{
		plan.UndoPreparation{Decrease: d, Pods: s.Zones[0].Pods[1:]}, plan.EndDecrease{Decrease: d},
		plan.NoteAgreed{Zone: "zone-a"}, plan.TellPods{Zone: "zone-a", Message: plan.Stay, Pods: s.Zones[0].Pods[:1]},
	}
	s.Live = true
	r := newRoom(t)
	r.Told, r.Pods = r.recorder, pods{recorder: r.recorder, fail: errors.New("no answer")}
	if _, err := r.Run(t.Context(), s, steps, hold.Cover(s, steps)); err == nil {
		t.Error("that a pod did not answer is no failure")
	}
	if diff := cmp.Diff([]string{"undo /zone-a-1/prepare", newLease, "tell stay to zone-a/zone-a-0"}, r.said()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if noted := r.bodies[1]; !strings.Contains(noted, "undoing") || strings.Contains(noted, "delayed-downscales") {
		t.Errorf("written: %s", noted)
	}
}
