package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// poolRecordView is a snapshot of a StatefulCluster with its plan.
type poolRecordView struct {
	At       time.Time    `json:"at"`
	Snapshot poolSnapshot `json:"snapshot"`
	Plan     []string     `json:"plan"`
	Remarks  []string     `json:"remarks,omitempty"`
}

// poolSnapshot is a snapshot without the function that draws identities, which is no data.
type poolSnapshot struct {
	pool.Snapshot
	Draw *struct{} `json:"Draw,omitempty"` // hides that of the snapshot
}

// snapshotPool prints a snapshot of a StatefulCluster. Scenarios of groups have another notation, so it is JSON.
func (a *app) snapshotPool(ctx context.Context, c *cluster, name string, anonymized bool) error {
	seen, err := c.readForPlanner(ctx, name)
	if err != nil {
		return err
	}
	v := recordOfPool(withoutTemplates(seen.Snapshot))
	if anonymized {
		hashed := recordOfPool(anonymizePool(seen.Snapshot))
		hashed.Remarks = []string{"names are hashed"}
		if !slices.Equal(causesOfPool(seen.Snapshot), causesOfPool(hashed.Snapshot.Snapshot)) {
			hashed.Remarks = append(hashed.Remarks, "the plan without hashes is another one: "+strings.Join(causesOfPool(seen.Snapshot), ", "))
		}
		v = hashed
	}
	if a.form == formTable {
		a.form = formJSON
	}
	return a.answer(v)
}

func recordOfPool(s pool.Snapshot) poolRecordView {
	steps := pool.Plan(s)
	lines := []string{"nothing"}
	if len(steps) > 0 {
		lines = strings.Split(plan.Notation(steps), "\n")
	}
	return poolRecordView{At: s.Now.UTC(), Snapshot: poolSnapshot{Snapshot: s}, Plan: append(lines, "hold: "+fixture.Decision(hold.Decide(&s, steps)))}
}

// causesOfPool returns the reasons of the planner's steps.
func causesOfPool(s pool.Snapshot) []string {
	var all []string
	for _, step := range pool.Plan(s) {
		all = append(all, string(step.Reason()))
	}
	return all
}

// parsePoolSnapshot parses a snapshot of a StatefulCluster. The second result is false if a text is none.
func parsePoolSnapshot(text []byte) (pool.Snapshot, bool) {
	var record struct {
		Snapshot struct{ Key plan.Key } `json:"snapshot"`
	}
	if err := json.Unmarshal(bytes.TrimSpace(text), &record); err != nil || record.Snapshot.Key.Kind != plan.KindStatefulCluster {
		return pool.Snapshot{}, false
	}
	var v poolRecordView
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&v); err != nil {
		return pool.Snapshot{}, false
	}
	v.Snapshot.Snapshot.Draw = newIdentity
	return v.Snapshot.Snapshot, true
}
