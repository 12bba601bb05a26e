package podcalls

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// MessageOptions configure how pods are notified that they leave or stay. A zero value means the default.
// Answered is required.
type MessageOptions struct {
	StayEvery    time.Duration // 10 min: the interval at which a pod that stays is notified again
	Gather       time.Duration // 500 ms: for how long the answers of a group are collected
	PerGroup     int           // 16: concurrent calls to pods of one group
	PerNamespace int           // 32
	PerProcess   int           // 64: well below the limit of a Caller, so that other calls need not wait for these

	// Answered is called after pods of a group have answered or failed: once when no call to the group is
	// pending any more, and at intervals before that.
	Answered func(plan.Key)
	// Now dates messages and answers with the clock of plans; the default is time.Now.
	Now func() time.Time
}

// Messages records the notifications to pods of zones with a delay, and the pods' answers. Run makes the
// calls, in other goroutines than their callers. Only the newest message to a pod counts. Calls to one pod
// never overlap, because they could arrive in the wrong order.
//
//	Notify ──► waits for its turn ──► call ──► answer or failure ──► Fill
//	               ▲                    │ another message came meanwhile
//	               └────────────────────┘
//
// The table is lost when the process ends or loses leadership. Then all pods are notified again.
type Messages struct {
	caller  *Caller
	options MessageOptions

	mu       sync.Mutex
	groups   map[plan.Key]*recipients
	quota    quota
	arrivals int
	changed  chan struct{} // has an element if a call may begin
}

// recipients are the notified pods of one group.
type recipients struct {
	key     plan.Key
	letters map[string]*letter // by the pod's UID
	waiting []*letter          // waiting for a call, in the order of arrival
	calls   int                // in progress, including those for dropped letters
	gather  *time.Timer        // runs while there are answers that Answered was not called for
}

// letter is the newest message to one pod.
type letter struct {
	latest   group.Notification
	zone     string
	pod      Pod
	call     contract.Call
	sent     note // the message of the call in progress; zero if there is none
	queued   bool
	dropped  bool // it is not in the table any more
	failures int  // consecutive failures of this message
	rest     time.Duration
	arrival  int
}

// note identifies the content of a letter. The same message by another call is another note.
type note struct {
	message group.Message
	call    group.Call
}

func noteOf(t group.Notification) note { return note{t.Message, t.Call} }

// NewMessages returns an empty table.
func NewMessages(c *Caller, o MessageOptions) *Messages {
	o.StayEvery = orElse(o.StayEvery, 10*time.Minute)
	o.Gather = orElse(o.Gather, 500*time.Millisecond)
	o.PerGroup = orElse(o.PerGroup, 16)
	o.PerNamespace = orElse(o.PerNamespace, 32)
	o.PerProcess = orElse(o.PerProcess, 64)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Messages{
		caller: c, options: o, groups: map[plan.Key]*recipients{}, changed: make(chan struct{}, 1),
		quota: newQuota(o.PerNamespace, o.PerProcess),
	}
}

// Notify queues a message for pods of a zone. It does not wait for their answers.
func (m *Messages) Notify(key plan.Key, zone group.Zone, message group.Message, pods []plan.Pod) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[key]
	if g == nil {
		g = &recipients{key: key, letters: map[string]*letter{}}
		m.groups[key] = g
	}
	addressed := podsOf(key, zone.Delay.Call.Service, pods)
	for i, pod := range pods {
		l := g.letters[pod.UID]
		if l == nil {
			l = &letter{}
			g.letters[pod.UID] = l
		}
		same := noteOf(l.latest) == note{message, zone.Delay.Call}
		if same && l.latest.Underway {
			continue
		}
		if !same {
			l.failures = 0
		}
		l.latest = group.Notification{Message: message, Call: zone.Delay.Call, Underway: true, Ready: pod.ReadySince, At: m.options.Now()}
		l.zone, l.pod, l.call = zone.Name, addressed[i], contract.CallOf(zone.Delay.Call)
		if l.sent == (note{}) && !l.queued {
			m.enqueue(g, l)
		}
	}
	m.look()
}

