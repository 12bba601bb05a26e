package hold

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

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
	sum := sha256.Sum256([]byte(key.Group))
	return prefix + "." + hex.EncodeToString(sum[:])[:hashCharCount]
}
