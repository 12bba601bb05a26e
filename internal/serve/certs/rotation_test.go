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

// model is a cluster with replicas that share a Secret, and webhook configurations
// that API servers read late.
type model struct {
	t   *rapid.T
	now time.Time

	secret  Record
	version int
	asked   int

	replicas       [2]modelReplica
	configurations [2]modelConfiguration
	judged         map[string]findings // what was looked at already that day
}

// modelReplica follows the Secret, late at times.
type modelReplica struct {
	kept    Record // what it serves; zero: nothing yet
	behind  time.Time
	version int // of what it has seen

	read        situation // what its next write is made from
	readVersion int
}

// modelConfiguration has a bundle, and API servers that still go by former ones.
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

// see lets a replica's watch catch up.
func (m *model) see(i int) {
	r := &m.replicas[i]
	r.version, r.behind = m.version, time.Time{}
	if m.judge(m.secret).serving != nil {
		r.kept = m.secret
	}
}

// look lets a replica read the Secret for what it may write.
func (m *model) look(i int) {
	m.replicas[i].read = situation{
		record: m.secret, found: m.judge(m.secret), now: m.now, names: order.Names, unpublished: m.unpublished(),
	}.rescued(m.replicas[i].kept)
	m.replicas[i].readVersion = m.version
}

// write lets a replica take its step, unless another one was first.
func (m *model) write(i int) {
	r := &m.replicas[i]
	if r.readVersion != m.version {
		return
	}
	due := times.next(r.read)
	if due.deed == nothing {
		return
	}
	next, err := carryOut(due.deed, r.read, order)
	if err != nil {
		m.t.Fatalf("%s: %v", due.deed, err)
	}
	m.put(next)
}

func (m *model) unpublished() error {
	for i, c := range m.configurations {
		if !bytes.Equal(c.bundle, m.secret.CA) {
			return fmt.Errorf("configuration %d", i)
		}
	}
	return nil
}

// publish sets the bundle of a configuration; API servers notice later.
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

// pass lets time pass, during which no request is under way and no replica is
// behind for longer than is assumed.
func (m *model) pass(d time.Duration) {
	for i := range m.replicas {
		m.replicas[i].readVersion = -1
		if r := &m.replicas[i]; !r.behind.IsZero() && !m.now.Add(d).Before(r.behind.Add(slowest*times.Propagation)) {
			m.see(i)
		}
	}
	m.now = m.now.Add(d)
}

// check wants every replica to be accepted by every API server.
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
					m.t.Fatalf("at %v, what replica %d serves is refused by an API server that goes by a bundle of configuration %d", m.now, i, j)
				}
			}
		}
	}
}

func (m *model) accepts(bundle []byte, p Pair) bool {
	return m.judge(Record{CA: bundle, Serving: p}).serving != nil
}

// judge remembers what judge found that day.
func (m *model) judge(r Record) findings {
	key := fmt.Sprintf("%s %s %s %s", r.CA, r.Serving.Cert, r.Next.Cert, m.now.Truncate(24*time.Hour))
	found, known := m.judged[key]
	if !known {
		found = judge(r, m.now)
		m.judged[key] = found
	}
	return found
}

// settled reports whether nothing is to be done.
func (m *model) settled() bool {
	found := m.judge(m.secret)
	return len(found.authorities) == 1 && found.serving != nil && len(m.secret.Next.Cert) == 0 &&
		m.secret.Asked == m.secret.Answered && m.unpublished() == nil
}

