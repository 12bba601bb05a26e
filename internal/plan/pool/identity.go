package pool

import (
	"regexp"
	"strings"
)

// ID is the identity of one copy of the data: one pod name, and the claims that carry it. It is 16 hexadecimal digits
// that are drawn at random, because a counter would come back with a restored etcd or a lost status.
type ID string

var idForm = regexp.MustCompile(`^[0-9a-f]{16}$`)

// Drawn reports whether the identity has the form that lockstep draws. Identities that were adopted have others.
func (id ID) Drawn() bool { return idForm.MatchString(string(id)) }

func compareIDs(a, b ID) int { return strings.Compare(string(a), string(b)) }

// PodName returns the name of the pod of an identity.
func PodName(pool string, id ID) string { return pool + "-" + string(id) }

// ClaimName returns the name of the claim that an identity has for a claim template.
func ClaimName(pool, template string, id ID) string { return pool + "-" + template + "-" + string(id) }

// IDOf returns the identity that the name of a pod shows. The second result is false if the pod has not the name of a
// pod of the pool.
func IDOf(pool, pod string) (ID, bool) {
	id, has := strings.CutPrefix(pod, pool+"-")
	return ID(id), has && id != ""
}
