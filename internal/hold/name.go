package hold

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
)

const (
	namePrefix    = "lockstep-group-"
	hashedPrefix  = "lockstep-group."
	longestName   = 253
	hashCharCount = 32
)

var objectName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

// LeaseName returns the name of a group's Lease: readable where the group's
// name can be part of an object name, a hash of it elsewhere. No two groups of
// a namespace share a name.
func LeaseName(group string) string {
	name := namePrefix + group
	if objectName.MatchString(group) && len(name) <= longestName {
		return name
	}
	sum := sha256.Sum256([]byte(group))
	return hashedPrefix + hex.EncodeToString(sum[:])[:hashCharCount]
}