// settle lets everybody do what is to be done until nothing is.
func (m *model) settle() {
	for range 12 {
		for i := range m.replicas {
			m.see(i)
			m.look(i)
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
		m.t.Fatalf("it ends with %d CAs, next %q, asked %q, answered %q",
			len(m.judge(m.secret).authorities), m.secret.Next.Cert, m.secret.Asked, m.secret.Answered)
	}
	for i, r := range m.replicas {
		if !bytes.Equal(r.kept.Serving.Cert, m.secret.Serving.Cert) {
			m.t.Fatalf("replica %d serves something else in the end", i)
		}
	}
}

func TestNoInterleavingOfReplicasServesWhatAnAPIServerRefuses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{t: t, now: noon, judged: map[string]findings{}}
		m.replicas[0].readVersion, m.replicas[1].readVersion = -1, -1
		replica, configuration := rapid.IntRange(0, len(m.replicas)-1), rapid.IntRange(0, len(m.configurations)-1)
		moves := map[string]func(*rapid.T){
			"":      func(*rapid.T) { m.check() },
			"see":   func(t *rapid.T) { m.see(replica.Draw(t, "replica")) },
			"look":  func(t *rapid.T) { m.look(replica.Draw(t, "replica")) },
			"write": func(t *rapid.T) { m.write(replica.Draw(t, "replica")) },
			"step": func(t *rapid.T) {
				i := replica.Draw(t, "replica")
				m.look(i)
				m.write(i)
			},
			"inject": func(t *rapid.T) {
				if m.judge(m.secret).serving != nil {
					m.publish(configuration.Draw(t, "configuration"), m.secret.CA)
				}
			},
			"edit": func(t *rapid.T) { m.publish(configuration.Draw(t, "configuration"), nil) },
			"ask": func(*rapid.T) {
				m.asked++
				r := m.secret
				r.Asked = fmt.Sprint(m.asked)
				m.put(r)
			},
			"restart": func(t *rapid.T) {
				m.replicas[replica.Draw(t, "replica")] = modelReplica{behind: m.now, readVersion: -1}
			},
			"pass": func(t *rapid.T) {
				m.pass(rapid.SampledFrom([]time.Duration{
					time.Second, times.Propagation / 2, times.Propagation, slowest * times.Propagation,
				}).Draw(t, "for"))
			},
			"go on": func(t *rapid.T) { // at a brisk pace, so that a rotation comes to its end
				for i := range m.configurations {
					m.publish(i, m.secret.CA)
				}
				for i := range m.replicas {
					if rapid.Bool().Draw(t, "sees it") {
						m.see(i)
					}
				}
				i := replica.Draw(t, "replica")
				m.look(i)
				m.write(i)
				if rapid.Bool().Draw(t, "takes its time") {
					m.pass(times.Propagation)
				}
			},
			"a season": func(*rapid.T) { // in which somebody is at work
				m.settle()
				m.pass(year / 4)
			},
		}
		for range 2 { // longer than rapid would
			t.Repeat(moves)
		}
		m.settle()
	})
}

// situationOf is one that is settled, with some change.
func situationOf(t *testing.T, change func(*situation)) situation {
	t.Helper()
	made, err := issue(order, noon)
	if err != nil {
		t.Fatal(err)
	}
	s := situation{record: Record{CA: made.ca, Serving: made.Pair}, now: noon, names: order.Names}
	if change != nil {
		change(&s)
	}
	s.found = judge(s.record, s.now)
	return s
}

