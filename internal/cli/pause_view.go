package cli

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// pauseView is a paused zone or StatefulCluster.
type pauseView struct {
	Zone   string     `json:"zone"`
	Reason string     `json:"reason,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	Over   bool       `json:"over"` // the pause has ended
}

// pauses returns the paused zones of a group, with the content of their annotations.
func (c *cluster) pauses(ctx context.Context, s group.Snapshot) []pauseView {
	var all []pauseView
	for _, z := range s.Zones {
		if !z.Paused {
			continue
		}
		v := pauseView{Zone: z.Name, Until: moment(z.PausedUntil.Time), Over: !z.PausedAt(s.Now)}
		if set, err := c.client.AppsV1().StatefulSets(s.Key.Namespace).Get(ctx, z.Name, metav1.GetOptions{}); err == nil {
			v.Reason = set.Annotations[contract.PausedReasonAnnotation]
		}
		all = append(all, v)
	}
	return all
}

func addPauses(p *screen.Page, pauses []pauseView, now time.Time) {
	if len(pauses) > 0 {
		p.Line()
	}
	for _, v := range pauses {
		p.Line(screen.Text(v.sentence(now)))
	}
}

// sentence returns a pause as text: db is paused until 2026-01-05 12:00, for 2h: INC-123.
func (v pauseView) sentence(now time.Time) string {
	text := v.Zone + " is paused"
	switch {
	case v.Over:
		text = v.Zone + " was paused until " + screen.Clock(*v.Until) + ", which is over"
	case v.Until != nil:
		text += " until " + screen.Clock(*v.Until) + ", for " + screen.Span(v.Until.Sub(now))
	}
	if v.Reason != "" {
		text += ": " + v.Reason
	}
	return text
}
