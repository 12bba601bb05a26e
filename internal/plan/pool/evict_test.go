package pool_test

import (
	"testing"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant"
	"github.com/lockstep-dev/lockstep/internal/lock/invariant/pools"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// A client wants to evict the pod a.
func TestEvict(t *testing.T) {
	for sentence, tc := range map[string]struct{ pool, want string }{
		"a pod that serves goes while all others are available": {"pool web replicas=3\npod a ready\npod b ready\npod c ready", "yes, recorded"},
		"a pod stays while another one is unavailable": {
			"pool web replicas=3\npod a ready\npod b starting\npod c ready", "PodStarting web-b (1 of at most 1 down), 1 pod not ready in web, waits",
		},
		"a pod stays while another one fails, and the answer says why that fails": {
			"pool web replicas=2\npod a ready\npod b failing", "PodFailing web-b (CrashLoopBackOff, 1 of at most 1 down), 1 pod not ready in web, waits",
		},
		"a pod stays while the node of another one does not report": {
			"pool web replicas=3\npod a ready\npod b ready silent=6m\npod c ready", "NodeSilent web-b (1 of at most 1 down), 1 pod not ready in web, waits",
		},
		"a pod stays while one is missing": {
			"pool web replicas=3\npod a ready\npod b ready", "PodMissing (1 of at most 1 down), 1 pod unknown in web, waits",
		},
		"two of three may be unavailable": {"pool web replicas=3 max=2\npod a ready\npod b starting\npod c ready", "yes, recorded"},
		"a percentage is rounded up":      {"pool web replicas=3 max=40%\npod a ready\npod b starting\npod c ready", "yes, recorded"},
		"one pod goes although no pod may be unavailable during an update": {
			"pool web replicas=3 max=0\npod a ready\npod b ready\npod c ready", "yes, recorded",
		},
		"a pod that was Ready for a moment goes, because it counts as unavailable already": {
			"pool web replicas=2 minready=2h\npod a ready\npod b ready for=3h", "yes, recorded",
		},
		"a pod that was Ready for a moment counts as unavailable already": {"pool web replicas=2 minready=2h\npod a ready\npod b ready", "PodNotYetAvailable web-a (2 of at most 1 down), 2 pods not ready in web, waits"},
		"a pod that is down goes whatever else is down":                   {"pool web replicas=3\npod a starting\npod b starting\npod c starting", "yes, at version 10"},
		"a pod that is down goes under a hold by hand":                    {"pool web replicas=1\nhold manual/me\npod a failing", "yes, at version 10"},
		"a pod that terminates goes":                                      {"pool web replicas=1\npod a terminating", "yes"},
		"a pod of an earlier object that terminates goes":                 {"pool web replicas=1\npod a terminating owner=former", "yes"},
		"a pod goes while its pool is deleted":                            {"pool web replicas=2 deleting\npod a ready\npod b starting", "yes"},
		"a pod that is down is bound while its pool is deleted":           {"pool web replicas=2 deleting\npod a starting", "yes, at version 10"},
		"a pod stays while its pool cannot be read":                       {"pool web unreadable\npod a ready", "TemplateInvalid (no number)"},
		"a pod that is too many goes":                                     {"pool web replicas=1\npod a ready\npod b ready", "yes, recorded"},
		"a pod that lost its owner stays until it is adopted":             {"pool web replicas=2\npod a ready owner=\npod b ready", "AdoptionWaits web-a"},
		"a pod that was released goes":                                    {"pool web replicas=1\npod a ready owner= unmatched\npod b ready", "yes"},
		"a pod without an owner that is down goes":                        {"pool web replicas=1\npod a starting owner=", "yes, at version 10"},
		"a pod of another owner is unknown":                               {"pool web replicas=1\npod a ready owner=other", "CacheStale web-a"},
		"a pod that does not exist is unknown":                            {"pool web replicas=1\npod b ready", "CacheStale web-a"},
		"a pod stays under a hold by hand":                                {"pool web replicas=1\nhold manual/me\npod a ready", "GroupHeld (held from outside lockstep)"},
		"a pod goes once a hold by hand has expired":                      {"pool web replicas=1\nhold manual/me expired\npod a ready", "yes, recorded"},
		"a pod stays while the hold cannot be read":                       {"pool web replicas=1\nhold statefulcluster/web unreadable\npod a ready", "HoldUnreadable"},
		"the eviction of the pod was granted":                             {"pool web replicas=1\nhold eviction/web own\nintent a@10 EvictionGranted\npod a ready", "EvictionInProgress web-a"},
		"the claims of a pod whose identity is kept do not say so yet": {
			"pool web replicas=1 claims=data keepevicted\npod a ready claims=data", "HandoverUnderway web-a",
		},
		"the claims of a pod whose identity is kept belong to an earlier object": {
			"pool web replicas=1 claims=data keepevicted\npod a ready mounts=data\nclaim a/data of=former", "AdoptionWaits web-a",
		},
		"the claims of an earlier object do not matter if no identity is kept": {
			"pool web replicas=1 claims=data\npod a ready mounts=data\nclaim a/data of=former", "yes, recorded",
		},
		"the claims of a pod whose identity is kept say so": {
			"pool web replicas=1 claims=data keepevicted\npod a ready claims=data marked=a", "yes, recorded",
		},
		"a person has just asked to keep the identity of the pod": {
			"pool web replicas=1 claims=data\npod a ready claims=data retain marked=a", "HandoverUnderway web-a",
		},
		"the update of the pod is recorded": {
			"pool web replicas=2\nhold statefulcluster/web own\nintent a@10 UpdatedInPlace\npod a ready\npod b ready", "PodDisruptionPending web-a",
		},
		"the deletion of another pod is recorded": {
			"pool web replicas=2\nhold statefulcluster/web own\nintent b@10 ReplacementAsked\npod a ready\npod b ready", "PodDisruptionPending web-b (1 of at most 1 down), 1 pod not ready in web, waits",
		},
		"the next update has waited for longer": {
			"pool web replicas=2\nrevision 1\nrevision 2\nhold eviction/web own\nwaiting rollout/b since=2m seen=5s\nwaiting eviction since=1m seen=5s\npod a ready\npod b ready rev=1", "UpdateWaits web-b, waits",
		},
		"the next update waits, and the client asks for the first time": {
			"pool web replicas=2\nrevision 1\nrevision 2\nhold eviction/web own\nwaiting rollout/b since=2m seen=5s\npod a ready\npod b ready rev=1", "UpdateWaits web-b, waits",
		},
		"the client has waited for longer than the next update": {
			"pool web replicas=2\nrevision 1\nrevision 2\nhold eviction/web own\nwaiting rollout/b since=1m seen=5s\nwaiting eviction since=2m seen=5s\npod a ready\npod b ready rev=1", "yes, recorded",
		},
		"the update that had waited for longer asks no more": {
			"pool web replicas=2\nrevision 1\nrevision 2\nhold eviction/web own\nwaiting rollout/b since=2m seen=40s\npod a ready\npod b ready rev=1", "yes, recorded",
		},
		"a pod that is down goes although an update waits": {
			"pool web replicas=2\nrevision 1\nrevision 2\nhold eviction/web own\nwaiting rollout/b since=2m seen=5s\npod a starting\npod b ready rev=1", "yes, at version 10",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s, err := parse("# .\n" + tc.pool)
			if err != nil {
				t.Fatal(err)
			}
			ask := plan.EvictionRequest{Pod: "web-a", UID: "a"}
			decided := pool.OutlookOf(s.snapshot).Evict(ask)
			if got := answer(decided); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
			if broken := brokenBy(s.snapshot, ask, decided); broken != nil {
				t.Errorf("it breaks %v", broken)
			}
		})
	}
}

