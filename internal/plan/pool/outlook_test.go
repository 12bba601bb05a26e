package pool_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

func TestEndedIdentitiesHaveNeitherAPodNorARecord(t *testing.T) {
	for sentence, tc := range map[string]struct{ pool, want string }{
		"an identity whose claims are marked has ended":       {"pool web claims=data\nclaim a/data retired", "a 1 false"},
		"one of two claims is not marked":                     {"pool web claims=data,logs\nclaim a/data retired\nclaim a/logs", ""},
		"a claim is not marked":                               {"pool web claims=data\nclaim a/data", ""},
		"an identity with a pod has not ended":                {"pool web claims=data\npod a ready\nclaim a/data retired", ""},
		"an identity with a record has not ended":             {"pool web claims=data\nintent a@200 ScaledDown\nclaim a/data retired", ""},
		"a claim of an earlier object belongs to no identity": {"pool web claims=data\nclaim a/data retired of=earlier", ""},
		"a person wants to keep it":                           {"pool web claims=data\nclaim a/data retired keep", "a 1 true"},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, err := parse("# " + sentence + "\n" + tc.pool)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range pool.OutlookOf(s.snapshot).Ended() {
				got = append(got, fmt.Sprintf("%s %d %t", e.ID, len(e.Claims), e.Keep))
			}
			if strings.Join(got, ", ") != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A client ends the pod a.
func TestKeptIdentities(t *testing.T) {
	for sentence, tc := range map[string]struct{ pool, want string }{
		"none is kept without a policy":                 {"pool web claims=data\npod a ready claims=data", "may"},
		"one is kept if its pod is deleted":             {"pool web claims=data keepdeleted\npod a ready claims=data", "deleted may"},
		"one is kept if its pod is evicted":             {"pool web claims=data keepevicted\npod a ready claims=data", "evicted may"},
		"a request without marks does not count":        {"pool web claims=data\npod a ready retain claims=data", "may"},
		"a request counts once the claim says so":       {"pool web claims=data\npod a ready retain mounts=data\nclaim a/data from=a retain siblings=data", "deleted evicted retained may"},
		"each claim has to say so":                      {"pool web claims=data,logs\npod a ready retain mounts=data,logs\nclaim a/data from=a retain siblings=data,logs\nclaim a/logs", "deleted evicted may"},
		"a claim that names another pod does not count": {"pool web claims=data\npod a ready retain mounts=data\nclaim a/data from=x retain siblings=data", "may"},
		"a request that is taken back does not count":   {"pool web claims=data\npod a ready mounts=data\nclaim a/data from=a retain siblings=data", "deleted evicted may"},
		"a pod that lacks a claim keeps nothing":        {"pool web claims=data,logs keepdeleted\npod a ready mounts=data,logs\nclaim a/data", ""},
		"a pod without claims keeps nothing":            {"pool web keepdeleted\npod a ready", ""},
		"a pod of another owner keeps nothing":          {"pool web claims=data keepdeleted\npod a ready owner=other claims=data", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, err := parse("# " + sentence + "\n" + tc.pool)
			if err != nil {
				t.Fatal(err)
			}
			o := pool.OutlookOf(s.snapshot)
			var got []string
			for _, answer := range []struct {
				word string
				is   bool
			}{{"deleted", o.Keeps("web-a", false)}, {"evicted", o.Keeps("web-a", true)}, {"retained", o.Retained("web-a")}, {"may", o.CanRetain("web-a")}} {
				if answer.is {
					got = append(got, answer.word)
				}
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestPodsLeaveInAnOrder(t *testing.T) {
	s, err := parse("# promise\npool web replicas=3\npod a ready\npod b starting\npod c ready owner=other")
	if err != nil {
		t.Fatal(err)
	}
	o := pool.OutlookOf(s.snapshot)
	if a, b, c := o.LeavesAs("web-a"), o.LeavesAs("web-b"), o.LeavesAs("web-c"); a != 2 || b != 1 || c != 0 {
		t.Errorf("got %d, %d, %d", a, b, c)
	}
}
