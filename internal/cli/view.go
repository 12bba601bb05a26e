package cli

import (
	"time"

	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// groupView is a group for -o json and -o yaml.
type groupView struct {
	Namespace string     `json:"namespace"`
	Group     string     `json:"group"`
	Activity  string     `json:"activity"`
	Holder    string     `json:"holder,omitempty"`
	Since     *time.Time `json:"since,omitempty"` // when the holder took the group
	Until     *time.Time `json:"until,omitempty"` // when the hold of an external holder expires
	TraceID   string     `json:"traceID,omitempty"`
	Zones     []zoneView `json:"zones"`
	Waits     []waitView `json:"waits,omitempty"`
	Remarks   []waitView `json:"remarks,omitempty"`
}

type zoneView struct {
	Name     string    `json:"name"`
	Activity string    `json:"activity"`
	Replicas int       `json:"replicas"`
	Ready    int       `json:"ready"`
	Updated  int       `json:"updated"`
	Done     int       `json:"done"` // updated and ready
	Outdated int       `json:"outdated"`
	Down     int       `json:"down"`
	Budget   int       `json:"budget"`
	Revision string    `json:"revision,omitempty"`
	Waits    *waitView `json:"waits,omitempty"`
}

// waitView is a wait, with the meaning of its reason.
type waitView struct {
	Zone     string     `json:"zone,omitempty"` // the waiting zone
	Code     string     `json:"code"`
	ID       string     `json:"id"`
	For      string     `json:"forZone,omitempty"` // the zone that it waits for
	Pod      string     `json:"pod,omitempty"`
	Detail   string     `json:"detail,omitempty"`
	Until    *time.Time `json:"until,omitempty"`
	Person   bool       `json:"needsPerson"`
	Sentence string     `json:"sentence"`
	ToDo     string     `json:"toDo"`
}

func viewOf(s group.Snapshot) groupView { return viewOfSteps(s, stepsFor(s)) }

func viewOfSteps(s group.Snapshot, steps []plan.Action) groupView {
	status := group.Describe(s, steps)
	v := groupView{
		Namespace: s.Key.Namespace, Group: s.Key.Name, Activity: string(status.Activity),
		Holder: string(status.Holder), Since: moment(status.Since), TraceID: record.TraceID(s.Hold.Trace),
		Zones: []zoneView{},
	}
	if status.Holder.Foreign() {
		v.Until = moment(s.Hold.ExpiresAt())
	}
	for _, z := range status.Zones {
		zone := zoneView{
			Name: z.Name, Activity: string(z.Activity), Replicas: z.Replicas, Ready: z.Ready, Updated: z.Updated,
			Done: z.Done, Outdated: z.Outdated, Down: z.Down, Budget: z.Budget, Revision: z.Revision,
		}
		if !z.Waits.None() {
			zone.Waits = new(waitViewOf("", z.Waits))
		}
		v.Zones = append(v.Zones, zone)
	}
	for _, w := range status.Waits {
		v.Waits = append(v.Waits, waitViewOf(w.Zone, w.Because))
	}
	for _, w := range status.Remarks {
		v.Remarks = append(v.Remarks, waitViewOf(w.Zone, w.Because))
	}
	v.Remarks = append(v.Remarks, remarksOn(s)...)
	return v
}

func waitViewOf(zone string, r plan.Refusal) waitView {
	entry, _ := reason.Explain(r.Code)
	return waitView{
		Zone: zone, Code: string(r.Code), ID: entry.ID(), For: r.Zone, Pod: r.Pod, Detail: r.Detail, Until: moment(r.Deadline()),
		Person: entry.Kind == reason.Attention, Sentence: entry.Sentence, ToDo: entry.ToDo,
	}
}

// short returns the wait in short form: PodStarting zone-a-1 (1 of at most 1 down).
func (w waitView) short() string {
	r := plan.Refusal{Code: reason.Code(w.Code), Zone: w.For, Pod: w.Pod, Detail: w.Detail}
	if w.Until != nil {
		return r.String() + " until " + w.Until.Format(time.RFC3339)
	}
	return r.String()
}

// says reports whether a wait that is printed contains all of a message of the operator.
func (w waitView) says(message string) bool {
	because := plan.Refusal{Code: reason.Code(w.Code), Zone: w.For, Pod: w.Pod, Detail: w.Detail}
	return message == "" || message == w.Sentence || message == because.Sentence()
}

// means reports whether two waits have the same meaning: their reasons and their advice are the same.
func (w waitView) means(other waitView) bool {
	return w.Sentence == other.Sentence && w.ToDo == other.ToDo
}

// moment returns a time without fractions of a second. It returns nil for the zero time and for a
// year that JSON cannot express.
func moment(t time.Time) *time.Time {
	t = t.UTC().Truncate(time.Second)
	if t.IsZero() || t.Year() < 0 || t.Year() > 9999 {
		return nil
	}
	return &t
}
