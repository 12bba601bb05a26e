package cli

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// statefulClusterView is a StatefulCluster for -o json and -o yaml.
type statefulClusterView struct {
	Namespace  string         `json:"namespace"`
	Name       string         `json:"name"`
	State      string         `json:"state"` // Ready, Reconciling, Stalled or Resting
	Replicas   int            `json:"replicas"`
	Available  int            `json:"available"`
	Updated    int            `json:"updated"`
	Holder     string         `json:"holder,omitempty"`
	TraceID    string         `json:"traceID,omitempty"`
	Waits      *waitView      `json:"waits,omitempty"`
	Message    string         `json:"message,omitempty"` // of the operator, about what it waits for
	Pause      *pauseView     `json:"pause,omitempty"`
	Remarks    []waitView     `json:"remarks,omitempty"` // what a person should correct on the object
	Pods       []identityView `json:"pods"`
	Ended      int            `json:"endedIdentities"`
	SpentClaim int            `json:"claimsOfEndedIdentities"`
}

// identityView is a pod of a StatefulCluster, with its identity.
type identityView struct {
	Pod      string     `json:"pod"`
	State    string     `json:"state"`
	Updated  bool       `json:"updated"`
	Node     string     `json:"node,omitempty"`
	Claims   int        `json:"claims"`         // that exist
	Unbound  int        `json:"claimsNotBound"` // of these, how many have no volume yet
	Mounts   int        `json:"mounts"`         // claims that it mounts
	Created  *time.Time `json:"created,omitempty"`
	Recorded string     `json:"recorded,omitempty"` // why the hold has recorded it
}

func viewOfStatefulCluster(s statefulCluster) statefulClusterView {
	v := statefulClusterView{
		Namespace: s.Key.Namespace, Name: s.Key.Name, State: stateOfConditions(s.status.Conditions), Replicas: s.Object.Replicas,
		Holder: string(s.Hold.Holder), TraceID: record.TraceID(s.Hold.Trace), Pods: []identityView{},
	}
	d := pool.Describe(s.Snapshot, nil)
	v.Available, v.Ended, v.SpentClaim = d.Available, d.RetiredIdentities, d.RetiredClaims
	for i := range s.Pods {
		if p := &s.Pods[i]; p.Owner == s.Object.UID {
			v.Pods = append(v.Pods, identityOf(s, p))
		}
	}
	slices.SortFunc(v.Pods, func(a, b identityView) int { return cmp.Compare(a.Pod, b.Pod) })
	for _, p := range v.Pods {
		if p.Updated && p.State != terminating {
			v.Updated++
		}
	}
	v.Waits, v.Message = operatorWait(s.status)
	v.Pause = pauseOf(s)
	for _, r := range s.Remarks() {
		v.Remarks = append(v.Remarks, waitViewOf("", r.Because))
	}
	return v
}

// pauseOf returns the pause of a StatefulCluster; nil: it is not paused.
func pauseOf(s statefulCluster) *pauseView {
	o := &s.Object
	if !o.Paused {
		return nil
	}
	return &pauseView{Zone: s.Key.Name, Reason: s.pauseReason, Until: moment(o.PausedUntil.Time), Over: !o.PausedAt(s.Now)}
}

// operatorWait returns what a StatefulCluster waits for, as the operator wrote it, with its message; nil: nothing.
func operatorWait(status v1alpha1.StatefulClusterStatus) (*waitView, string) {
	w := status.Waiting
	if w == nil {
		return nil, ""
	}
	because := plan.Refusal{Code: reason.Code(w.Reason), Pod: w.Pod}
	if w.Until != nil {
		because.Until = w.Until.Time
	}
	because.Detail = because.DetailIn(w.Message)
	return new(waitViewOf("", because)), w.Message
}

const terminating = "Terminating"

// stateOfConditions names the condition of kstatus that is true.
func stateOfConditions(all []metav1.Condition) string {
	for _, kind := range []string{"Stalled", "Ready", "Reconciling"} {
		if slices.ContainsFunc(all, func(c metav1.Condition) bool { return c.Type == kind && c.Status == metav1.ConditionTrue }) {
			return kind
		}
	}
	return "Resting"
}

