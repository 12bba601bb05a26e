package admission

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// Paths of the webhooks: a root, and the name of each.
const (
	NoDownscalePath      = root + "no-downscale"
	PrepareDownscalePath = root + "prepare-downscale"
	podEvictionPath      = root + "pod-eviction"
	podEvictionPinPath   = root + "pod-eviction-pin"
	zpdbValidationPath   = root + "zpdb-validation"

	root = "/admission/"
)

// Paths returns the paths of all webhooks.
func Paths() []string {
	return []string{NoDownscalePath, PrepareDownscalePath, podEvictionPath, podEvictionPinPath, zpdbValidationPath}
}

// Guards returns the paths of webhooks without whose answer nothing may pass.
func Guards() []string {
	return []string{PrepareDownscalePath, podEvictionPath, podEvictionPinPath, zpdbValidationPath}
}

// Wanted returns the paths of webhooks that have to be called, or downscales and evictions
// are not serialized with rollouts.
func Wanted() []string { return []string{PrepareDownscalePath, podEvictionPath} }

// Options say which webhooks there are. Log is required; a webhook without a
// judge is not served. The one called zpdb-validation needs none and always is.
type Options struct {
	NoDownscale      Judge
	PrepareDownscale Judge
	PodEviction      *PodEviction
	PodEvictionPin   *PodEvictionPin

	// Limit is how long an answer may take at most; 9 s when zero. What the API
	// server waits, less a margin, limits it further.
	Limit time.Duration
	Log   logrus.FieldLogger
	// Tracer makes a span of every decision. Not set: no spans.
	Tracer trace.Tracer
	// Observe is told once about every request, for metrics.
	Observe func(Observation)
	// Begin is called when a review has been read. The function that it returns is called when the
	// review is answered.
	Begin func(namespace, webhook string) (end func())
}

// Observation is what became of one request.
type Observation struct {
	Webhook   string      // its name, as in its path
	Verdict   Outcome     // what the API server was told
	Reason    reason.Code // why; empty when there was no verdict
	Group     plan.Key    // that was judged, where one was
	Namespace string      // of the request; empty when it could not be read
	DryRun    bool
	Took      time.Duration
	Span      trace.SpanContext // of the decision; not valid when there was none
}

// Outcome is what became of a request, as a metric's label.
type Outcome string

// Outcomes.
const (
	Allowed   Outcome = "allowed"
	Denied    Outcome = "denied"
	Malformed Outcome = "malformed" // no review that can be answered: HTTP 4xx
	Busy      Outcome = "busy"      // large, and its turn to be read did not come: HTTP 503
	Broken    Outcome = "broken"    // a defect of lockstep: HTTP 500
)

const usualLimit = 9 * time.Second

// New returns the handler of all webhooks. Whoever serves it bounds what a request may
// bring along.
func New(o Options) http.Handler {
	if o.Limit <= 0 {
		o.Limit = usualLimit
	}
	if o.Tracer == nil {
		o.Tracer = noop.Tracer{}
	}
	if o.Observe == nil {
		o.Observe = func(Observation) {}
	}
	if o.Begin == nil {
		o.Begin = func(string, string) func() { return func() {} }
	}
	mux, reading := http.NewServeMux(), new(readingRoom)
	serve := func(path string, understand func(*review) understood) {
		mux.Handle("POST "+path, &webhook{name: strings.TrimPrefix(path, root), understand: understand, reading: reading, options: o})
	}
	for path, judge := range map[string]Judge{NoDownscalePath: o.NoDownscale, PrepareDownscalePath: o.PrepareDownscale} {
		if judge != nil {
			serve(path, changes(judge))
		}
	}
	if o.PodEviction != nil {
		serve(podEvictionPath, evictions(o.PodEviction))
	}
	if o.PodEvictionPin != nil {
		serve(podEvictionPinPath, evictions(o.PodEvictionPin))
	}
	serve(zpdbValidationPath, budgets)
	return mux
}

// webhook serves one path.
type webhook struct {
	name       string
	understand func(*review) understood
	reading    *readingRoom
	options    Options
}

