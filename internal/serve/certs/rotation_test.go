package certs

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var (
	noon  = time.Date(2026, time.January, 5, 12, 0, 0, 0, time.UTC)
	year  = 365 * 24 * time.Hour
	times = Times{Propagation: time.Minute}
	order = Order{Names: []string{"lockstep.lockstep-system.svc", "127.0.0.1"}, Organisation: "lockstep", Life: year}
)

// model is a cluster with replicas that share a Secret. Its API servers read webhook
// configurations late.
type model struct {
	t   *rapid.T
	now time.Time

	secret    Record
	version   int
	requested int

	replicas       [2]modelReplica
	configurations [2]modelConfiguration
	judged         map[string]findings // results of inspect on the current day
}

// modelReplica is a replica whose watch of the Secret can be late.
type modelReplica struct {
	kept    Record // the record that it serves; zero before the first one
	behind  time.Time
	version int // of the Secret that its watch has shown

	read        state // the basis of its next write
	readVersion int
}

// modelConfiguration is a configuration whose bundle some API servers read late.
type modelConfiguration struct {
	bundle []byte
	former []formerBundle
}

type formerBundle struct {
	bundle []byte
	until  time.Time
}

// put writes the Secret.
func (m *model) put(r Record) {
	m.secret = r
	m.version++
	for i := range m.replicas {
		if m.replicas[i].behind.IsZero() {
			m.replicas[i].behind = m.now
		}
	}
}

// see brings the watch of a replica up to date.
func (m *model) see(i int) {
	r := &m.replicas[i]
	r.version, r.behind = m.version, time.Time{}
	if m.inspect(m.secret).serving != nil {
		r.kept = m.secret
	}
}

// reconcile makes a replica read the Secret before a write.
func (m *model) reconcile(i int) {
	m.replicas[i].read = state{
		record: m.secret, found: m.inspect(m.secret), now: m.now, names: order.Names, publishErr: m.publishErr(),
	}.withServed(m.replicas[i].kept)
	m.replicas[i].readVersion = m.version
}

// write makes a replica take its step, unless another replica was first.
func (m *model) write(i int) {
	r := &m.replicas[i]
	if r.readVersion != m.version {
		return
	}
	due := times.next(r.read)
	if due.transition == noTransition {
		return
	}
	next, err := apply(due.transition, r.read, order)
	if err != nil {
		m.t.Fatalf("%s: %v", due.transition, err)
	}
	m.put(next)
}

func (m *model) publishErr() error {
	for i, c := range m.configurations {
		if !bytes.Equal(c.bundle, m.secret.CA) {
			return fmt.Errorf("configuration %d", i)
		}
	}
	return nil
}

// publish sets the bundle of a configuration. API servers read it later.
func (m *model) publish(i int, bundle []byte) {
	c := &m.configurations[i]
	if bytes.Equal(c.bundle, bundle) {
		return
	}
	if c.bundle != nil {
		c.former = append(c.former, formerBundle{c.bundle, m.now.Add(times.Propagation)})
	}
	c.bundle = bundle
}

// pass advances the time. No request is in progress during that time, and no replica stays behind
// for longer than assumed.
func (m *model) pass(d time.Duration) {
	for i := range m.replicas {
		m.replicas[i].readVersion = -1
		if r := &m.replicas[i]; !r.behind.IsZero() && !m.now.Add(d).Before(r.behind.Add(slowestFactor*times.Propagation)) {
			m.see(i)
		}
	}
	m.now = m.now.Add(d)
}

// check fails the test unless every API server accepts every replica.
func (m *model) check() {
	for i, r := range m.replicas {
		if len(r.kept.CA) == 0 {
			continue // not ready yet
		}
		for j, c := range m.configurations {
			trusted := [][]byte{c.bundle}
			for _, f := range c.former {
				if m.now.Before(f.until) {
					trusted = append(trusted, f.bundle)
				}
			}
			for _, bundle := range trusted {
				if bundle != nil && !m.accepts(bundle, r.kept.Serving) {
					m.t.Fatalf("at %v, the certificate of replica %d is rejected by an API server with a bundle of configuration %d", m.now, i, j)
				}
			}
		}
	}
}

func (m *model) accepts(bundle []byte, p Pair) bool {
	return m.inspect(Record{CA: bundle, Serving: p}).serving != nil
}

// inspect caches the result of inspect for the day.
func (m *model) inspect(r Record) findings {
	key := fmt.Sprintf("%s %s %s %s", r.CA, r.Serving.Cert, r.Next.Cert, m.now.Truncate(24*time.Hour))
	found, known := m.judged[key]
	if !known {
		found = inspect(r, m.now)
		m.judged[key] = found
	}
	return found
}

