package act_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// Tell implements act.Messages.
func (r *recorder) Notify(_ plan.Key, zone group.Zone, message group.Message, pods []plan.Pod) {
	for _, pod := range pods {
		r.begin("send "+string(message)+" to "+zone.Name+"/"+pod.Name+zone.Delay.Call.Path, nil)
		r.end()
	}
}

// A pod that stays after all is notified only after the hold has dropped its acknowledgement. Otherwise the
// delay of its next downscale would be too short.
func TestPodsAreNotifiedAfterTheHoldWasWritten(t *testing.T) {
	s := testGroup()
	notify := group.NotifyPods{Zone: "zone-a", Message: group.Stay, Call: group.Call{Port: 1, Path: "/former"}, Pods: s.Zones[0].Pods}
	forget := group.RecordAcknowledged{Zone: "zone-a"}
	notified := []string{"send stay to zone-a/zone-a-0/former", "send stay to zone-a/zone-a-1/former"}
	raise := group.SetReplicas{Zone: "zone-a", UID: "uid-of-zone-a", Version: 10, From: 2, To: 3}
	for sentence, tc := range map[string]struct {
		steps    []plan.Action
		decision hold.Decision
		prepare  func(*room)
		want     []string
	}{
		"with a write of the hold":          {[]plan.Action{notify, forget}, write(s, ""), nil, append([]string{newLease}, notified...)},
		"without one":                       {[]plan.Action{notify}, hold.Decision{}, nil, notified},
		"under a hold from outside":         {[]plan.Action{notify, forget, raise}, outside(s), nil, append([]string{newLease, "PATCH statefulsets/zone-a"}, notified...)},
		"not if the hold cannot be written": {[]plan.Action{notify, forget}, write(s, ""), func(r *room) { r.refuses = refusing(newLease) }, []string{newLease, "GET " + theLease}},
		"not in an unmanaged namespace":     {[]plan.Action{notify}, hold.Decision{}, func(r *room) { r.optedOut = true }, nil},
		"not in a dry run":                  {[]plan.Action{notify, forget}, write(s, ""), func(r *room) { r.DryRun = true }, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.Messages = r.recorder
			if tc.prepare != nil {
				tc.prepare(r)
			}
			receipts, err := r.Run(t.Context(), &s, tc.steps, tc.decision)
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

// outside returns the decision to write a hold from outside that expired long ago.
func outside(s group.Snapshot) hold.Decision {
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
