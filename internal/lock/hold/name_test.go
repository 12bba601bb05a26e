package hold_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// objectName matches the names that the API server accepts for a Lease.
var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func TestLeaseName(t *testing.T) {
	for group, want := range map[string]string{
		"store":                  "lockstep-group-store",
		"store-2.blue":           "lockstep-group-store-2.blue",
		"0":                      "lockstep-group-0",
		strings.Repeat("a", 238): "lockstep-group-" + strings.Repeat("a", 238),
		"":                       "lockstep-group.e3b0c44298fc1c149afbf4c8996fb924",
	} {
		if got := nameOf(group); got != want {
			t.Errorf("group %q: got %s, want %s", group, got, want)
		}
	}
}

func TestOddGroupNamesGetAHash(t *testing.T) {
	for sentence, group := range map[string]string{
		"empty":           "",
		"upper case":      "Store",
		"underscore":      "my_store",
		"ends in a dash":  "store-",
		"starts with dot": ".store",
		"two dots":        "a..b",
		"dot and dash":    "a.-b",
		"line break":      "store\n",
		"other script":    "запас",
		"no UTF-8":        "\xff",
		"too long":        strings.Repeat("a", 239),
		"very long":       strings.Repeat("a", 100000),
	} {
		t.Run(sentence, func(t *testing.T) {
			name := nameOf(group)
			if !strings.HasPrefix(name, "lockstep-group.") || len(name) != len("lockstep-group.")+32 || !objectName.MatchString(name) {
				t.Errorf("group %q: %s", group, name)
			}
		})
	}
}

func TestNoTwoGroupsShareALeaseName(t *testing.T) {
	// Names that resemble the results of LeaseName are the most likely to collide.
	group := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9_.\-]{0,6}`),
		rapid.StringMatching(`(lockstep-group[.-])?[0-9a-f]{32}`),
		rapid.StringMatching(`[a-z]{230,260}`),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := group.Draw(t, "a"), group.Draw(t, "b")
		for _, name := range []string{nameOf(a), nameOf(b)} {
			if len(name) > 253 || !objectName.MatchString(name) {
				t.Fatalf("%q is no object name", name)
			}
		}
		if a != b && nameOf(a) == nameOf(b) {
			t.Fatalf("%q and %q share %s", a, b, nameOf(a))
		}
		if twice := nameOf(nameOf(a)); twice == nameOf(a) {
			t.Fatalf("%q is the name of its own group's Lease", twice)
		}
	})
}

func nameOf(group string) string { return hold.LeaseName(plan.Key{Namespace: "team", Name: group}) }

func TestAStatefulSetThatStandsAloneHasALeaseOfItsOwn(t *testing.T) {
	for set, want := range map[string]string{
		"store":                  "lockstep-statefulset-store",
		strings.Repeat("a", 233): "lockstep-statefulset.",
	} {
		got := hold.LeaseName(plan.Key{Namespace: "team", Name: set, Kind: plan.KindStatefulSet})
		if !strings.HasPrefix(got, want) || !objectName.MatchString(got) || len(got) > 253 {
			t.Errorf("%s: got %s, want %s", set, got, want)
		}
	}
}

func TestAStatusIsNamedAfterItsGroupWhereItCanBe(t *testing.T) {
	for group, want := range map[string]string{
		"store":                                  "store",
		"store-2.blue":                           "store-2.blue",
		"":                                       "group.e3b0c44298fc1c149afbf4c8996fb924",
		"group.e3b0c44298fc1c149afbf4c8996fb924": "group.3a666db7cfdab969c28c99fdd86b785e",
	} {
		if got := hold.StatusName(group); got != want {
			t.Errorf("group %q: got %s, want %s", group, got, want)
		}
	}
}

func TestNoTwoGroupsShareAStatus(t *testing.T) {
	group := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9_.\-]{0,6}`),
		rapid.StringMatching(`group\.[0-9a-f]{32}`),
		rapid.StringMatching(`[a-z]{230,260}`),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := group.Draw(t, "a"), group.Draw(t, "b")
		for _, name := range []string{hold.StatusName(a), hold.StatusName(b)} {
			if len(name) > 253 || !objectName.MatchString(name) {
				t.Fatalf("%q is no object name", name)
			}
		}
		if a != b && hold.StatusName(a) == hold.StatusName(b) {
			t.Fatalf("%q and %q share %s", a, b, hold.StatusName(a))
		}
		if name := hold.StatusName(a); hold.StatusName(name) == name && name != a {
			t.Fatalf("%s is the name of the status of %q and of a group called so", name, a)
		}
	})
}

func TestNamesOfLeasesThatAreHolds(t *testing.T) {
	for name, want := range map[string]bool{
		"lockstep-group-store": true, "lockstep-group.e3b0c44298fc1c149afbf4c8996fb924": true, "lockstep-budget-cache": true, "lockstep-statefulset-web": true,
		"lockstep-leader": false, "lockstep-groups": false, "lockstep-group": false, "kube-scheduler": false,
	} {
		if got := hold.IsLeaseName(name); got != want {
			t.Errorf("%s: got %t, want %t", name, got, want)
		}
	}
}
