package house_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// shared are the rooms that serve all kinds of workloads, with the files in which each of them may know one kind: the
// text of its part of the record, the methods of its actions, its metrics.
var shared = map[string][]string{
	"plan":           nil,
	"lock/hold":      nil,
	"lock/history":   nil,
	"lock/freshness": nil,
	"lock/lease":     nil,
	"lock/record":    {"group.go", "downscale.go", "members.go", "acknowledged.go", "pool.go"},
	"act":            {"groups.go", "pod_calls.go", "pools.go", "pool_updates.go", "pool_update_stages.go", "pool_revisions.go", "pool_claims.go", "pool_labels.go", "pool_adoption.go"},
	"show/report":    {"groups.go", "pools.go"},
}

func TestSharedCodeKnowsNoKind(t *testing.T) {
	knows := map[string]bool{}
	for file, imports := range importsOf(t, linked, "internal") {
		files, isShared := shared[roomOf(file)]
		if !isShared || !slices.ContainsFunc(imports, isKind) {
			continue
		}
		name := path.Base(file)
		knows[roomOf(file)+"/"+name] = true
		if !slices.Contains(files, name) {
			t.Errorf("%s knows a kind of workload: ask plan.Workload, or move it into a file of that kind", file)
		}
	}
	for room, files := range shared {
		for _, name := range files {
			if !knows[room+"/"+name] {
				t.Errorf("%s/%s knows no kind: take it out of the table in this file", room, name)
			}
		}
	}
}

// isKind reports whether a package has the rules of a kind.
func isKind(imported string) bool {
	kind, below := strings.CutPrefix(imported, module+"internal/plan/")
	return below && kind != "reason"
}