// settled reports whether no step is due.
func (m *model) settled() bool {
	found := m.inspect(m.secret)
	return len(found.authorities) == 1 && found.serving != nil && len(m.secret.Next.Cert) == 0 &&
		m.secret.Asked == m.secret.Answered && m.publishErr() == nil
}

// settle takes steps until none is due.
func (m *model) settle() {
	for range 12 {
		for i := range m.replicas {
			m.see(i)
			m.reconcile(i)
			m.write(i)
			m.see(i)
			m.check()
		}
		for i := range m.configurations {
			m.publish(i, m.secret.CA)
			m.check()
		}
		if m.settled() {
			break
		}
		m.pass(times.Propagation)
		m.check()
	}
	if !m.settled() {
		m.t.Fatalf("it ends with %d CAs, next %q, requested %q, answered %q",
			len(m.inspect(m.secret).authorities), m.secret.Next.Cert, m.secret.Asked, m.secret.Answered)
	}
	for i, r := range m.replicas {
		if !bytes.Equal(r.kept.Serving.Cert, m.secret.Serving.Cert) {
			m.t.Fatalf("replica %d serves something else in the end", i)
		}
	}
}

func TestNoInterleavingOfReplicasServesARejectedCertificate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, now: noon, judged: map[string]findings{}}
		m.replicas[0].readVersion, m.replicas[1].readVersion = -1, -1
		replica, configuration := rapid.IntRange(0, len(m.replicas)-1), rapid.IntRange(0, len(m.configurations)-1)
		moves := map[string]func(*rapid.T){
			"":          func(*rapid.T) { m.check() },
			"see":       func(t *rapid.T) { m.see(replica.Draw(t, "replica")) },
			"reconcile": func(t *rapid.T) { m.reconcile(replica.Draw(t, "replica")) },
			"write":     func(t *rapid.T) { m.write(replica.Draw(t, "replica")) },
			"step": func(t *rapid.T) {
				i := replica.Draw(t, "replica")
				m.reconcile(i)
				m.write(i)
			},
			"inject": func(t *rapid.T) {
				if m.inspect(m.secret).serving != nil {
					m.publish(configuration.Draw(t, "configuration"), m.secret.CA)
				}
			},
			"edit": func(t *rapid.T) { m.publish(configuration.Draw(t, "configuration"), nil) },
			"request": func(*rapid.T) {
				m.requested++
				r := m.secret
				r.Asked = fmt.Sprint(m.requested)
				m.put(r)
			},
			"restart": func(t *rapid.T) {
				m.replicas[replica.Draw(t, "replica")] = modelReplica{behind: m.now, readVersion: -1}
			},
			"pass": func(t *rapid.T) {
				m.pass(rapid.SampledFrom([]time.Duration{
					time.Second, times.Propagation / 2, times.Propagation, slowestFactor * times.Propagation,
				}).Draw(t, "for"))
			},
			"continue": func(t *rapid.T) { // in large steps, so that a rotation finishes
				for i := range m.configurations {
					m.publish(i, m.secret.CA)
				}
				for i := range m.replicas {
					if rapid.Bool().Draw(t, "sees it") {
						m.see(i)
					}
				}
				i := replica.Draw(t, "replica")
				m.reconcile(i)
				m.write(i)
				if rapid.Bool().Draw(t, "takes its time") {
					m.pass(times.Propagation)
				}
			},
			"a season": func(*rapid.T) { // in which replicas take steps
				m.settle()
				m.pass(year / 4)
			},
		}
		for range 2 { // longer than one rapid run
			t.Repeat(moves)
		}
		m.settle()
	})
}

// stateOf returns a settled state with a change.
func stateOf(t *testing.T, change func(*state)) state {
	t.Helper()
	made, err := issue(order, noon)
	if err != nil {
		t.Fatal(err)
	}
	s := state{record: Record{CA: made.ca, Serving: made.Pair}, now: noon, names: order.Names}
	if change != nil {
		change(&s)
	}
	s.found = inspect(s.record, s.now)
	return s
}