func TestWhatIsDueWhen(t *testing.T) {
	other, err := issue(order, noon)
	if err != nil {
		t.Fatal(err)
	}
	prepared := func(s *situation) {
		s.record.CA, s.record.Next = append(bytes.Clone(other.ca), s.record.CA...), other.Pair
	}
	both := func(s *situation) { s.record.CA = append(s.record.CA, other.ca...) }
	for sentence, tc := range map[string]struct {
		change func(*situation)
		want   deed
		wait   time.Duration
	}{
		"nothing is done with a certificate that is young": {nil, nothing, year - (year+time.Hour)/3},
		"it is rotated at two thirds of its life":          {func(s *situation) { s.now = noon.Add(year - (year+time.Hour)/3) }, prepare, 0},
		"and not a second before":                          {func(s *situation) { s.now = noon.Add(year - (year+time.Hour)/3 - time.Second) }, nothing, time.Second},
		"it is rotated when somebody asks":                 {func(s *situation) { s.record.Asked = "now" }, prepare, 0},
		"and once for each time that somebody asks":        {func(s *situation) { s.record.Asked, s.record.Answered = "now", "now" }, nothing, year - (year+time.Hour)/3},
		"it is rotated when it lacks a name":               {func(s *situation) { s.names = append([]string{"new.team.svc"}, s.names...) }, prepare, 0},
		"it is replaced when it has expired":               {func(s *situation) { s.now = noon.Add(year + time.Second) }, replace, 0},
		"it is replaced when it is not valid yet":          {func(s *situation) { s.now = noon.Add(-2 * time.Hour) }, replace, 0},
		"it is replaced when there is none":                {func(s *situation) { s.record = Record{} }, replace, 0},
		"it is replaced when its key is another's":         {func(s *situation) { s.record.Serving.Key = other.Key }, replace, 0},
		"it is replaced when its CA is another's":          {func(s *situation) { s.record.CA = other.ca }, replace, 0},
		"a new one waits until its CA is everywhere": {func(s *situation) {
			prepared(s)
			s.unpublished = errors.New("not there")
			s.record.Since = noon.Add(-time.Hour)
		}, nothing, times.Propagation},
		"then the wait is marked":                                {prepared, mark, 0},
		"then it lasts":                                          {func(s *situation) { prepared(s); s.record.Since = noon.Add(-59 * time.Second) }, nothing, time.Second},
		"then the new one is served":                             {func(s *situation) { prepared(s); s.record.Since = noon.Add(-time.Minute) }, turn, 0},
		"a mark from the future is no mark":                      {func(s *situation) { prepared(s); s.record.Since = noon.Add(time.Hour) }, mark, 0},
		"a new one that is broken is made again":                 {func(s *situation) { prepared(s); s.record.Next.Key = s.record.Serving.Key }, prepare, 0},
		"a new one is served at once when the old one is broken": {func(s *situation) { prepared(s); s.record.Serving.Key = nil }, turn, 0},
		"a CA too many is marked":                                {both, mark, 0},
		"and stays for the slowest replica":                      {func(s *situation) { both(s); s.record.Since = noon.Add(-2 * time.Minute) }, nothing, time.Minute},
		"then it goes":                                           {func(s *situation) { both(s); s.record.Since = noon.Add(-3 * time.Minute) }, drop, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := situationOf(t, tc.change)
			got := times.next(s)
			if got.deed != tc.want || tc.want == nothing && got.wait.Sub(s.now) != tc.wait {
				t.Errorf("got %s (%s), in %v; want %s in %v", got.deed, got.because, got.wait.Sub(s.now), tc.want, tc.wait)
			}
		})
	}
}

func TestWhereNobodyKnowsTheNewCAWaitsForTheSlowest(t *testing.T) {
	s := situationOf(t, nil)
	s.record, _ = carryOut(prepare, s, order)
	s.found = judge(s.record, s.now)
	s.record.Since = noon.Add(-2 * time.Minute)
	unseen := Times{Propagation: time.Minute, Unseen: true}
	if got := unseen.next(s); got.deed != nothing || !got.wait.Equal(noon.Add(time.Minute)) {
		t.Errorf("got %s at %v", got.deed, got.wait)
	}
}

func TestADeedLeadsToThePhaseBehindIt(t *testing.T) {
	s := situationOf(t, func(s *situation) { s.record.Asked = "now" })
	first := s.record
	for _, one := range []struct {
		deed        deed
		authorities int
		serving     Pair
	}{{prepare, 2, first.Serving}, {mark, 2, first.Serving}, {turn, 2, Pair{}}, {drop, 1, Pair{}}} {
		var err error
		s.now = s.now.Add(times.Propagation)
		if s.record, err = carryOut(one.deed, s, order); err != nil {
			t.Fatal(err)
		}
		if waits := one.deed == mark || one.deed == turn; waits != s.record.Since.Equal(s.now) || !waits && !s.record.Since.IsZero() {
			t.Errorf("after %s the wait began at %v", one.deed, s.record.Since)
		}
		s.found = judge(s.record, s.now)
		if len(s.found.authorities) != one.authorities || s.found.serving == nil {
			t.Errorf("after %s: %d CAs, %v", one.deed, len(s.found.authorities), s.found.wrong)
		}
		if kept := bytes.Equal(s.record.Serving.Cert, first.Serving.Cert); kept != (one.serving.Cert != nil) {
			t.Errorf("after %s the first certificate is served: %t", one.deed, kept)
		}
	}
	if s.record.Answered != "now" || !s.record.Since.IsZero() || len(s.record.Next.Cert) > 0 {
		t.Errorf("it ends as %+v", s.record)
	}
	if bytes.Contains(s.record.CA, first.CA) {
		t.Error("the first CA is still there")
	}
}
