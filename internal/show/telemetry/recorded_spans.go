package telemetry

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// handAgain is how long to wait for the collector to take a span before the span is handed over
// again.
const handAgain = time.Minute

// Span is a span whose data are all given, including its ids. Therefore every process exports the
// same span.
type Span struct {
	Of         Owner // becomes its attributes
	Context    trace.SpanContext
	Parent     trace.SpanID // of the same trace; none: it is the root
	Name       string
	Start, End time.Time
	Failed     string // an error message; empty: no error
	Attributes []attribute.KeyValue
	Events     []Event
}

// Event is an event within a span.
type Event struct {
	Name string
	At   time.Time
}

// RecordedSpans exports spans from records that this process or an earlier one has written. If a
// span is exported twice, both copies are identical. Its methods are safe for concurrent use.
type RecordedSpans struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
	now      func() time.Time

	mu     sync.Mutex
	handed map[ids]map[Owner]handed // no entry is empty
}

type handed struct {
	at    time.Time
	taken bool // by the collector
}

// newRecordedSpans returns RecordedSpans whose spans go to a processor. The exporter behind it
// must call took.
func newRecordedSpans(processor sdktrace.SpanProcessor, about *resource.Resource) *RecordedSpans {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(processor), sdktrace.WithResource(alike(about)),
		sdktrace.WithIDGenerator(givenIDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()),
	)
	return &RecordedSpans{tracer: provider.Tracer(serviceName), provider: provider, now: time.Now, handed: map[ids]map[Owner]handed{}}
}

// unlike are prefixes of attributes that differ between processes.
var unlike = []string{"host.", "process.", "container.", "os.", "k8s.pod.", "k8s.node.", "service.instance.", "service.version", "telemetry.sdk."}

// alike returns the attributes of a resource that all processes of the service have in common.
func alike(about *resource.Resource) *resource.Resource {
	var common []attribute.KeyValue
	for _, a := range about.Attributes() {
		if !slices.ContainsFunc(unlike, func(prefix string) bool { return strings.HasPrefix(string(a.Key), prefix) }) {
			common = append(common, a)
		}
	}
	return resource.NewSchemaless(common...)
}

// Hand exports a span, unless this process has recently handed it over or the collector has it.
func (r *RecordedSpans) Hand(ctx context.Context, s Span) {
	if !r.due(s.Of.In(s.Context)) {
		return
	}
	ctx = context.WithValue(ctx, givenIDs{}, s.Context)
	about := []trace.SpanStartOption{trace.WithTimestamp(s.Start), trace.WithAttributes(append(s.Of.attributes(), s.Attributes...)...)}
	if s.Parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, s.Context.WithSpanID(s.Parent))
	} else {
		about = append(about, trace.WithNewRoot())
	}
	_, span := r.tracer.Start(ctx, s.Name, about...)
	for _, event := range s.Events {
		span.AddEvent(event.Name, trace.WithTimestamp(event.At))
	}
	if s.Failed != "" {
		span.SetStatus(codes.Error, s.Failed)
	}
	span.End(trace.WithTimestamp(s.End))
}

// due reports whether a span must be handed over now. If so, it records that.
func (r *RecordedSpans) due(it Ref) bool {
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	last, before := r.handed[it.ids][it.Owner]
	if before && (last.taken || now.Sub(last.at) < handAgain) {
		return false
	}
	if r.handed[it.ids] == nil {
		r.handed[it.ids] = map[Owner]handed{}
	}
	r.handed[it.ids][it.Owner] = handed{at: now}
	return true
}

// Taken reports whether the collector took a span that this process handed over.
func (r *RecordedSpans) Taken(it Ref) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handed[it.ids][it.Owner].taken
}

// Forget drops the record of a span that will not be handed over again.
func (r *RecordedSpans) Forget(it Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.handed[it.ids], it.Owner); len(r.handed[it.ids]) == 0 {
		delete(r.handed, it.ids)
	}
}

// took records that the collector took these spans.
func (r *RecordedSpans) took(spans []sdktrace.ReadOnlySpan) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, span := range spans {
		c, shown := span.SpanContext(), ofAttributes(span.Attributes())
		owners := r.handed[ids{c.TraceID(), c.SpanID()}]
		for whose, h := range owners {
			if whose.shownAs(shown) {
				h.taken = true
				owners[whose] = h
			}
		}
	}
}

// givenIDs takes the ids of a span from the context in which the span starts. The context has
// them under this type as the key.
type givenIDs struct{}

// NewIDs implements sdktrace.IDGenerator.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	given, _ := ctx.Value(givenIDs{}).(trace.SpanContext)
	return given.TraceID(), given.SpanID()
}

// NewSpanID implements sdktrace.IDGenerator.
func (g givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, id := g.NewIDs(ctx)
	return id
}