func TestNextStep(t *testing.T) {
	other, err := issue(order, noon)
	if err != nil {
		t.Fatal(err)
	}
	prepared := func(s *state) {
		s.record.CA, s.record.Next = append(bytes.Clone(other.ca), s.record.CA...), other.Pair
	}
	both := func(s *state) { s.record.CA = append(s.record.CA, other.ca...) }
	for sentence, tc := range map[string]struct {
		change func(*state)
		want   transition
		wait   time.Duration
	}{
		"a new certificate needs no transition":    {nil, noTransition, year - (year+time.Hour)/3},
		"it is rotated at two thirds of its life":  {func(s *state) { s.now = noon.Add(year - (year+time.Hour)/3) }, prepare, 0},
		"it is not rotated a second earlier":       {func(s *state) { s.now = noon.Add(year - (year+time.Hour)/3 - time.Second) }, noTransition, time.Second},
		"it is rotated when a user requests it":    {func(s *state) { s.record.Asked = "now" }, prepare, 0},
		"it is rotated once for each request":      {func(s *state) { s.record.Asked, s.record.Answered = "now", "now" }, noTransition, year - (year+time.Hour)/3},
		"it is rotated if it lacks a name":         {func(s *state) { s.names = append([]string{"new.team.svc"}, s.names...) }, prepare, 0},
		"it is replaced when it has expired":       {func(s *state) { s.now = noon.Add(year + time.Second) }, replace, 0},
		"it is replaced when it is not valid yet":  {func(s *state) { s.now = noon.Add(-2 * time.Hour) }, replace, 0},
		"it is replaced if there is none":          {func(s *state) { s.record = Record{} }, replace, 0},
		"it is replaced when its key is another's": {func(s *state) { s.record.Serving.Key = other.Key }, replace, 0},
		"it is replaced when its CA is another's":  {func(s *state) { s.record.CA = other.ca }, replace, 0},
		"a new one waits until all configurations have its CA": {func(s *state) {
			prepared(s)
			s.publishErr = errors.New("not found")
			s.record.Since = noon.Add(-time.Hour)
		}, noTransition, times.Propagation},
		"then the start of the wait is recorded":                 {prepared, startWait, 0},
		"then the wait lasts":                                    {func(s *state) { prepared(s); s.record.Since = noon.Add(-59 * time.Second) }, noTransition, time.Second},
		"then the new one is served":                             {func(s *state) { prepared(s); s.record.Since = noon.Add(-time.Minute) }, switchOver, 0},
		"a start in the future does not count":                   {func(s *state) { prepared(s); s.record.Since = noon.Add(time.Hour) }, startWait, 0},
		"an unusable new one is replaced":                        {func(s *state) { prepared(s); s.record.Next.Key = s.record.Serving.Key }, prepare, 0},
		"a new one is served at once if the old one is unusable": {func(s *state) { prepared(s); s.record.Serving.Key = nil }, switchOver, 0},
		"the wait for the removal of a CA is recorded":           {both, startWait, 0},
		"the CA is kept for the slowest replica":                 {func(s *state) { both(s); s.record.Since = noon.Add(-2 * time.Minute) }, noTransition, time.Minute},
		"then the CA is removed":                                 {func(s *state) { both(s); s.record.Since = noon.Add(-3 * time.Minute) }, dropCA, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := stateOf(t, tc.change)
			got := times.next(s)
			if got.transition != tc.want || tc.want == noTransition && got.wait.Sub(s.now) != tc.wait {
				t.Errorf("got %s (%s), in %v; want %s in %v", got.transition, got.because, got.wait.Sub(s.now), tc.want, tc.wait)
			}
		})
	}
}

func TestUnknownPublicationWaitsForTheSlowestReplica(t *testing.T) {
	s := stateOf(t, nil)
	s.record, _ = apply(prepare, s, order)
	s.found = inspect(s.record, s.now)
	s.record.Since = noon.Add(-2 * time.Minute)
	unseen := Times{Propagation: time.Minute, PublicationUnknown: true}
	if got := unseen.next(s); got.transition != noTransition || !got.wait.Equal(noon.Add(time.Minute)) {
		t.Errorf("got %s at %v", got.transition, got.wait)
	}
}

func TestTransitionsLeadToTheNextPhase(t *testing.T) {
	s := stateOf(t, func(s *state) { s.record.Asked = "now" })
	first := s.record
	for _, one := range []struct {
		transition  transition
		authorities int
		serving     Pair
	}{{prepare, 2, first.Serving}, {startWait, 2, first.Serving}, {switchOver, 2, Pair{}}, {dropCA, 1, Pair{}}} {
		var err error
		s.now = s.now.Add(times.Propagation)
		if s.record, err = apply(one.transition, s, order); err != nil {
			t.Fatal(err)
		}
		if waits := one.transition == startWait || one.transition == switchOver; waits != s.record.Since.Equal(s.now) || !waits && !s.record.Since.IsZero() {
			t.Errorf("after %s the wait began at %v", one.transition, s.record.Since)
		}
		s.found = inspect(s.record, s.now)
		if len(s.found.authorities) != one.authorities || s.found.serving == nil {
			t.Errorf("after %s: %d CAs, %v", one.transition, len(s.found.authorities), s.found.servingErr)
		}
		if kept := bytes.Equal(s.record.Serving.Cert, first.Serving.Cert); kept != (one.serving.Cert != nil) {
			t.Errorf("after %s the first certificate is served: %t", one.transition, kept)
		}
	}
	if s.record.Answered != "now" || !s.record.Since.IsZero() || len(s.record.Next.Cert) > 0 {
		t.Errorf("it ends as %+v", s.record)
	}
	if bytes.Contains(s.record.CA, first.CA) {
		t.Error("the first CA is still there")
	}
}
