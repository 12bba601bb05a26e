package pool_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// due returns when a scenario is to be planned again, as times after its beginning.
func due(t *testing.T, text string) []time.Duration {
	t.Helper()
	s, err := parse("# promise\n" + text)
	if err != nil {
		t.Fatal(err)
	}
	var after []time.Duration
	for _, at := range s.snapshot.Due() {
		after = append(after, at.Sub(start))
	}
	slices.Sort(after)
	return slices.Compact(after)
}

func TestAPlanIsMadeAgainWhenSomethingIsDue(t *testing.T) {
	for sentence, tc := range map[string]struct {
		pool string
		want []time.Duration
	}{
		"nothing": {"pool web replicas=1\npod a ready", nil},
		"a pod of a silent node is to be replaced":     {"pool web replicas=1\npod a ready silent=4m", []time.Duration{time.Minute}},
		"a pod of a silent node was to be replaced":    {"pool web replicas=1\npod a ready silent=6m", nil},
		"an ordered pod has had its time":              {"pool web replicas=1 ordered\npod a starting created=4m", []time.Duration{6 * time.Minute}},
		"a pod that is not ordered needs no such look": {"pool web replicas=1\npod a starting created=4m", nil},
		"a hand-over is given up": {
			"pool web replicas=1 claims=data timeout=10m\nhold statefulcluster/web own\nintent a@10 IdentityHandover\npod a terminating claims=data marked=a endsby=-4m", []time.Duration{6 * time.Minute},
		},
		"a hand-over of the last copy is overdue": {
			"pool web replicas=1 claims=data timeout=10m\nhold statefulcluster/web own\nintent a@10 IdentityHandover\npod a terminating claims=data marked=a endsby=-14m", nil,
		},
		"a pod terminates and no identity is handed over": {"pool web replicas=1 timeout=10m\npod a ready\npod b terminating endsby=-4m", nil},
		"a granted eviction lapses":                       {"pool web replicas=1\nhold eviction/web own\nintent a@10 EvictionGranted known=1m\npod a ready", []time.Duration{plan.GrantLimit - time.Minute}},
		"a pause ends":                                    {"pool web replicas=1 paused until=30m\npod a ready", []time.Duration{30 * time.Minute}},
		"a Service that is missing is looked up again":    {"pool web replicas=1 service=web\nservice generation=2 missing ago=20s\npod a ready", []time.Duration{10 * time.Second}},
		"a Service that was found":                        {"pool web replicas=1 service=web\nservice generation=2 ago=20s\npod a ready", nil},
		"a pause has ended":                               {"pool web replicas=1 paused until=-1m\npod a ready", nil},
		"the end of no pause":                             {"pool web replicas=1 until=30m\npod a ready", nil},
		"a pod that delays others has had its time":       {"pool web replicas=2 scalemax=1\npod a starting created=4m", []time.Duration{6 * time.Minute}},
		"claims are to be deleted":                        {"pool web replicas=0 claims=data ttl=1h\nclaim a/data retired ago=20m", []time.Duration{40 * time.Minute}},
		"claims that a person keeps":                      {"pool web replicas=0 claims=data ttl=1h\nclaim a/data retired keep ago=20m", nil},
		"an update is late":                               {"pool web replicas=1 deadline=10m\npod a starting created=4m", []time.Duration{6 * time.Minute}},
		"an update has been late":                         {"pool web replicas=1 deadline=10m\npod a starting created=14m", nil},
		"volumes are to be looked at":                     {"pool web replicas=1 claims=data\npod a starting pending claims=data created=4m", []time.Duration{6 * time.Minute}},
		"volumes are to be looked at again":               {"pool web replicas=1 claims=data\npod a starting pending claims=data created=1h\nvolumes a ago=10s", []time.Duration{20 * time.Second}},
		"volumes of a pod that waits for claims":          {"pool web replicas=1 claims=data\npod a starting gated claims=data created=4m", nil},
		"volumes of a pod that is too many":               {"pool web replicas=1 claims=data\npod a starting pending claims=data created=4m\npod b ready claims=data", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, due(t, tc.pool)); diff != "" {
				t.Errorf("due (-want +got):\n%s", diff)
			}
		})
	}
}

