package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// eventView is a recent Event about a zone, or about a pod that a wait names.
type eventView struct {
	Time   time.Time `json:"time"`
	Type   string    `json:"type"`
	Reason string    `json:"reason"`
	About  string    `json:"about"`
	From   string    `json:"from"`
	Note   string    `json:"note"`
}

// mostEvents is the maximum number of Events that are shown.
const mostEvents = 8

// events returns recent Events about the zones of a group and about pods that waits name. Of other
// reporters than lockstep, it returns only warnings.
func (c *cluster) events(ctx context.Context, s group.Snapshot) []eventView {
	about := map[string]string{} // UIDs
	for _, z := range s.Zones {
		about["StatefulSet/"+z.Name] = z.UID
	}
	kinds := []string{"StatefulSet"}
	for _, step := range stepsFor(s) {
		if w, waits := step.(plan.Wait); waits && w.Because.Pod != "" {
			pod, _ := s.Pod(w.Because.Pod)
			about["Pod/"+w.Because.Pod] = pod.UID
			kinds = []string{"StatefulSet", "Pod"}
		}
	}
	var found []eventView
	for _, kind := range kinds {
		list, err := c.client.CoreV1().Events(s.Key.Namespace).List(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector("involvedObject.kind", kind).String(),
		})
		if err != nil {
			c.warn(fmt.Sprintf("Events could not be read, so they are left out: %v", err))
			return nil
		}
		for i := range list.Items {
			e := viewOfEvent(&list.Items[i])
			ours := e.From == reporter
			uid, asked := about[e.About]
			same := list.Items[i].InvolvedObject.UID
			if asked && (same == "" || uid == "" || string(same) == uid) && (ours || e.Type == corev1.EventTypeWarning) {
				found = append(found, e)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b eventView) int { return cmp.Compare(b.Time.UnixNano(), a.Time.UnixNano()) })
	return found[:min(len(found), mostEvents)]
}

// reporter is the reporting controller of the operator's Events.
const reporter = "lockstep"

func viewOfEvent(e *corev1.Event) eventView {
	v := eventView{
		Type: e.Type, Reason: e.Reason, About: e.InvolvedObject.Kind + "/" + e.InvolvedObject.Name,
		From: cmp.Or(e.ReportingController, e.Source.Component), Note: e.Message, Time: e.CreationTimestamp.Time,
	}
	for _, at := range []time.Time{e.LastTimestamp.Time, e.EventTime.Time} {
		if at.After(v.Time) {
			v.Time = at
		}
	}
	if e.Series != nil && e.Series.LastObservedTime.After(v.Time) {
		v.Time = e.Series.LastObservedTime.Time
	}
	v.Time = v.Time.UTC()
	return v
}

func addEvents(p *screen.Page, events []eventView, now time.Time) {
	if len(events) == 0 {
		return
	}
	p.Line()
	var rows [][]screen.Piece
	for _, e := range events {
		colour := screen.Plain
		if e.Type == corev1.EventTypeWarning {
			colour = screen.Slow
		}
		rows = append(rows, []screen.Piece{
			screen.Text(screen.Span(now.Sub(e.Time))), screen.In(colour, e.Type), screen.Text(e.Reason), screen.Text(e.About), screen.Text(e.From), screen.Text(e.Note),
		})
	}
	p.Table(0, []string{"AGE", "TYPE", "REASON", "ABOUT", "FROM", "NOTE"}, rows)
}
