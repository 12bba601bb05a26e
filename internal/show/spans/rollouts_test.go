package spans_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/lockstep-dev/lockstep/internal/lock/record"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/proof/fuzzcorpus"
	"github.com/lockstep-dev/lockstep/internal/show/spans"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

func TestMain(m *testing.M) {
	_ = os.Setenv("OTEL_BSP_SCHEDULE_DELAY", "500") // batches are exported before the next write
	goleak.VerifyTestMain(m)
}

// collector stores the spans that it receives, unless it is unreachable.
type collector struct {
	mu    sync.Mutex
	away  bool
	spans []tracetest.SpanStub
}

// ExportSpans implements sdktrace.SpanExporter.
func (c *collector) ExportSpans(_ context.Context, sent []sdktrace.ReadOnlySpan) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.away {
		return errors.New("no collector")
	}
	c.spans = append(c.spans, tracetest.SpanStubsFromReadOnlySpans(sent)...)
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (c *collector) Shutdown(context.Context) error { return nil }

// process is the part of an operator that handles traces.
type process struct {
	*spans.Rollouts
	failures int
	end      func(context.Context) error
}

func start(c *collector, name string) *process {
	log := logrus.New()
	log.SetOutput(io.Discard)
	p := &process{}
	about := resource.NewSchemaless(attribute.String("service.name", "lockstep"), attribute.String("host.name", name))
	tracing, end := telemetry.NewTracing(c, about, func() { p.failures++ }, log)
	p.Rollouts, p.end = spans.NewRollouts(tracing), end
	return p
}

// remember does what the operator does with each record that it writes.
func (p *process) remember(ctx context.Context, r plan.Rollouts) plan.Rollouts {
	r = p.Kept(fixture.Group().Key, r)
	if r.Current.Begun() && r.Current.Trace == "" {
		r.Current.Trace = p.Begin(ctx)
	}
	return record.ParseRollouts(record.FormatRollouts(r)) // the form that the Lease contains
}

const twoZones = `
zone-a rev=2 current=1 budget=1
  zone-a-0 ready@1 zone-a-1 ready@1
zone-b rev=2 current=1 budget=2
  zone-b-0 ready@1 zone-b-1 ready@1
`

// roll rolls out a group, second by second. lead returns the leading process of each second. roll
// returns the Lease's record at the end.
func roll(t *testing.T, lead func(second int) *process) plan.Rollouts {
	t.Helper()
	w := fixture.NewWorld(fixture.MustParse(twoZones))
	var last *process
	for second := range 30 {
		leader := lead(second)
		if leader != last {
			w.Forget()
		}
		last = leader
		s := w.Snapshot()
		leader.Show(t.Context(), s.Key, s.Hold.Rollouts)
		w.Remember = func(r plan.Rollouts) plan.Rollouts { return leader.remember(t.Context(), r) }
		w.Round()
		w.Tick()
		time.Sleep(time.Second) // for batches, which depend on the clock
		synctest.Wait()
	}
	s := w.Snapshot()
	if !fixture.AtGoal(s) || len(w.Violations) > 0 {
		t.Fatalf("the group does not reach its goal: %v", w.Violations)
	}
	return s.Hold.Rollouts
}

// tree returns spans as a tree, with seconds since the beginning.
func tree(t *testing.T, all []tracetest.SpanStub) string {
	t.Helper()
	var text strings.Builder
	var tell func(parent tracetest.SpanStub, depth int)
	slices.SortStableFunc(all, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	second := func(at time.Time) float64 { return at.Sub(fixture.Now()).Seconds() }
	line := func(s tracetest.SpanStub, depth int) {
		fmt.Fprintf(&text, "%s%s %v..%v", strings.Repeat("  ", depth), s.Name, second(s.StartTime), second(s.EndTime))
		for _, e := range s.Events {
			fmt.Fprintf(&text, " %s@%v", e.Name, second(e.Time))
		}
		text.WriteString("\n")
	}
	tell = func(parent tracetest.SpanStub, depth int) {
		for _, s := range all {
			if s.Parent.SpanID() == parent.SpanContext.SpanID() && s.SpanContext.TraceID() == parent.SpanContext.TraceID() {
				line(s, depth)
				tell(s, depth+1)
			}
		}
	}
	for _, s := range all {
		if !s.Parent.SpanID().IsValid() {
			line(s, 0)
			tell(s, 1)
		}
	}
	return "\n" + text.String()
}

const treeOfTwoZones = `
rollout store 0..9
  zone zone-a 0..6
    pod zone-a-0 0..3 deleted@0 gone@2 recreated@2 Ready@3
    pod zone-a-1 3..6 deleted@3 gone@5 recreated@5 Ready@6
  zone zone-b 6..9
    pod zone-b-0 6..9 deleted@6 gone@8 recreated@8 Ready@9
    pod zone-b-1 6..9 deleted@6 gone@8 recreated@8 Ready@9
`

func TestARolloutIsOneTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := start(c, "one")
		remembered := roll(t, func(int) *process { return p })
		if err := p.end(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(treeOfTwoZones, tree(t, c.spans)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		for _, z := range remembered.Finished[0].Zones {
			if len(z.Pods) > 0 && z.Name == "zone-a" {
				t.Errorf("pods whose spans were exported are remembered: %+v", z.Pods)
			}
		}
	})
}