// The Lease of a StatefulCluster is removed then. While pods exist, clients may ask to evict them.
func TestAStatefulClusterIsGoneWithItsLastPod(t *testing.T) {
	for _, exists := range []bool{false, true} {
		for _, pods := range []int{0, 1} {
			var s pool.Snapshot
			s.Pods = make([]pool.Pod, pods)
			if exists {
				s.Object.UID = objectUID
			}
			if want := !exists && pods == 0; s.Gone() != want {
				t.Errorf("it exists: %t, with %d pods: gone %t, want %t", exists, pods, s.Gone(), want)
			}
		}
	}
}

func TestAnUpdateIsCompleteOnceEachPodHasTheNewestTemplate(t *testing.T) {
	for sentence, tc := range map[string]struct {
		pods string
		want bool
	}{
		"each one has it":                         {"pod a ready", true},
		"one has another":                         {"pod a ready\npod b ready rev=1", false},
		"one is being given its former resources": {"pod a ready image=db:2 begun=10", false},
		"one that terminates has another":         {"pod a ready\npod b terminating rev=1", true},
		"one that has ended has another":          {"pod a ready\npod b finished rev=1", true},
		"one of another owner has it not":         {"pod a ready\npod b ready rev=1 owner=other", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, err := parse("# promise\npool web replicas=1\nrevision 1\nrevision 2\n" + tc.pods)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.snapshot.RolledOut(); got != tc.want {
				t.Errorf("rolled out: got %t, want %t", got, tc.want)
			}
		})
	}
}

// A claim that an identity has lost stays known although its template is gone, so it is never created again without its data.
func TestLabelsOfFormerClaimsNameTheOnesThatAreMissing(t *testing.T) {
	s, err := parse("# .\npool web replicas=1 claims=data\nlive\npod a gated mounts=data successor\nclaim a/data of=former siblings=data,logs from=a")
	if err != nil {
		t.Fatal(err)
	}
	labels := plan.Only[pool.LabelClaims](pool.Plan(s.snapshot))
	if len(labels) != 1 || !slices.Equal(labels[0].Siblings, []string{"data", "logs"}) {
		t.Errorf("got %+v", labels)
	}
}

// A record can be dropped although its pod stays: the pod has changed since, and the end was cancelled.
func TestAPodWhoseRecordIsDroppedMayLeaveLater(t *testing.T) {
	s, err := parse("# Two of three are asked for.\npool web replicas=2 claims=data whenscaled\nrecorded 2\npod a ready claims=data\npod b ready claims=data\npod c ready claims=data\nintent a@10 ScaledDown\nthen\n")
	if err != nil {
		t.Fatal(err)
	}
	of := s.snapshot.Hold.Intents
	for _, tc := range []struct {
		name    string
		intents []plan.Intent
		want    int
	}{
		{"it stays recorded", of, 2},
		{"it is dropped", nil, 3},
		{"it is recorded at another version", []plan.Intent{{Pod: "web-a", UID: "a", Version: 12, Cause: reason.ScaledDown}}, 2},
		{"another is recorded as well", append(of[:1:1], plan.Intent{Pod: "web-b", UID: "b", Version: 12, Cause: reason.ScaledDown}), 1},
		{"another leaves because it is too many", append(of[:1:1], plan.Intent{Pod: "web-b", UID: "b", Version: 12, Cause: reason.ReplicasExceeded}), 2},
	} {
		if got := s.snapshot.NextPart(s.snapshot.Part, tc.intents); got != (pool.Part{Replicas: tc.want, Recorded: true}) {
			t.Errorf("%s: got %+v, want %d replicas", tc.name, got, tc.want)
		}
	}
	s.snapshot.Pods = s.snapshot.Pods[1:]
	if got := s.snapshot.NextPart(s.snapshot.Part, nil); got != (pool.Part{Replicas: 2, Recorded: true}) {
		t.Errorf("the pod has ended: got %+v, want 2 replicas", got)
	}
}

