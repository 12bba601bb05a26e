package cli

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// claimView is a claim of a StatefulCluster for -o json and -o yaml.
type claimView struct {
	Claim    string     `json:"claim"`
	Identity string     `json:"identity"`
	Template string     `json:"template"`
	State    string     `json:"state"`
	Ended    *time.Time `json:"ended,omitempty"`   // when its identity ended
	Because  string     `json:"because,omitempty"` // why its identity ended
	Keep     bool       `json:"keep"`              // a person wants to keep it
}

// States of claims.
const (
	claimInUse     = "InUse"     // its identity has a pod
	claimSpent     = "Spent"     // its identity has ended
	claimWaits     = "Waits"     // its identity has no pod, and has not ended: it waits for the next pod, or for the marks of its end
	claimDeleting  = "Deleting"  // a client has deleted it
	claimOfEarlier = "OfEarlier" // it belongs to an earlier StatefulCluster of the name
)

var colourOfClaim = map[string]screen.Colour{
	claimInUse: screen.Good, claimSpent: screen.Slow, claimWaits: screen.Busy, claimDeleting: screen.Slow, claimOfEarlier: screen.Slow,
}

func (a *app) claims() *cobra.Command {
	var onlySpent bool
	var identity string
	command := &cobra.Command{
		Use:   "claims statefulcluster/NAME",
		Short: "Show the claims of a StatefulCluster, or delete those of an identity that has ended",
		Long: `Show the claims of a StatefulCluster, identity by identity.

--delete deletes the claims of one identity, and with them its data. The identity must have
ended: it has no pod, and never gets one again. The command shows the claims and asks for the
identity again. It deletes nothing if a claim has lockstep.dev/keep, or if anything has
changed since it was shown.`,
		Example: `  kubectl lockstep claims stc/db
  kubectl lockstep claims stc/db --spent
  kubectl lockstep claims stc/db --delete 0123456789abcdef`,
		Args: one("claims statefulcluster/NAME"),
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.completePools(c, args, "stc/")
		},
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		cluster, name, err := a.poolAt(args[0])
		if err != nil {
			return err
		}
		if c.Flags().Changed("delete") {
			return a.deleteSpent(c.Context(), cluster, name, pool.ID(identity))
		}
		return a.showClaims(c.Context(), cluster, name, onlySpent)
	}
	command.Flags().BoolVar(&onlySpent, "spent", false, "only claims of identities that have ended")
	command.Flags().StringVar(&identity, "delete", "", "delete the claims of this identity, which must have ended")
	command.MarkFlagsMutuallyExclusive("spent", "delete")
	return a.answers(command)
}

func (a *app) showClaims(ctx context.Context, c *cluster, name string, onlySpent bool) error {
	s, err := c.readStatefulCluster(ctx, name)
	if err != nil {
		return err
	}
	views := claimsOf(s.Snapshot)
	if onlySpent {
		views = slices.DeleteFunc(views, func(v claimView) bool { return v.State != claimSpent })
	}
	if a.form != formTable {
		return a.answer(views)
	}
	return a.printClaims(s.Key, views)
}

// claimsOf returns the claims of a StatefulCluster: those in use first, then those of ended identities, the latest first.
func claimsOf(s pool.Snapshot) []claimView {
	ended := pool.OutlookOf(s).Ended()
	views := []claimView{}
	for _, c := range s.Claims {
		v := claimView{Claim: c.Name, Identity: string(c.ID), Template: c.Template, State: stateOfClaim(s, c, ended), Keep: c.Keep}
		if c.Retired {
			v.Ended, v.Because = moment(c.Ended), string(c.Because)
		}
		views = append(views, v)
	}
	slices.SortStableFunc(views, func(a, b claimView) int {
		return cmp.Or(compareEnds(a.Ended, b.Ended), cmp.Compare(a.Identity, b.Identity), cmp.Compare(a.Claim, b.Claim))
	})
	return views
}

// compareEnds orders what has not ended first, and then the latest ends.
func compareEnds(a, b *time.Time) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return b.Compare(*a)
}

func stateOfClaim(s pool.Snapshot, c pool.Claim, ended []pool.Ended) string {
	switch {
	case c.Deleting:
		return claimDeleting
	case c.Pool != s.Object.UID:
		return claimOfEarlier
	case slices.ContainsFunc(ended, func(e pool.Ended) bool { return e.ID == c.ID }):
		return claimSpent
	case slices.ContainsFunc(s.Pods, func(p pool.Pod) bool { return p.ID == c.ID }):
		return claimInUse
	}
	return claimWaits
}

func (a *app) printClaims(key plan.Key, views []claimView) error {
	p, now := a.page(), a.now()
	if len(views) == 0 {
		p.Line(screen.In(screen.Strong, key.Namespace+"/"+key.Name), screen.Text("has no such claims"))
	} else {
		p.Line(screen.In(screen.Strong, key.Namespace+"/"+key.Name))
		p.Table(2, []string{"IDENTITY", "CLAIM", "STATE", "ENDED", "BECAUSE", "KEEP"}, rowsOfClaims(views, now))
	}
	return a.print(p)
}

func rowsOfClaims(views []claimView, now time.Time) [][]screen.Piece {
	var rows [][]screen.Piece
	for _, v := range views {
		ended, keep := "", ""
		if v.Ended != nil {
			ended = screen.Span(now.Sub(*v.Ended)) + " ago"
		}
		if v.Keep {
			keep = "yes"
		}
		rows = append(rows, []screen.Piece{
			screen.Text(v.Identity), screen.Text(v.Claim), screen.In(colourOfClaim[v.State], v.State), screen.Text(ended), screen.Text(v.Because), screen.Text(keep),
		})
	}
	return rows
}
