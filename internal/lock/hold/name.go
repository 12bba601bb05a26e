package hold

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

const (
	groupPrefix   = "lockstep-group"
	alonePrefix   = "lockstep-statefulset"
	coveredPrefix = "lockstep-budget"
	longestName   = 253
	hashCharCount = 32
)

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// LeaseName returns the name of a group's Lease: readable where the group's
// name can be part of an object name, a hash of it elsewhere. No two groups of
// a namespace share a name, and none has that of a StatefulSet which stands alone.
func LeaseName(key plan.Key) string {
	prefix := groupPrefix
	switch {
	case key.Alone:
		prefix = alonePrefix
	case key.Covered:
		prefix = coveredPrefix
	}
	name := prefix + "-" + key.Group
	if objectName.MatchString(key.Group) && len(name) <= longestName {
		return name
	}
	return prefix + "." + hashOf(key.Group)
}

// IsLeaseName reports whether a Lease of that name is the hold of some group.
func IsLeaseName(name string) bool {
	for _, prefix := range []string{groupPrefix, alonePrefix, coveredPrefix} {
		if rest, has := strings.CutPrefix(name, prefix); has && (strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, ".")) {
			return true
		}
	}
	return false
}

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
