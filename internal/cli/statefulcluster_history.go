package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// poolHistoryView is the history of a StatefulCluster for -o json and -o yaml.
type poolHistoryView struct {
	Rollouts []rolloutView `json:"rollouts"`
	Ended    []endedView   `json:"endedIdentities"` // the latest first
}

// endedView is a pod whose identity has ended, as the marks on its claims say. If none of its claims is left, nothing says it.
type endedView struct {
	Pod      string     `json:"pod"`
	Identity string     `json:"identity"`
	Ended    *time.Time `json:"ended,omitempty"`
	Because  string     `json:"because,omitempty"`
	Claims   int        `json:"claims"` // that are left
}

// historyOfPool shows the rollouts that the Lease of a StatefulCluster records, and the pods that its claims record.
func (a *app) historyOfPool(ctx context.Context, c *cluster, key plan.Key) error {
	s, err := c.readStatefulCluster(ctx, key.Name)
	if err != nil {
		return err
	}
	v := poolHistoryView{rolloutsOf(s.Hold.Rollouts), endedOf(s.Snapshot)}
	if a.form != formTable {
		return a.answer(v)
	}
	p := a.page()
	addRollouts(p, key, v.Rollouts, a.now())
	addEnded(p, v.Ended)
	return a.print(p)
}

// endedOf returns the pods whose identities have ended, the latest first.
func endedOf(s pool.Snapshot) []endedView {
	views := []endedView{}
	for _, e := range pool.OutlookOf(s).Ended() {
		v := endedView{Pod: pool.PodName(s.Key.Name, e.ID), Identity: string(e.ID), Ended: moment(e.At), Claims: len(e.Claims)}
		for _, c := range e.Claims {
			if c.Because != "" {
				v.Because = string(c.Because)
			}
		}
		views = append(views, v)
	}
	return views
}

// addEnded prints the pods whose identities have ended.
func addEnded(p *screen.Page, all []endedView) {
	if len(all) == 0 {
		return
	}
	var rows [][]screen.Piece
	for _, v := range all {
		at := ""
		if v.Ended != nil {
			at = screen.Clock(*v.Ended)
		}
		rows = append(rows, []screen.Piece{screen.Text(v.Pod), screen.Text(at), screen.Text(v.Because), screen.Text(strconv.Itoa(v.Claims))})
	}
	p.Line()
	p.Line(screen.Text("Pods whose identities have ended:"))
	p.Table(2, []string{"POD", "ENDED", "BECAUSE", "CLAIMS LEFT"}, rows)
}
