// Package report reports decisions and actions: Events on transitions, metrics, and the last plan
// of every group for /debug/groups.
//
// It makes no decision. Its state only serves to report each transition once and to answer
// /debug/groups.
package report

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// Limits of API servers for fields of Events, in bytes.
const (
	longestNote = 1024
	longestName = 253
)

// Recorder writes Events, like client-go's events.EventRecorder.
type Recorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// Reporter reports plans and their outcomes. Create it with New. Its methods are safe for
// concurrent use.
type Reporter struct {
	events    Recorder
	limiter   *eventLimiter
	metrics   *telemetry.Metrics
	durations durationsOfGroups
	updates   updatesInPlace

	mu        sync.Mutex
	workloads map[plan.Key]*memory
}

// memory is the last reported state of a group.
type memory struct {
	sent     map[string]plan.Refusal // by UID of the zone: the last wait that an Event reported
	stands   map[string]standing     // by UID of the zone: its current wait
	remarked map[string]*remark      // current remarks
	last     Record
}

// Record is the last plan of a workload, with its snapshot and its errors.
type Record struct {
	At       time.Time     `json:"at"`
	Snapshot plan.Workload `json:"snapshot"` // nil if the workload rests
	Plan     []string      `json:"plan"`
	Errors   []string      `json:"errors,omitempty"`
}

// Rests reports whether there was no action and no wait, as for most workloads of a cluster most of
// the time. The caches show the state of such a workload, or a newer one.
func (r Record) Rests() bool { return len(r.Plan)+len(r.Errors) == 0 }

// New returns a Reporter.
func New(events Recorder, metrics *telemetry.Metrics) *Reporter {
	return &Reporter{events: events, limiter: newEventLimiter(), metrics: metrics, workloads: map[plan.Key]*memory{}}
}

// Report reports one plan and its outcome. It returns whether it has written an Event for an
// action or for a new wait. Waits and remarks become Events after they have lasted for some time.
// due is the time after which the workload must be reported again for that; 0 if no Event is
// pending.
func (r *Reporter) Report(w plan.Workload, steps []plan.Action, done []plan.Receipt) (news bool, due time.Duration) {
	key := w.View().Key
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.workloads[key]
	if !ok {
		m = &memory{}
		r.workloads[key] = m
	}
	m.last = record(w, steps, done)
	s := situationOf(w)
	waits, waitDue := m.waits(s, steps)
	remarks, remarkDue := m.remarks(s)
	for _, e := range slices.Concat(s.outcomes(done), waits, remarks) {
		news = r.send(s, e) || news
	}
	return news, sooner(waitDue, remarkDue)
}

// send writes an Event if the limits permit it.
func (r *Reporter) send(s *situation, e event) bool {
	if !r.limiter.allow(s.Key.Namespace) {
		r.metrics.EventWritten(eventExcess)
		if e.unsent != nil {
			e.unsent()
		}
		return false
	}
	note := plan.Plain(e.note, longestNote)
	r.events.Eventf(s.unitReference(e.zone), e.about(s, note), e.kind, string(e.code), e.action, "%s", note)
	return true
}

// Forget drops a group that does not exist any more, including its metrics.
func (r *Reporter) Forget(key plan.Key) {
	switch {
	case key.Rolled():
		r.metrics.Forget(key.Namespace, key.Name)
	case key.Kind == plan.KindStatefulCluster:
		r.metrics.ForgetPool(key.Namespace, key.Name)
	}
	r.durations.forget(key)
	r.updates.replace(key, nil)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.workloads, key)
}

// Last returns the last record of a group.
func (r *Reporter) Last(key plan.Key) (Record, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, ok := r.workloads[key]
	if !ok {
		return Record{}, false
	}
	return m.last, true
}

// Keys returns the groups that were reported.
func (r *Reporter) Keys() []plan.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	keys := make([]plan.Key, 0, len(r.workloads))
	for key := range r.workloads {
		keys = append(keys, key)
	}
	return keys
}

func record(w plan.Workload, steps []plan.Action, done []plan.Receipt) Record {
	last := Record{At: w.View().Now, Snapshot: w, Plan: []string{}}
	for _, step := range steps {
		last.Plan = append(last.Plan, step.String())
	}
	for _, receipt := range done {
		if receipt.Err != nil {
			last.Errors = append(last.Errors, receipt.Err.Error())
		}
	}
	if last.Rests() {
		last.Snapshot = nil
	}
	return last
}

// situation is a workload with what Events often ask it for.
type situation struct {
	plan.Workload
	plan.View
	units   []plan.Unit
	remarks []plan.Wait
}

func situationOf(w plan.Workload) *situation { return &situation{w, w.View(), w.Units(), w.Remarks()} }

// unitNamed returns the unit of that name, or a unit without UID.
func (s *situation) unitNamed(name string) plan.Unit {
	for _, u := range s.units {
		if u.Name == name {
			return u
		}
	}
	return plan.Unit{Name: name}
}

// unitReference returns a reference to the object of a unit.
func (s *situation) unitReference(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: s.APIVersion, Kind: s.Kind, Namespace: s.Key.Namespace, Name: plan.Plain(name, longestName), UID: types.UID(s.unitNamed(name).UID),
	}
}

func (s *situation) podReference(pod string) *corev1.ObjectReference {
	p, _ := s.Pod(pod)
	return s.thePod(pod, p.UID)
}

// thePod returns a reference to a pod by name and UID. Another pod may have the name now.
func (s *situation) thePod(pod, uid string) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: "v1", Kind: "Pod", Namespace: s.Key.Namespace, Name: plan.Plain(pod, longestName), UID: types.UID(uid),
	}
}