// The object was deleted during a grant.
func TestTheHoldOfADeletedPoolIsReleasedOncePodsAreGone(t *testing.T) {
	for given, want := range map[string]string{"": "release eviction/web", "\npod a terminating": ""} {
		s, err := parse("# .\npool web replicas=1\nlive\nhold eviction/web own\nintent a@10 EvictionGranted" + given)
		if err != nil {
			t.Fatal(err)
		}
		s.snapshot.Object = pool.Object{}
		if got := plan.Notation(pool.Plan(s.snapshot)); got != want {
			t.Errorf("with %q: got %q, want %q", given, got, want)
		}
	}
}

// The eviction is bound to another pod of the name.
func TestEvictionOfAFormerPodIsRefused(t *testing.T) {
	s, err := parse("# .\npool web replicas=1\npod a ready")
	if err != nil {
		t.Fatal(err)
	}
	if got := answer(pool.OutlookOf(s.snapshot).Evict(plan.EvictionRequest{Pod: "web-a", UID: "former"})); got != "CacheStale web-a" {
		t.Errorf("got %q", got)
	}
}

// brokenBy returns the safety rule that an answer breaks after a live read; nil: none.
func brokenBy(s pool.Snapshot, ask plan.EvictionRequest, decided plan.EvictionAnswer) *invariant.Violation {
	decision := hold.Decision{}
	if s.Live = true; decided.NeedsRecord() {
		decision = hold.DecideGrant(&s, decided.Record)
	}
	return pools.CheckEviction(s, ask, decided, decision)
}

// answer prints the answer to an eviction of the pod a.
func answer(p plan.EvictionAnswer) string {
	text := "yes"
	switch {
	case !p.Allowed():
		text = p.Because.String()
	case p.Version != 0:
		text = "yes, at version " + p.Version.String()
	case p.NeedsRecord():
		text = "yes, recorded"
	}
	if tally := p.Tally.String(); tally != "" {
		text += ", " + tally
	}
	if p.Place.Zone != "" {
		text += ", waits"
	}
	return text
}
