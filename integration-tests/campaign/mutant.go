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

// mutant is a mistake that is planted in the source, to see after how many plans the
// campaign finds it. The operator's own check of its plans is switched off where it would
// find it first: it is what comes of the mistake that has to be found.
type mutant struct {
	name  string
	edits []edit
}

// edit is a replacement in one file of the operator. The old text occurs exactly once.
type edit struct{ file, old, new string }

// repository is where the operator's source is, seen from integration-tests.
const repository = "../"

var blind = edit{"internal/lock/invariant/invariant.go", "if decision.Need == hold.Look {", "if true {"}

var blindToEvictions = edit{"internal/lock/invariant/grant.go", "if p.Because.Code != \"\" || decision.Need == hold.Look {", "if true {"}

var mutants = []mutant{
	{"deletes-without-preconditions", []edit{
		{"internal/act/writes.go", "Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},", "Preconditions: nil,"},
		{"internal/act/writes.go", "uid, version := types.UID(d.UID), d.Version.String()", "_ = types.UID(d.UID)"},
	}},
	{"notes-after-the-deed", []edit{
		{"internal/act/executor.go", "\tif err := e.writeHold(ctx, s, d); err != nil {\n", "\tdeleted := e.deletePods(ctx, s.Key, steps)\n\tif err := e.writeHold(ctx, s, d); err != nil {\n"},
		{"internal/act/executor.go", "\treceipts := e.deletePods(ctx, s.Key, steps)\n", "\treceipts := deleted\n"},
	}},
	{"takes-holds-without-a-look", []edit{
		{"internal/lock/hold/hold.go", "if !s.Live && needsLook(s.Hold, holder, deeds) {", "if false && needsLook(s.Hold, holder, deeds) {"},
	}},
	{"forgets-the-minimum-time", []edit{
		{"internal/plan/admit.go", "\ttooSoon,", "\t"},
		blind,
	}},
	{"forgets-zones-that-left", []edit{
		{"internal/plan/left.go", "if z := &b.Left[i]; !b.Live && !z.Uncovered || !b.settled(z) {", "if z := &b.Left[i]; z == nil {"},
		blind, blindToEvictions,
	}},
	{"pods-beyond-the-spec-are-free", []edit{
		{"internal/plan/evict.go", "e.alreadyDown = b.isDown(z, pod)", "e.alreadyDown = !z.Owns(pod.Ordinal) || b.isDown(z, pod)"},
		blindToEvictions,
	}},
	{"budget-off-by-one", []edit{
		{"internal/plan/guards.go", "if after <= d.zone.budget {", "if after <= d.zone.budget+1 {"},
		blind,
	}},
}

// mutantNames are for people.
func mutantNames() string {
	var names []string
	for _, m := range mutants {
		names = append(names, m.name)
	}
	return strings.Join(names, ", ")
}

// buildMutant builds the operator with the mistake of a name in it, which no file of the
// source tree shows, in a folder.
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

// overlay writes what the compiler is to see in place of the source, and returns its path.
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