// look makes Run check which calls may begin.
func (m *Messages) look() {
	select {
	case m.changed <- struct{}{}:
	default: // a check is pending already
	}
}

func (m *Messages) enqueue(g *recipients, l *letter) {
	m.arrivals++
	l.arrival, l.queued = m.arrivals, true
	g.waiting = append(g.waiting, l)
}

// Fill sets Notifications of the pods in zones with a delay. In a zone without a delay that has acknowledged pods in
// the hold, it sets only notifications that pods stay. It drops all other messages of the group, and their
// pods are not called any more.
func (m *Messages) Fill(s group.Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.groups[s.Key]
	present := map[*letter]bool{}
	for i := range s.Zones {
		z := &s.Zones[i]
		if !z.Delay.Configured() && s.Hold.Acknowledged[z.Name].None() {
			continue
		}
		z.Notifications = map[string]group.Notification{}
		for _, pod := range z.Pods {
			l := g.letter(z.Name, pod)
			if l != nil && (z.Delay.Configured() || l.latest.Message == group.Stay) {
				l.latest.Again = within(l.latest.Again, l.rest, s.Now)
				if l.latest.At.After(s.Now.Add(group.FarAhead)) { // the clock was wrong, so a record would not be trusted
					l.latest.At = s.Now
				}
				z.Notifications[pod.UID], present[l] = l.latest, true
			}
		}
	}
	if g != nil && len(present) < len(g.letters) {
		m.drop(g, func(l *letter) bool { return !present[l] })
	}
}

// letter returns the letter of a pod with the pod's present address.
func (g *recipients) letter(zone string, pod plan.Pod) *letter {
	if g == nil || g.letters[pod.UID] == nil || g.letters[pod.UID].zone != zone {
		return nil
	}
	l := g.letters[pod.UID]
	l.pod.IP, l.pod.HostNetwork = pod.IP, pod.OnHost
	return l
}

// Forget drops a group.
func (m *Messages) Forget(key plan.Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.groups[key]; g != nil {
		m.drop(g, func(*letter) bool { return true })
	}
}

// ForgetNamespace drops all groups of a namespace. Their pods are not called any more.
func (m *Messages) ForgetNamespace(namespace string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for key, g := range m.groups {
		if key.Namespace == namespace {
			m.drop(g, func(*letter) bool { return true })
		}
	}
}

func (m *Messages) drop(g *recipients, gone func(*letter) bool) {
	for uid, l := range g.letters {
		if gone(l) {
			delete(g.letters, uid)
			l.dropped = true
		}
	}
	g.waiting = slices.DeleteFunc(g.waiting, func(l *letter) bool { return l.dropped })
	m.dropIfEmpty(g)
}

// dropIfEmpty drops a group without letters.
func (m *Messages) dropIfEmpty(g *recipients) {
	if len(g.letters) > 0 {
		return
	}
	g.gathered()
	if g.calls == 0 && m.groups[g.key] == g {
		delete(m.groups, g.key)
	}
}

// Run makes the calls until ctx ends, and then drops everything.
func (m *Messages) Run(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		m.hand(ctx, &calls)
		select {
		case <-m.changed:
		case <-ctx.Done():
			m.forgetAll()
			return
		}
	}
}

func (m *Messages) forgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, g := range m.groups {
		m.drop(g, func(*letter) bool { return true })
	}
}

// hand begins calls while the quota allows them.
func (m *Messages) hand(ctx context.Context, calls *sync.WaitGroup) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for ctx.Err() == nil {
		g := m.next()
		if g == nil {
			return
		}
		i := g.first()
		l := g.waiting[i]
		g.waiting = slices.Delete(g.waiting, i, i+1)
		l.sent, l.queued = noteOf(l.latest), false
		g.calls++
		m.quota.take(g.key.Namespace)
		r := round{caller: m.caller, purpose: purposes[l.sent.message], call: l.call, pods: []Pod{l.pod}}
		calls.Go(func() {
			if m.done(g, l, r.alone(ctx)) {
				m.options.Answered(g.key)
			}
		})
	}
}

