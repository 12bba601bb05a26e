package hold_test

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lockstep-dev/lockstep/internal/hold"
)

// objectName is what the API server accepts as the name of a Lease.
var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func TestLeaseName(t *testing.T) {
	for group, want := range map[string]string{
		"store":                  "lockstep-group-store",
		"store-2.blue":           "lockstep-group-store-2.blue",
		"0":                      "lockstep-group-0",
		strings.Repeat("a", 238): "lockstep-group-" + strings.Repeat("a", 238),
		"":                       "lockstep-group.e3b0c44298fc1c149afbf4c8996fb924",
	} {
		if got := hold.LeaseName(group); got != want {
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
			name := hold.LeaseName(group)
			if !strings.HasPrefix(name, "lockstep-group.") || len(name) != len("lockstep-group.")+32 || !objectName.MatchString(name) {
				t.Errorf("group %q: %s", group, name)
			}
		})
	}
}

func TestNoTwoGroupsShareALeaseName(t *testing.T) {
	// Names that look like what LeaseName makes are the likeliest to collide.
	group := rapid.OneOf(
		rapid.StringMatching(`[a-zA-Z0-9_.\-]{0,6}`),
		rapid.StringMatching(`(lockstep-group[.-])?[0-9a-f]{32}`),
		rapid.StringMatching(`[a-z]{230,260}`),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		a, b := group.Draw(t, "a"), group.Draw(t, "b")
		for _, name := range []string{hold.LeaseName(a), hold.LeaseName(b)} {
			if len(name) > 253 || !objectName.MatchString(name) {
				t.Fatalf("%q is no object name", name)
			}
		}
		if a != b && hold.LeaseName(a) == hold.LeaseName(b) {
			t.Fatalf("%q and %q share %s", a, b, hold.LeaseName(a))
		}
		if twice := hold.LeaseName(hold.LeaseName(a)); twice == hold.LeaseName(a) {
			t.Fatalf("%q is the name of its own group's Lease", twice)
		}
	})
}
