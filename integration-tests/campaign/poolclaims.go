package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// These are the kinds of steps in the table that change the claim templates of a StatefulCluster.
const (
	stepPoolClaimAdded     = "claim templates added"
	stepPoolClaimRemoved   = "claim templates removed"
	stepPoolClaimsAndImage = "other claim templates together with an image"
)

// claimTemplates are the names of the claims of each identity at the first template.
var claimTemplates = []string{"data", "logs"}

// addedClaimTemplates are the names of the claim templates that a plan adds, the first one or both.
var addedClaimTemplates = []string{"cache", "index"}

// addClaimTemplates draws changes of the claim templates of the StatefulCluster for three of five plans that have one, and often a
// quota that refuses some of the claims. The steps are in the lane of the other updates, because one of them may change
// the image, too. Its random source is separate, so the rest of a plan does not depend on it.
func (p *plan) addClaimTemplates(random *rand.Rand, updates int) {
	if random.IntN(5) > 2 {
		return
	}
	steps := p.pool.newClaimTemplates(random)
	p.lanes[updates] = slices.Concat(p.lanes[updates], steps)
	slices.SortStableFunc(p.lanes[updates], func(a, b step) int { return int(a.at - b.at) })
	if random.IntN(2) == 0 {
		f := quotaForClaimTemplates(random, steps[0].at)
		p.faults = append(slices.DeleteFunc(p.faults, func(other fault) bool { return other.once == f.once }), f)
	}
}

// newClaimTemplates draws one or two claim templates that are added. They are often removed again, and then sometimes added once
// more: the identities that live have those claims already.
func (p *pool) newClaimTemplates(random *rand.Rand) []step {
	more := slices.Concat(claimTemplates, addedClaimTemplates[:1+random.IntN(len(addedClaimTemplates))])
	at := between(random, 0, 5*time.Second)
	steps := []step{p.newClaims(random, stepPoolClaimAdded, more, at)}
	if random.IntN(2) == 0 {
		at += between(random, 500*time.Millisecond, 6*time.Second)
		steps = append(steps, p.newClaims(random, stepPoolClaimRemoved, claimTemplates, at))
		if random.IntN(2) == 0 {
			at += between(random, 500*time.Millisecond, 4*time.Second)
			steps = append(steps, p.newClaims(random, stepPoolClaimAdded, more, at))
		}
	}
	return steps
}

// newClaims replaces the claim templates, which the only container mounts. In every third step the image changes with them.
func (p *pool) newClaims(random *rand.Rand, kind string, names []string, at time.Duration) step {
	p.final.claims = names
	templates, mounts := claimsOfTemplate(names)
	operations := []operation{{"replace", "/spec/volumeClaimTemplates", templates}, {"replace", mainContainer + "/volumeMounts", mounts}}
	what := fmt.Sprintf("StatefulCluster %s gets the claim templates %s", p.name, strings.Join(names, ", "))
	if random.IntN(3) == 0 {
		kind = stepPoolClaimsAndImage
		p.lastImage++
		operations = append(operations, operation{"replace", mainContainer + "/image", image(p.lastImage)})
		what += " and /image " + image(p.lastImage)
		if at >= p.imageAt {
			p.imageAt, p.final.image = at, p.lastImage
		}
	}
	return p.patchTemplate(kind, what, operations, at)
}

// claimsOfTemplate returns claim templates of these names, and how a container mounts them.
func claimsOfTemplate(names []string) (templates, mounts []any) {
	for _, name := range names {
		mounts = append(mounts, map[string]any{"name": name, "mountPath": "/" + name})
		templates = append(templates, map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{
			"accessModes": []any{"ReadWriteOnce"}, "resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
		}})
	}
	return templates, mounts
}

// claimName returns the name of a claim of the identity of a pod of the StatefulCluster.
func claimName(template string, pod *corev1.Pod) string {
	return poolName + "-" + template + "-" + pod.Labels[identityLabel]
}

// mountedClaims returns the names of the claims of a pod.
func mountedClaims(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		if c := pod.Spec.Volumes[i].PersistentVolumeClaim; c != nil {
			names = append(names, c.ClaimName)
		}
	}
	return names
}