var purposes = map[group.Message]Purpose{group.Leave: ToLeave, group.Stay: ToStay}

// next returns the group whose call may begin. It prefers the namespace with the fewest calls in progress,
// then the group with the fewest, then the first to arrive.
func (m *Messages) next() *recipients {
	var best *recipients
	for _, g := range m.groups {
		if len(g.waiting) == 0 || g.calls >= m.options.PerGroup || !m.quota.allows(g.key.Namespace, g.calls > 0) {
			continue
		}
		if best == nil || m.before(g, best) {
			best = g
		}
	}
	return best
}

func (m *Messages) before(a, b *recipients) bool {
	if inA, inB := m.quota.inNamespace[a.key.Namespace], m.quota.inNamespace[b.key.Namespace]; inA != inB {
		return inA < inB
	}
	if a.calls != b.calls {
		return a.calls < b.calls
	}
	return a.waiting[0].arrival < b.waiting[0].arrival
}

// first returns the index of the next letter: the one with the fewest failures, then the first to arrive.
func (g *recipients) first() int {
	first := 0
	for i, l := range g.waiting {
		if l.failures < g.waiting[first].failures {
			first = i
		}
		if g.waiting[first].failures == 0 {
			break
		}
	}
	return first
}

// done records the result of a call, and reports whether Answered must be called now.
func (m *Messages) done(g *recipients, l *letter, r Result) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.look()
	g.calls--
	m.quota.give(g.key.Namespace)
	sent := l.sent
	l.sent = note{}
	switch {
	case l.dropped:
		m.dropIfEmpty(g)
		return false
	case noteOf(l.latest) != sent:
		m.enqueue(g, l)
		return false
	}
	m.answer(l, r)
	return m.gather(g)
}

func (m *Messages) answer(l *letter, r Result) {
	now := m.options.Now()
	l.latest.Underway, l.latest.At = false, now
	if !delivered(l.latest.Message, r) {
		l.latest.Failed, l.latest.Why = true, r.failure()
		l.rest = m.pause(l)
		l.latest.Again = now.Add(l.rest)
		l.failures++
		return
	}
	l.failures = 0
	l.latest.Since = r.Since
	if l.latest.Message == group.Stay {
		l.rest = m.options.StayEvery
		l.latest.Again = now.Add(l.rest)
	}
}

// delivered reports whether a pod accepted a message.
func delivered(message group.Message, r Result) bool {
	if message == group.Stay {
		return stays(r)
	}
	return answered(r)
}

// pause returns how long to wait before a pod is notified again after a failure.
func (m *Messages) pause(l *letter) time.Duration {
	const first, most = 5 * time.Second, time.Minute
	limit := most
	if l.latest.Message == group.Stay {
		limit = m.options.StayEvery
	}
	return min(first<<min(l.failures, 16), limit)
}

// gather reports whether Answered must be called now, which is so if no call to the group is pending.
// Otherwise it starts a timer, so that Answered is called once for all answers until then.
func (m *Messages) gather(g *recipients) bool {
	if len(g.waiting) == 0 && g.calls == 0 {
		g.gathered()
		return true
	}
	if g.gather == nil {
		g.gather = time.AfterFunc(m.options.Gather, func() { m.publishAnswers(g) })
	}
	return false
}

func (g *recipients) gathered() {
	if g.gather != nil {
		g.gather.Stop()
		g.gather = nil
	}
}

func (m *Messages) publishAnswers(g *recipients) {
	m.mu.Lock()
	news := g.gather != nil
	g.gathered()
	m.mu.Unlock()
	if news {
		m.options.Answered(g.key)
	}
}