// Whichever process is killed, and whenever, the trace is the same. A span that is exported twice
// is identical.
func TestATraceSurvivesEveryChangeOfLeader(t *testing.T) {
	for kill := range 14 {
		t.Run(fmt.Sprint("after second ", kill), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lost, c := &collector{away: kill%2 == 0}, &collector{}
				if !lost.away {
					lost = c // the first process exports before it is killed
				}
				first, second := start(lost, "first"), start(c, "second")
				defer func() { _ = second.end(t.Context()) }()
				roll(t, func(n int) *process {
					if n <= kill {
						return first
					}
					return second
				})
				_ = first.end(t.Context())
				time.Sleep(time.Minute)
				synctest.Wait()
				if diff := cmp.Diff(treeOfTwoZones, tree(t, once(t, c.spans))); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			})
		})
	}
}

// once drops spans that were exported before, after it has checked that they are identical.
func once(t *testing.T, all []tracetest.SpanStub) []tracetest.SpanStub {
	t.Helper()
	var different []tracetest.SpanStub
	for _, s := range all {
		i := slices.IndexFunc(different, func(other tracetest.SpanStub) bool { return other.SpanContext.SpanID() == s.SpanContext.SpanID() })
		if i < 0 {
			different = append(different, s)
			continue
		}
		if a, b := fmt.Sprintf("%+v", different[i]), fmt.Sprintf("%+v", s); a != b {
			t.Errorf("exported as\n%s\nand as\n%s", a, b)
		}
	}
	return different
}

func TestSpansNameTheirObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := start(c, "one")
		roll(t, func(int) *process { return p })
		_ = p.end(t.Context())
		got := map[string]string{}
		for _, s := range c.spans {
			var text []string
			for _, a := range append(s.Resource.Attributes(), s.Attributes...) {
				text = append(text, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
			}
			got[s.Name] = strings.Join(text, " ")
		}
		const about = "service.name=lockstep k8s.namespace.name=team lockstep.group=store "
		const zone = about + "k8s.statefulset.name=zone-b lockstep.holder=rollout/zone-b lockstep.revision.from=1 lockstep.revision.to=2 "
		for name, want := range map[string]string{
			"rollout store": about + `lockstep.revision.from=["1","1"] lockstep.revision.to=["2","2"]`,
			"zone zone-b":   zone + "k8s.statefulset.uid=zone-b lockstep.budget=2",
			"pod zone-b-0":  zone + "k8s.pod.name=zone-b-0 k8s.pod.uid=zone-b-0 lockstep.reason=OutdatedRevision lockstep.ready.seen=false",
		} {
			if got[name] != want {
				t.Errorf("%s\ngot  %s\nwant %s", name, got[name], want)
			}
		}
	})
}

// Only spans beyond the limits are lost, and no operation waits.
func TestSpansAreExportedAfterAnOutageOfTheCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{away: true}
		p := start(c, "one")
		remembered := roll(t, func(int) *process { return p })
		if p.failures == 0 {
			t.Error("no failure was counted")
		}
		c.mu.Lock()
		c.away = false
		c.mu.Unlock()
		key := fixture.Group().Key
		p.Show(t.Context(), key, remembered)
		time.Sleep(10 * time.Second)
		if len(c.spans) > 0 {
			t.Error("exported spans were exported again")
		}
		time.Sleep(time.Minute)
		p.Show(t.Context(), key, remembered)
		time.Sleep(10 * time.Second)
		_ = p.end(t.Context())
		if diff := cmp.Diff(treeOfTwoZones, tree(t, c.spans)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	})
}

