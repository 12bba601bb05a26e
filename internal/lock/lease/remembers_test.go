package lease_test

import (
	"net/http"
	"slices"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/apitest"
)

// holdOf returns the Lease of a group, without the label of holds, with this text as its record of zones.
func holdOf(group, zones string) coordinationv1.Lease {
	return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: hold.LeaseName(plan.Key{Name: group}),
		Annotations: map[string]string{contract.NameAnnotation(plan.KindGroup): group, contract.ZonesAnnotation: zones},
	}}
}

func TestWhichHoldsRememberAZone(t *testing.T) {
	zone := func(name string) string { return record.FormatMembers([]group.Member{{Zone: name, UID: "u"}}) }
	renamed := holdOf("store", zone("zone-a"))
	renamed.Name = "kube-scheduler"
	ownerless := holdOf("store", zone("zone-a"))
	delete(ownerless.Annotations, contract.NameAnnotation(plan.KindGroup))
	for sentence, tc := range map[string]struct {
		leases []coordinationv1.Lease
		want   []string
	}{
		"there is no Lease":                               {nil, nil},
		"its group remembers it":                          {[]coordinationv1.Lease{holdOf("store", zone("zone-a"))}, []string{"store"}},
		"the last of several groups remembers it":         {[]coordinationv1.Lease{holdOf("cache", ""), holdOf("other", zone("zone-b")), holdOf("store", zone("zone-a"))}, []string{"store"}},
		"a group remembers another zone":                  {[]coordinationv1.Lease{holdOf("store", zone("zone-b"))}, nil},
		"the zones that a group remembers cannot be read": {[]coordinationv1.Lease{holdOf("store", "damaged")}, []string{"lockstep-group-store, which cannot be read"}},
		"a Lease that is no hold claims to remember it":   {[]coordinationv1.Lease{renamed}, nil},
		"a Lease that is no hold comes before a hold":     {[]coordinationv1.Lease{renamed, holdOf("store", zone("zone-a"))}, []string{"store"}},
		"a hold does not name its group":                  {[]coordinationv1.Lease{ownerless}, []string{"lockstep-group-store, which cannot be read"}},
		"two groups remember it":                          {[]coordinationv1.Lease{holdOf("cache", zone("zone-a")), holdOf("store", zone("zone-a"))}, []string{"cache", "store"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := newRoom(t)
			r.server.meddle(func(q *http.Request) *http.Response {
				list := leasesAt(7)
				list.Items = tc.leases
				if q.URL.Query().Has("labelSelector") {
					list.Items = nil // no Lease has the label
				}
				return apitest.Answer(http.StatusOK, list)
			})
			claims, err := r.LiveRemembering(t.Context(), "team", "zone-a")
			var got []string
			for _, c := range claims {
				if c.Unreadable {
					got = append(got, c.Lease+", which cannot be read")
				} else {
					got = append(got, c.Key.Name)
				}
				if !c.Unlabelled {
					t.Errorf("%s counts as one with its label", c.Lease)
				}
			}
			if !slices.Equal(got, tc.want) || err != nil {
				t.Errorf("got %q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

// If a budget covered a zone before the zone joined its group, two holds record the zone.
func TestTheGroupThatRemembersAZoneComesBeforeABudget(t *testing.T) {
	r := newRoom(t)
	remembers := record.FormatMembers([]group.Member{{Zone: "zone-a", UID: "u"}})
	covered := plan.Key{Namespace: "team", Name: "cache", Kind: plan.KindBudget}
	group, budget := holdOf(store.Name, remembers), holdOf("", remembers)
	budget.Name = hold.LeaseName(covered)
	budget.Annotations[contract.NameAnnotation(plan.KindBudget)] = covered.Name
	r.show(&budget)
	r.show(&group)
	if got := r.Remembering("team", "zone-a"); !slices.Equal(got, []plan.Key{store, covered}) {
		t.Errorf("got %v, want the group before the budget", got)
	}
}

func TestHoldsThatCannotBeListedAreAnError(t *testing.T) {
	r := newRoom(t)
	r.server.meddle(func(*http.Request) *http.Response {
		return refusal(http.StatusForbidden, metav1.StatusReasonForbidden)
	})
	if _, err := r.LiveRemembering(t.Context(), "team", "zone-a"); err == nil {
		t.Error("no error, although the Leases could not be listed")
	}
}
