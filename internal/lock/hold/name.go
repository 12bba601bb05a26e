package hold

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	longestName   = 253
	hashCharCount = 32
)

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// LeaseName returns the name of the Lease that is a hold: readable where the name of the key can
// be part of an object name, a hash of it elsewhere. No two keys of a namespace share a name.
func LeaseName(key plan.Key) string {
	prefix := prefixOf(key.Kind)
	name := prefix + "-" + key.Name
	if objectName.MatchString(key.Name) && len(name) <= longestName {
		return name
	}
	return prefix + "." + hashOf(key.Name)
}

// IsLeaseName reports whether a Lease of that name is a hold.
func IsLeaseName(name string) bool {
	return slices.ContainsFunc(plan.Kinds(), func(kind plan.Kind) bool {
		rest, has := strings.CutPrefix(name, prefixOf(kind))
		return has && (strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "."))
	})
}

func prefixOf(kind plan.Kind) string { return "lockstep-" + kind.Word() }

// hashedName is what StatusName makes of a group that no object can be named after.
var hashedName = regexp.MustCompile(`^group\.[0-9a-f]{32}$`)

// StatusName returns the name of the object that shows how a group stands: that of
// the group where an object can have it, a hash of it elsewhere. No two groups of a
// namespace share one.
func StatusName(group string) string {
	if objectName.MatchString(group) && !hashedName.MatchString(group) && len(group) <= longestName {
		return group
	}
	return "group." + hashOf(group)
}

func hashOf(group string) string {
	sum := sha256.Sum256([]byte(group))
	return hex.EncodeToString(sum[:])[:hashCharCount]
}