// A tenant may have copied the record of another tenant.
func TestTheSameTraceInAnotherNamespaceIsExportedSeparately(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := start(c, "one")
		finished := plan.Rollouts{Finished: []plan.RolledGroup{{
			Trace: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", Since: fixture.Now(), Until: fixture.Now(),
		}}}
		theirs, ours := plan.Key{Namespace: "theirs", Name: "store"}, plan.Key{Namespace: "ours", Name: "store"}
		p.Show(t.Context(), theirs, finished)
		time.Sleep(10 * time.Second)
		if p.Kept(ours, finished).Finished[0].Exported {
			t.Error("the span of another namespace counts as exported")
		}
		p.Show(t.Context(), ours, finished)
		time.Sleep(10 * time.Second)
		p.Forget(theirs)
		if !p.Kept(ours, finished).Finished[0].Exported {
			t.Error("its own span was not exported, or is forgotten with that of another namespace")
		}
		_ = p.end(t.Context())
		if len(c.spans) != 2 {
			t.Errorf("got %d spans, want one of each namespace", len(c.spans))
		}
	})
}

// A span that the standard variables truncate is still the same span.
func TestASpanWithShortAttributesIsKnownToBeExported(t *testing.T) {
	t.Setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "2")
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := start(c, "one")
		finished := plan.Rollouts{Finished: []plan.RolledGroup{{
			Trace: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01", Since: fixture.Now(), Until: fixture.Now(),
		}}}
		p.Show(t.Context(), fixture.Group().Key, finished)
		time.Sleep(10 * time.Second)
		if !p.Kept(fixture.Group().Key, finished).Finished[0].Exported {
			t.Error("it is exported again and again")
		}
		_ = p.end(t.Context())
	})
}

func TestARolloutThatIsNotSampledHasNoSpans(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := start(c, "one")
		remembered := roll(t, func(int) *process { return p })
		_ = p.end(t.Context())
		if trace := remembered.Finished[0].Trace; !strings.HasSuffix(trace, "-00") || len(c.spans) > 0 {
			t.Errorf("%d spans of trace %q", len(c.spans), trace)
		}
	})
}

func TestWithoutTracingARolloutHasNoTrace(t *testing.T) {
	p := &process{Rollouts: spans.NewRollouts(telemetry.Tracing{})}
	synctest.Test(t, func(t *testing.T) {
		if trace := roll(t, func(int) *process { return p }).Finished[0].Trace; trace != "" {
			t.Errorf("it has %q", trace)
		}
	})
}

// Users who may write a Lease can put any text there.
func TestHostileNamesBreakNoSpan(t *testing.T) {
	const trace = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"
	for _, text := range fuzzcorpus.Texts() {
		synctest.Test(t, func(t *testing.T) {
			c := &collector{}
			p := start(c, "one")
			now := fixture.Now()
			pod := plan.RolledPod{Name: text, UID: text, Cause: reason.Code(text), Deleted: now, Recreated: now}
			zone := plan.RolledZone{Name: text, UID: text, From: text, To: text, Since: now, Until: now, Pods: []plan.RolledPod{pod}}
			p.Show(t.Context(), fixture.Group().Key, plan.Rollouts{Finished: []plan.RolledGroup{{Trace: trace, Since: now, Until: now, Zones: []plan.RolledZone{zone}}}})
			_ = p.end(t.Context())
			if len(c.spans) != 3 {
				t.Fatalf("%.20q: %d spans of a rollout, a zone and a pod", text, len(c.spans))
			}
			for _, s := range c.spans {
				shown := []string{s.Name, s.Status.Description}
				for _, a := range s.Attributes {
					shown = append(shown, a.Value.String())
				}
				for _, said := range shown {
					if len(said) > 1000 || !utf8.ValidString(said) || strings.ContainsFunc(said, func(r rune) bool { return !unicode.IsPrint(r) }) {
						t.Errorf("%.20q: %d bytes: %.80q", text, len(said), said)
					}
				}
			}
		})
	}
}

// Users who may write a Lease can put any text there.
func TestAnImpossibleTraceIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &collector{}
		p := start(c, "one")
		for _, trace := range []string{"1", "00-zz-11-01", "00-00000000000000000000000000000000-0000000000000000-01", strings.Repeat("1", 1000)} {
			p.Show(t.Context(), fixture.Group().Key, plan.Rollouts{Finished: []plan.RolledGroup{{Trace: trace, Since: fixture.Now(), Until: fixture.Now()}}})
		}
		_ = p.end(t.Context())
		if len(c.spans) > 0 {
			t.Errorf("got %s", tree(t, c.spans))
		}
	})
}