// A pod that is released, or that ends although its recorded end was withdrawn, leaves nothing behind that may leave later.
func TestAPodThatIsGoneFromThePoolIsNotCountedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		pod  string
		want int
	}{
		"it stays":                  {"ready", 3},
		"it is released":            {"ready unmatched", 2},
		"another owner has it":      {"ready owner=other", 2},
		"it terminates":             {"terminating", 2},
		"its containers have ended": {"finished", 2},
	} {
		s, err := parse("# Two are asked for.\npool web replicas=2 claims=data whenscaled\nrecorded 2\npod a claims=data version=12 " + tc.pod + "\nintent a@10 ScaledDown\nthen\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.snapshot.NextPart(s.snapshot.Part, nil); got != (pool.Part{Replicas: tc.want, Recorded: true}) {
			t.Errorf("%s: got %+v, want %d replicas", name, got, tc.want)
		}
	}
}

// Replicas can be lowered to none, which is not the same as a number that is not recorded.
func TestAPodMayLeaveLaterAlthoughNoneIsAskedFor(t *testing.T) {
	s, err := parse("# None is asked for.\npool web replicas=0 claims=data whenscaled\nrecorded 0\npod a ready claims=data\nintent a@9 ScaledDown\nthen\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.snapshot.NextPart(s.snapshot.Part, nil); got != (pool.Part{Replicas: 1, Recorded: true}) {
		t.Errorf("got %+v, want 1 replica", got)
	}
}

// The status still names the revision before. While fewer pods have the newest one than asked for, it counts.
func TestACompleteUpdateEndsTheRevisionBeforeIt(t *testing.T) {
	for pods, want := range map[string]string{
		"pod a ready claims=data\n":                                   "1",
		"pod a ready claims=data\npod b starting claims=data\n":       "2",
		"pod a ready claims=data\npod b starting rev=1 claims=data\n": "1",
	} {
		s, err := parse("# Which revision pods had.\npool web replicas=2 claims=data paused\nrevision 1\nrevision 2\ncurrent 1\n" + pods + "then\n")
		if err != nil {
			t.Fatal(err)
		}
		if got := pool.Describe(s.snapshot, nil).Current; got != want {
			t.Errorf("%q: got %s, want %s", pods, got, want)
		}
	}
}

func TestRemarksAreWhatAPersonShouldCorrect(t *testing.T) {
	for text, want := range map[string][]plan.Refusal{
		"pool web replicas=1":                          nil,
		"pool web replicas=1 paused":                   nil,
		"pool web replicas=1 paused until=1m":          nil,
		"pool web replicas=1 paused until=0s":          {{Code: reason.PauseExpired}},
		"pool web replicas=1 paused until=0s grace=1s": {{Code: reason.PauseExpired}},
		"pool web replicas=1 paused nountil=soon":      {{Code: reason.InvalidPausedUntil, Detail: "soon"}},
		"pool web replicas=1 until=-1m":                nil,
		"pool web replicas=1 noeffect=label":           {{Code: reason.NoEffect, Detail: "label"}},
		"pool web replicas=2 grace=1s\npod a ready":    {{Code: reason.GraceUnavailable, Detail: "1 of 1 pods"}},
		"pool web replicas=2 grace=1s\npod a ready gate=open\npod b ready gate=closed\npod c terminating\npod d ready owner=other": nil,
		"pool web replicas=2\npod a ready": nil,
	} {
		s, err := parse("# promise\n" + text)
		if err != nil {
			t.Fatal(err)
		}
		var got []plan.Refusal
		for _, r := range s.snapshot.Remarks() {
			if r.Zone != "web" {
				t.Errorf("%s: the remark is about %q", text, r.Zone)
			}
			got = append(got, r.Because)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}
