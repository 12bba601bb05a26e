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

// LeaseName returns the name of the Lease of a hold. It contains the name of the key if that is valid in an
// object name, and otherwise a hash of it. Two keys of a namespace never have the same name.
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

// hashedName matches the results of StatusName for groups whose names are not valid object names.
var hashedName = regexp.MustCompile(`^group\.[0-9a-f]{32}$`)

// StatusName returns the name of the object that shows the status of a group: the group's name if an object
// can have it, otherwise a hash of it. Two groups of a namespace never have the same name.
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
