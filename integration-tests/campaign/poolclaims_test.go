package main

import (
	"slices"
	"strings"
	"testing"
)

// The goal is what the last steps of the lane ask for, since the steps of a lane are sequential.
func TestGoalOfPlanIsTheLastImageAndClaimTemplates(t *testing.T) {
	t.Parallel()
	added, removed, withImage, underQuota := 0, 0, 0, 0
	for seed := range uint64(1000) {
		p := newPlan(seed)
		if p.pool == nil {
			continue
		}
		last, claims, changed := "", strings.Join(claimTemplates, ", "), false
		for _, s := range p.steps() {
			if _, after, found := strings.Cut(s.what, "/image "); found {
				last = after
			}
			if _, after, found := strings.Cut(s.what, "gets the claim templates "); found {
				claims, _, _ = strings.Cut(after, " and ")
				changed = true
			}
			switch s.kind {
			case stepPoolClaimAdded:
				added++
			case stepPoolClaimRemoved:
				removed++
			case stepPoolClaimsAndImage:
				withImage++
			}
		}
		if last != image(p.pool.final.image) || claims != strings.Join(p.pool.final.claims, ", ") {
			t.Fatalf("the goal is image %d and the claim templates %v in\n%s", p.pool.final.image, p.pool.final.claims, p)
		}
		if changed && slices.ContainsFunc(p.faults, func(f fault) bool { return strings.Contains(f.description, "more exist") }) {
			underQuota++
		}
	}
	if min(added, removed, withImage, underQuota) < 20 {
		t.Errorf("templates are added %d times, removed %d times, changed with an image %d times, and refused in part %d times", added, removed, withImage, underQuota)
	}
}