func identityOf(s statefulCluster, p *pool.Pod) identityView {
	v := identityView{
		Pod: p.Name, State: stateOfPod(s, p), Updated: p.Revision == s.status.UpdateRevision && p.Revision != "", Node: p.Node.Name, Mounts: len(p.Mounts),
		Created: moment(p.Created.Time()),
	}
	for _, c := range s.Claims {
		if c.ID == p.ID && !c.Retired && slices.ContainsFunc(p.Mounts, func(m pool.Mount) bool { return m.Claim == c.Name }) {
			v.Claims++
			if !c.Bound {
				v.Unbound++
			}
		}
	}
	for _, i := range s.Hold.Intents {
		if i.Pod == p.Name && s.IntentStatus(i).Counts() {
			v.Recorded = string(i.Cause)
		}
	}
	return v
}

// claims returns how many claims of a pod exist, and how many of these have no volume yet.
func (v identityView) claims() string {
	if v.Unbound > 0 {
		return fmt.Sprintf("%d/%d (%d not bound)", v.Claims, v.Mounts, v.Unbound)
	}
	return fmt.Sprintf("%d/%d", v.Claims, v.Mounts)
}

// stateOfPod says in one word how far a pod is.
func stateOfPod(s statefulCluster, p *pool.Pod) string {
	switch {
	case p.Phase == plan.Terminating:
		return terminating
	case p.Finished:
		return "Finished"
	case p.Gated:
		return "WaitsForClaims"
	case !p.Scheduled:
		return "Unscheduled"
	case p.Phase == plan.Failing:
		return p.Why
	case !p.Up():
		return "Starting"
	case !p.Available(s.Object.MinReady, s.Now):
		return "Ready"
	}
	return "Available"
}

var colourOfState = map[string]screen.Colour{
	"Ready": screen.Good, "Available": screen.Good, "Reconciling": screen.Busy, "Stalled": screen.Bad, "Resting": screen.Slow, terminating: screen.Slow,
	"Starting": screen.Busy, "Unscheduled": screen.Slow, "WaitsForClaims": screen.Slow, "Finished": screen.Bad,
}

// addStatefulCluster prints a StatefulCluster: a line about it, and one for each pod.
func addStatefulCluster(p *screen.Page, v statefulClusterView, now time.Time) {
	p.Line(headlineOf(v)...)
	var rows [][]screen.Piece
	for _, i := range v.Pods {
		age, updated := "", "no"
		if i.Created != nil {
			age = screen.Span(now.Sub(*i.Created))
		}
		if i.Updated {
			updated = "yes"
		}
		rows = append(rows, []screen.Piece{
			screen.Text(i.Pod), screen.In(colourOfState[i.State], i.State), screen.Text(updated), screen.Text(i.claims()),
			screen.Text(age), screen.Text(i.Node), screen.Text(i.Recorded),
		})
	}
	if len(rows) > 0 {
		p.Table(2, []string{"POD", "STATE", "UPDATED", "CLAIMS", "AGE", "NODE", "RECORDED"}, rows)
	}
	if v.Pause != nil {
		p.Line(screen.Text("  " + v.Pause.sentence(now)))
	}
	for _, r := range v.Remarks {
		p.Line(screen.Text("  note:"), screen.In(urgency(r), r.short()))
	}
	if v.Waits != nil {
		p.Line(screen.Text("  waits for:"), screen.In(urgency(*v.Waits), v.Waits.short()))
	}
	if v.Ended > 0 {
		p.Line(screen.In(screen.Faint, fmt.Sprintf("  ended identities: %d, with %d of their claims left", v.Ended, v.SpentClaim)))
	}
}

func headlineOf(v statefulClusterView) []screen.Piece {
	line := []screen.Piece{
		screen.In(screen.Strong, v.Namespace+"/"+v.Name), screen.In(colourOfState[v.State], v.State),
		screen.Text(fmt.Sprintf("%d/%d available", v.Available, v.Replicas)), screen.Text(fmt.Sprintf("%d/%d updated", v.Updated, v.Replicas)),
	}
	if v.Holder != "" {
		line = append(line, screen.Text("held by "+v.Holder))
	}
	if v.TraceID != "" {
		line = append(line, screen.In(screen.Faint, "trace "+v.TraceID))
	}
	return line
}
