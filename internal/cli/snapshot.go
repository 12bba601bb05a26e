package cli

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
)

// recordView is a snapshot with what the planner makes of it, in the form of the
// operator's /debug/groups.
type recordView struct {
	At       time.Time     `json:"at"`
	Snapshot plan.Snapshot `json:"snapshot"`
	Plan     []string      `json:"plan"`
}

func (a *app) snapshot() *cobra.Command {
	var masked bool
	command := &cobra.Command{
		Use:   "snapshot GROUP",
		Short: "Print what the planner sees and makes of it, to report a bug",
		Long: `Print what the planner sees of a group and what it makes of it, to report a bug. The text
is in the notation of lockstep's own tests; kubectl lockstep plan -f reads it back.

With --hash-names every name, label and revision is replaced by a hash of it, and texts,
addresses and traces are left out. The order of zones, and ordinals, stay. The same name
has the same hash as long as the group's first StatefulSet exists.`,
		Example: `  kubectl lockstep snapshot ingester --hash-names > report.txt
  kubectl lockstep snapshot ingester -o json`,
		Args:              one("snapshot GROUP"),
		ValidArgsFunction: a.completeGroups,
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		s, err := a.read(c.Context(), args[0])
		if err != nil {
			return err
		}
		shown := s
		if masked {
			shown = mask(s)
		}
		if a.form != formTable {
			return a.answer(recordView{shown.Now.UTC(), shown, fixture.Outcome(shown)})
		}
		return a.write(a.reported(s, shown))
	}
	command.Flags().BoolVar(&masked, "hash-names", false, "replace names by hashes, and leave out texts")
	return a.answers(command)
}

// reported returns a snapshot, as it is to be shown, in the notation of tests.
func (a *app) reported(seen, shown plan.Snapshot) string {
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
		report.Remarks = append(report.Remarks, "what is left out leads to another plan: with all names it is "+strings.Join(causes(seen), ", "))
	}
	if !readsBack(report) {
		report.Remarks = append(report.Remarks, "this notation does not say everything that matters here: please add the output of -o json")
	}
	return fixture.Print(report)
}

// causes returns why the planner does what it does.
func causes(s plan.Snapshot) []string {
	var all []string
	for _, step := range plan.Group(s) {
		all = append(all, string(step.Reason()))
	}
	return all
}

// readsBack reports whether the notation says everything on which the plan depends.
func readsBack(report fixture.Scenario) bool {
	again, err := fixture.Parse(fixture.Print(report))
	return err == nil && slices.Equal(fixture.Outcome(again.Snapshot), report.Then)
}