// ServeHTTP implements http.Handler.
func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	told := Observation{Webhook: h.name, Verdict: Broken}
	began := time.Now()
	defer func() {
		if defect := recover(); defect != nil {
			h.options.Log.WithFields(logrus.Fields{"webhook": h.name, "stack": string(debug.Stack())}).Errorf("panic while answering a review: %v", defect)
			refuse(w, http.StatusInternalServerError, "lockstep failed on this review; see its log")
		}
		told.Took = time.Since(began)
		h.options.Observe(told)
	}()
	ctx, stop := context.WithTimeout(r.Context(), limit(r, h.options.Limit))
	defer stop()
	r = r.WithContext(ctx)
	asked, judge, err := h.read(w, r)
	if err != nil {
		told.Verdict = h.unread(w, err)
		return
	}
	told.Namespace = asked.Request.Namespace
	defer h.options.Begin(told.Namespace, h.name)()
	verdict, span := h.decide(r, asked.Request, judge)
	text, err := asked.answer(verdict)
	if err != nil {
		panic(fmt.Errorf("encode a verdict: %w", err)) // strings and numbers: it always can be
	}
	told.Verdict, told.Reason, told.Group = verdict.outcome(), verdict.Reason, verdict.Group
	told.DryRun, told.Span = asked.Request.DryRun, span
	if verdict.unseeing() {
		w.Header().Set("Connection", "close") // the next one may lead to another replica
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // whoever asked has gone, if this fails
}

// unread answers a request whose review is not known.
func (h *webhook) unread(w http.ResponseWriter, err error) Outcome {
	status := http.StatusBadRequest
	if r, ok := errors.AsType[refusal](err); ok {
		status = r.status
	}
	log := h.options.Log.WithFields(logrus.Fields{"webhook": h.name, "status": status}).WithError(err)
	defer refuse(w, status, err.Error())
	if status == http.StatusServiceUnavailable {
		log.Warn("review was not read in time")
		return Busy
	}
	log.Warn("request is not a valid AdmissionReview")
	return Malformed
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	http.Error(w, text, status)
}

// decide asks the judge under a span.
func (h *webhook) decide(r *http.Request, q *request, judge understood) (Verdict, trace.SpanContext) {
	ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := h.options.Tracer.Start(ctx, "admission "+h.name, trace.WithSpanKind(trace.SpanKindServer))
	defer span.End()
	verdict := judge(ctx)
	if span.IsRecording() {
		span.SetAttributes(
			attribute.String("k8s.namespace.name", q.Namespace), attribute.String("lockstep.object", q.what()+"/"+q.Name),
			attribute.Bool("lockstep.dry_run", q.DryRun),
			attribute.String("lockstep.decision", string(verdict.outcome())), attribute.String("lockstep.reason", string(verdict.Reason)))
		if !verdict.Allowed {
			span.SetStatus(codes.Error, string(verdict.Reason))
		}
	}
	h.log(ctx, q, verdict)
	return verdict, span.SpanContext()
}

// changes has a judge decide about what changes a number of replicas.
func changes(judge Judge) func(*review) understood {
	return func(asked *review) understood {
		change, err := asked.Request.change()
		return func(ctx context.Context) Verdict {
			if err != nil {
				return judge.Doubt(reason.ObjectUnreadable, err.Error())
			}
			return judge.Judge(ctx, change)
		}
	}
}

// log writes a line for whatever is not a plain yes.
func (h *webhook) log(ctx context.Context, q *request, v Verdict) {
	if v.Allowed && len(v.Warnings) == 0 {
		return
	}
	line := h.options.Log.WithFields(logrus.Fields{
		"webhook": h.name, "namespace": q.Namespace, "object": q.what() + "/" + q.Name, "dry_run": q.DryRun,
		"verdict": v.outcome(), "reason": v.Reason, "message": v.Message, "warnings": v.Warnings,
	})
	line.WithContext(ctx).Info("review answered")
}

func (v Verdict) outcome() Outcome {
	if v.Allowed {
		return Allowed
	}
	return Denied
}

// limit is how long an answer may take: what was configured, and less than the
// API server waits, which it says in its query.
func limit(r *http.Request, configured time.Duration) time.Duration {
	patience, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || patience <= 0 {
		return configured
	}
	const least = 200 * time.Millisecond
	margin := min(max(patience/10, least), patience/2)
	return min(configured, patience-margin)
}
