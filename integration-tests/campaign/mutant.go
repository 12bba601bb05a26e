package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is a mistake in the source. The campaign shows after how many plans it finds the mistake. If
// the operator's own invariants would find it first, they are switched off, because the effect is to
// be found.
type mutant struct {
	name  string
	edits []edit
}

// edit is a replacement in one file of the operator. The old text occurs exactly once.
type edit struct{ file, old, new string }

// repository is the path of the operator's source from integration-tests.
const repository = "../"

var withoutInvariants = edit{"internal/lock/invariant/invariant.go", "if decision.Need == hold.ReadLive {", "if true {"}

var withoutEvictionInvariants = edit{"internal/lock/invariant/grant.go", "if p.Because.Code != \"\" || decision.Need == hold.ReadLive {", "if true {"}

var withoutPoolInvariants = edit{"internal/lock/invariant/pools/rules.go", "if d.Need == hold.ReadLive {\n\t\treturn nil // this snapshot leads to no action", "if true {\n\t\treturn nil // this snapshot leads to no action"}

var mutants = []mutant{
	{"deletes-without-preconditions", []edit{
		{"internal/act/writes.go", "Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},", "Preconditions: nil,"},
		{"internal/act/writes.go", "uid, version := types.UID(d.UID), d.Version.String()", "_ = types.UID(d.UID)"},
	}},
	{"records-after-the-delete", []edit{
		{"internal/act/executor.go", "\tif err := e.writeHold(ctx, w, d); err != nil {\n", "\tdeleted := e.disrupt(ctx, w, plan.In(plan.Disrupting, steps), d)\n\tif err := e.writeHold(ctx, w, d); err != nil {\n"},
		{"internal/act/executor.go", "\treceipts := e.disrupt(ctx, w, plan.In(plan.Disrupting, steps), d)\n", "\treceipts := deleted\n"},
	}},
	{"takes-holds-without-a-look", []edit{
		{"internal/lock/hold/hold.go", "if !s.Live && deletesNeedLiveRead(s.Hold, holder, deletes) {", "if false && deletesNeedLiveRead(s.Hold, holder, deletes) {"},
	}},
	{"forgets-the-minimum-time", []edit{
		{"internal/plan/group/admit.go", "\ttooSoon,", "\t"},
		withoutInvariants,
	}},
	{"forgets-zones-that-left", []edit{
		{"internal/plan/group/former_zone.go", "if z := &b.FormerZones[i]; !b.Live && !z.Uncovered || !b.settled(z) {", "if z := &b.FormerZones[i]; z == nil {"},
		withoutInvariants, withoutEvictionInvariants,
	}},
	{"pods-beyond-the-spec-are-free", []edit{
		{"internal/plan/group/evict.go", "e.alreadyDown = b.isDown(z, pod)", "e.alreadyDown = !z.Owns(pod.Ordinal) || b.isDown(z, pod)"},
		withoutEvictionInvariants,
	}},
	{"pool-updates-one-too-many", []edit{
		{"internal/plan/pool/update.go", "most = p.mostUnavailable(step.Reason())", "most = p.mostUnavailable(step.Reason()) + 1"},
		withoutPoolInvariants,
	}},
	{"pool-deletes-one-too-many", []edit{
		{"internal/plan/pool/surplus.go", "\tif !p.Object.Ordered {\n\t\treturn p.excess()", "\tif !p.Object.Ordered {\n\t\treturn p.excess() + min(1, p.excess())"},
		withoutPoolInvariants,
	}},
	{"pool-scales-down-what-is-too-many", []edit{
		{"internal/plan/pool/surplus.go", "if i < lowered || !p.recordsReplicas() {", "if i >= 0 || i < lowered {"},
		withoutPoolInvariants,
	}},
	{"pool-drops-all-claims", []edit{
		{"internal/plan/pool/claims.go", "case !slices.ContainsFunc(s.claims, isKept):", "case len(s.claims) > 0 || !slices.ContainsFunc(s.claims, isKept):"},
		withoutPoolInvariants,
	}},
	{"budget-off-by-one", []edit{
		{"internal/plan/group/guards.go", "if after <= d.zone.budget {", "if after <= d.zone.budget+1 {"},
		withoutInvariants,
	}},
}

// mutantNames lists the names of all mutants.
func mutantNames() string {
	var names []string
	for _, m := range mutants {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

// buildMutant builds the operator with a mutant into a folder. It does not change the source tree.
func buildMutant(ctx context.Context, name, dir string) (string, error) {
	i := slices.IndexFunc(mutants, func(m mutant) bool { return m.name == name })
	if i < 0 {
		return "", fmt.Errorf("build mutant: there is no %q, but %s", name, mutantNames())
	}
	overlay, err := mutants[i].overlay(dir)
	if err != nil {
		return "", fmt.Errorf("build mutant: %w", err)
	}
	program, err := filepath.Abs(filepath.Join(dir, "lockstep"))
	if err != nil {
		return "", fmt.Errorf("build mutant: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-tags=grpcnotrace", "-buildvcs=false", "-overlay", overlay, "-o", program, "./cmd/lockstep")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build mutant: %w\n%s", err, out)
	}
	return program, nil
}

// overlay writes the changed files and the compiler's overlay file, and returns the path of the
// latter.
func (m mutant) overlay(dir string) (string, error) {
	replace := map[string]string{}
	for i, e := range m.edits {
		original, err := filepath.Abs(repository + e.file)
		if err != nil {
			return "", err
		}
		from := original
		if replace[original] != "" {
			from = replace[original]
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		if n := strings.Count(string(text), e.old); n != 1 {
			return "", fmt.Errorf("%s: %q occurs %d times in %s", m.name, e.old, n, e.file)
		}
		replace[original] = filepath.Join(dir, strconv.Itoa(i)+".go")
		if err := os.WriteFile(replace[original], []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, text, 0o600)
}
