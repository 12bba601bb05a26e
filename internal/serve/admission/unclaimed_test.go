package admission_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// Caches that show no hold for a pod may be late, so the webhook reads the holds from the API server.
func TestPodWithoutACachedHoldIsJudgedByTheAPIServer(t *testing.T) {
	const pod = "zone-x-0"
	unclaimed := observe.Pod{UID: "u", Version: 9, Up: true, Unclaimed: true}
	for shown, place := range map[string]func(*evictable){
		"the caches show the pod":      func(c *evictable) { c.cached[pod] = unclaimed },
		"only the API server shows it": func(c *evictable) { c.hidden[pod], c.there[pod] = true, unclaimed },
	} {
		t.Run(shown, func(t *testing.T) {
			for sentence, tc := range map[string]struct {
				holds func(*evictable)
				code  int
				why   reason.Code
				says  string
			}{
				"no hold remembers its StatefulSet":     {func(*evictable) {}, http.StatusOK, reason.NotManaged, ""},
				"a hold remembers its StatefulSet":      {claimedBy(pod, lease.Claim{}), http.StatusTooManyRequests, reason.CacheStale, ""},
				"no hold that remembers it can be read": {claimedBy(pod, lease.Claim{Lease: "lockstep-group-x", Unreadable: true}), http.StatusForbidden, reason.HoldUnreadable, "lockstep-group-x"},
				"one of two holds can be read":          {claimedBy(pod, lease.Claim{Unreadable: true}, lease.Claim{}), http.StatusTooManyRequests, reason.CacheStale, ""},
				"the API server does not show any hold": {func(c *evictable) { c.unreadableGroup = errors.New("forbidden") }, http.StatusTooManyRequests, reason.ParentUnknown, "did not show the holds of groups: forbidden"},
			} {
				t.Run(sentence, func(t *testing.T) {
					c := threeOfThree()
					place(c)
					tc.holds(c)
					v := c.webhook().Judge(t.Context(), admission.Eviction{Namespace: "team", Pod: pod, UID: unclaimed.UID})
					says(t, v, tc.code, tc.why)
					if !strings.Contains(v.Message, tc.says) {
						t.Errorf("the message is %q, want %q", v.Message, tc.says)
					}
				})
			}
		})
	}
}

// claimedBy adds holds that remember the StatefulSet of a pod.
func claimedBy(pod string, claims ...lease.Claim) func(*evictable) {
	return func(c *evictable) { c.claims = map[string][]lease.Claim{pod: claims} }
}

// Caches that show only a budget may be late for the hold of a group that remembers the
// StatefulSet. So the webhook reads the holds from the API server before it allows an eviction.
func TestPodWithOnlyACachedBudgetIsJudgedByTheAPIServer(t *testing.T) {
	claim := lease.Claim{Key: plan.Key{Namespace: "team", Name: "other"}, Lease: "lockstep-group-other"}
	for pod, granted := range map[string]reason.Code{"zone-a-0": reason.EvictionGranted, "zone-a-1": reason.PodUnavailable} {
		t.Run(pod, func(t *testing.T) {
			for sentence, tc := range map[string]struct {
				holds func(*evictable)
				code  int
				why   reason.Code
			}{
				"no group remembers its StatefulSet":    {func(*evictable) {}, http.StatusOK, granted},
				"a group remembers its StatefulSet":     {remembers("zone-a", claim), http.StatusTooManyRequests, reason.CacheStale},
				"a group remembers another StatefulSet": {remembers("zone-b", claim), http.StatusOK, granted},
				"the API server does not show any hold": {func(c *evictable) { c.unreadableGroup = errors.New("forbidden") }, http.StatusTooManyRequests, reason.ParentUnknown},
			} {
				t.Run(sentence, func(t *testing.T) {
					c := aDown(func(s *group.Snapshot) { s.Key.Kind = plan.KindBudget })
					if pod == "zone-a-0" {
						c = threeOfThree(func(s *group.Snapshot) { s.Key.Kind = plan.KindBudget })
					}
					tc.holds(c)
					says(t, c.webhook().Judge(t.Context(), admission.Eviction{Namespace: "team", Pod: pod}), tc.code, tc.why)
					if tc.code != http.StatusOK && len(c.written) > 0 {
						t.Errorf("a refused eviction is recorded: %+v", c.written)
					}
				})
			}
		})
	}
}

// remembers adds holds of groups that remember a StatefulSet.
func remembers(set string, claims ...lease.Claim) func(*evictable) {
	return func(c *evictable) { c.claimsOfGroups = map[string][]lease.Claim{set: claims} }
}

func TestRefusedOrphanRestoresTheLabelOfItsLease(t *testing.T) {
	const pod = "zone-x-0"
	key, name := plan.Key{Namespace: "team", Name: "cache", Kind: plan.KindBudget}, "lockstep-budget-cache"
	for sentence, tc := range map[string]struct {
		claim     lease.Claim
		dryRun    bool
		unmanaged bool
		want      []plan.Key
	}{
		"it lost its label":           {lease.Claim{Key: key, Lease: name, Unlabelled: true}, false, false, []plan.Key{key}},
		"it has its label":            {lease.Claim{Key: key, Lease: name}, false, false, nil},
		"it cannot be read":           {lease.Claim{Key: key, Lease: name, Unlabelled: true, Unreadable: true}, false, false, []plan.Key{key}},
		"its owner is unknown":        {lease.Claim{Key: plan.Key{Namespace: "team"}, Lease: name, Unlabelled: true, Unreadable: true}, false, false, nil},
		"the request is a dry run":    {lease.Claim{Key: key, Lease: name, Unlabelled: true}, true, false, nil},
		"its namespace has opted out": {lease.Claim{Key: key, Lease: name, Unlabelled: true}, false, true, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			c := threeOfThree()
			c.cached[pod] = observe.Pod{UID: "u", Version: 9, Up: true, Unclaimed: true}
			c.claims = map[string][]lease.Claim{pod: {tc.claim}}
			webhook := c.webhook()
			webhook.Holds.Managed = func(string) bool { return !tc.unmanaged }
			c.broken = errors.New("not written")
			if v := webhook.Judge(t.Context(), admission.Eviction{Namespace: "team", Pod: pod, UID: "u", DryRun: tc.dryRun}); v.Allowed {
				t.Errorf("got %+v", v)
			}
			if !slices.Equal(c.relabelled, tc.want) {
				t.Errorf("the label was put back on the Leases of %v, want %v", c.relabelled, tc.want)
			}
		})
	}
}
