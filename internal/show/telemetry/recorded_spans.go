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

// handAgain is after how long a span is handed over again of which nobody has heard
// that the collector took it.
const handAgain = time.Minute

// Span is a span of which everything is given, its ids too, so that whoever exports it
// exports the same.
type Span struct {
	Of         Owner // which it has as attributes
	Context    trace.SpanContext
	Parent     trace.SpanID // of the same trace; none: it is the root
	Name       string
	Start, End time.Time
	Failed     string // what went wrong, usually nothing
	Attributes []attribute.KeyValue
	Events     []Event
}

// Event is something that happened within a span.
type Event struct {
	Name string
	At   time.Time
}

// RecordedSpans exports spans that are made from what somebody has written down, in this
// process or in an earlier one. A span that is exported twice is the same byte for byte.
// Its methods may be called concurrently.
type RecordedSpans struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider
	now      func() time.Time

	mu     sync.Mutex
	handed map[ids]map[Owner]handed // there is none without an owner
}

type handed struct {
	at    time.Time
	taken bool // by the collector
}

// newRecordedSpans returns RecordedSpans whose spans go to a processor. Whoever is behind that
// calls took.
func newRecordedSpans(processor sdktrace.SpanProcessor, about *resource.Resource) *RecordedSpans {
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(processor), sdktrace.WithResource(alike(about)),
		sdktrace.WithIDGenerator(givenIDs{}), sdktrace.WithSampler(sdktrace.AlwaysSample()),
	)
	return &RecordedSpans{tracer: provider.Tracer(serviceName), provider: provider, now: time.Now, handed: map[ids]map[Owner]handed{}}
}

// unlike are beginnings of attributes that differ from one process to the next.
var unlike = []string{"host.", "process.", "container.", "os.", "k8s.pod.", "k8s.node.", "service.instance.", "service.version", "telemetry.sdk."}

// alike returns what of a resource every process of the service has in common.
func alike(about *resource.Resource) *resource.Resource {
	var common []attribute.KeyValue
	for _, a := range about.Attributes() {
		if !slices.ContainsFunc(unlike, func(prefix string) bool { return strings.HasPrefix(string(a.Key), prefix) }) {
			common = append(common, a)
		}
	}
	return resource.NewSchemaless(common...)
}

// Hand hands a span over to be exported, unless that was done a moment ago or the
// collector has it.
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

// due reports whether a span is to be handed over now, and notes that it is.
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

// Forget drops what is known of a span that nobody hands over any more.
func (r *RecordedSpans) Forget(it Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if delete(r.handed[it.ids], it.Owner); len(r.handed[it.ids]) == 0 {
		delete(r.handed, it.ids)
	}
}

// took notes which spans the collector took.
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

// givenIDs takes the ids of a span from the context that it is started in, where they
// stand under this type.
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
