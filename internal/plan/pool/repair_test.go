package pool_test

import (
	"errors"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func TestACrashLoopEndsWhenAnIdentityIsGivenUp(t *testing.T) {
	for sentence, tc := range map[string]struct {
		pods  string
		after time.Duration
		none  bool
	}{
		"the first of two":            {"pod a failing notready=20m\npod b failing notready=50m", 10 * time.Minute, false},
		"the time is over":            {"pod a failing notready=70m", -10 * time.Minute, false},
		"no crash loop":               {"pod a ready", 0, true},
		"a node is silent as well":    {"pod a failing notready=20m\npod b ready silent=4m", 40 * time.Minute, false},
		"an image cannot be pulled":   {"pod a unpullable notready=20m", 0, true},
		"its update may have done it": {"hold statefulcluster/web own\nintent a@9 UpdatedInPlace\npod a failing notready=20m image=db:2 updated=9", 0, true},
		"a pod of another owner":      {"pod a failing notready=20m owner=other", 0, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := mustParse(t, "# promise\npool web replicas=2\n"+tc.pods)
			if ends := s.CrashLoopEnds(); ends.IsZero() != tc.none || !tc.none && !ends.Equal(start.Add(tc.after)) {
				t.Errorf("it ends at %v, want %v after %v", ends, tc.after, start)
			}
		})
	}
	never := mustParse(t, "# promise\npool web replicas=1 crashloop=0s\npod a failing notready=20m")
	if ends := never.CrashLoopEnds(); !ends.IsZero() {
		t.Errorf("with crashLoopSeconds 0 it ends at %v", ends)
	}
}

func TestLossesAreOfPodsThatEnded(t *testing.T) {
	s := mustParse(t, "# promise\npool web replicas=3 claims=data\npod a finished claims=data\npod b ready claims=data\npod c finished disrupted claims=data")
	ended := func(id pool.ID, because reason.Code, err error) plan.Receipt {
		return plan.Receipt{Step: plan.DeletePod{Pod: pool.PodName("web", id), Because: because}, Err: err}
	}
	done := []plan.Receipt{
		ended("a", reason.PodFinished, nil), ended("c", reason.IdentityHandover, nil),
		ended("b", reason.IdentityHandover, nil), ended("b", reason.ScaledDown, nil), ended("c", reason.PodFinished, errors.New("refused")),
	}
	if n := pool.Losses(&s, done); n != 2 {
		t.Errorf("%d losses, want those of a and c", n)
	}
}

func TestOnlyPodsThatHaveUsedAClaimHaveLostIt(t *testing.T) {
	s := mustParse(t, "# promise\npool web replicas=3 claims=data\npod a ready mounts=data\npod b starting gated mounts=data\npod c ready claims=data")
	replaced := func(id pool.ID, because reason.Code, err error) plan.Receipt {
		return plan.Receipt{Step: plan.DeletePod{Pod: pool.PodName("web", id), Because: because}, Err: err}
	}
	done := []plan.Receipt{replaced("a", reason.ClaimLost, nil), replaced("b", reason.ClaimLost, nil), replaced("c", reason.NodeGone, nil), replaced("c", reason.ClaimLost, errors.New("refused"))}
	if n := pool.LostClaims(&s, done); n != 1 {
		t.Errorf("%d pods have lost a claim, want that of a", n)
	}
}
