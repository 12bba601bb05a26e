package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// recordView is a snapshot with its plan, in the format of the operator's /debug/groups.
type recordView struct {
	At       time.Time      `json:"at"`
	Snapshot group.Snapshot `json:"snapshot"`
	Plan     []string       `json:"plan"`
}

func (a *app) snapshot() *cobra.Command {
	var anonymized bool
	command := &cobra.Command{
		Use:   "snapshot GROUP|statefulcluster/NAME",
		Short: "Print the planner's input and plan, for a bug report",
		Long: `Print the planner's input and plan for a group, for a bug report. The text is in the
notation of lockstep's own tests; kubectl lockstep plan -f reads it. A StatefulCluster is
printed as JSON, without the content of its templates.

With --hash-names, every name, label and revision is replaced by its hash, and texts,
addresses and traces are left out. The order of zones and the ordinals stay. A name keeps
its hash as long as the group's first StatefulSet exists.`,
		Example: `  kubectl lockstep snapshot ingester --hash-names > report.txt
  kubectl lockstep snapshot ingester -o json
  kubectl lockstep snapshot stc/db --hash-names > report.json`,
		Args:              one("snapshot GROUP, or snapshot statefulcluster/NAME"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		cluster, key, err := a.workloadAt(args[0])
		if err != nil {
			return err
		}
		if key.Kind == plan.KindStatefulCluster {
			return a.snapshotPool(c.Context(), cluster, key.Name, anonymized)
		}
		s, err := cluster.existing(c.Context(), key)
		if err != nil {
			return err
		}
		shown := s
		if anonymized {
			shown = anonymize(s)
		}
		if a.form != formTable {
			return a.answer(recordView{shown.Now.UTC(), shown, fixture.Outcome(shown)})
		}
		return a.write(a.asScenario(s, shown))
	}
	command.Flags().BoolVar(&anonymized, "hash-names", false, "replace names by hashes, and omit texts")
	return a.answers(command)
}

// asScenario returns a snapshot as text in the notation of the tests.
func (a *app) asScenario(seen, shown group.Snapshot) string {
	s := fixture.At(shown, fixture.Now())
	report := fixture.Scenario{
		Promise:  "What is wrong with this plan?",
		Remarks:  []string{fmt.Sprintf("seen %s by kubectl lockstep %s", seen.Now.UTC().Format(time.RFC3339), a.version)},
		Snapshot: s,
		Then:     fixture.Outcome(s),
	}
	if shown.Key != seen.Key {
		report.Remarks = append(report.Remarks, "names are hashed")
	}
	if !slices.Equal(causes(seen), causes(shown)) {
		report.Remarks = append(report.Remarks, "the plan without hashes is another one: "+strings.Join(causes(seen), ", "))
	}
	if !isComplete(report) {
		report.Remarks = append(report.Remarks, "this notation omits details that affect the plan: please add the output of -o json")
	}
	return fixture.Print(report)
}

// causes returns the reasons of the planner's steps.
func causes(s group.Snapshot) []string {
	var all []string
	for _, step := range group.Plan(s) {
		all = append(all, string(step.Reason()))
	}
	return all
}

// isComplete reports whether the notation contains everything that the plan depends on.
func isComplete(report fixture.Scenario) bool {
	again, err := fixture.Parse(fixture.Print(report))
	return err == nil && slices.Equal(fixture.Outcome(again.Snapshot), report.Then)
}
