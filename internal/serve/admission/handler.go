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

// Paths of the webhooks.
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

// Guards returns the paths of webhooks whose failurePolicy must be Fail.
func Guards() []string {
	return []string{PrepareDownscalePath, podEvictionPath, podEvictionPinPath, zpdbValidationPath}
}

// Wanted returns the paths of webhooks that API servers must call. Otherwise downscales and
// evictions are not serialized with rollouts.
func Wanted() []string { return []string{PrepareDownscalePath, podEvictionPath} }

// Options configure the webhooks. Log is required. A webhook without a judge is not
// served. The webhook zpdb-validation needs no judge and is always served.
type Options struct {
	NoDownscale      Judge
	PrepareDownscale Judge
	PodEviction      *PodEviction
	PodEvictionPin   *PodEvictionPin

	// Limit is the maximum duration of an answer; 9 s if it is zero. The timeout of the
	// API server, less a margin, is another limit.
	Limit time.Duration
	Log   logrus.FieldLogger
	// Tracer creates a span for each decision. If it is nil, there are no spans.
	Tracer trace.Tracer
	// Observe is called once for each request, for metrics.
	Observe func(Observation)
	// Begin is called after a review has been read. The function that it returns is called after the
	// review has been answered.
	Begin func(namespace, webhook string) (end func())
}

// Observation is the result of one request.
type Observation struct {
	Webhook   string      // its name, as in its path
	Verdict   Outcome     // the answer to the API server
	Reason    reason.Code // why; empty if there was no verdict
	Group     plan.Key    // the group of the object, if it has one
	Namespace string      // of the request; empty if the request could not be read
	DryRun    bool
	Took      time.Duration
	Span      trace.SpanContext // of the decision; invalid if there was none
}

// Outcome is the result of a request as a metric label.
type Outcome string

// Outcomes.
const (
	Allowed   Outcome = "allowed"
	Denied    Outcome = "denied"
	Malformed Outcome = "malformed" // the request is no valid review: HTTP 4xx
	Busy      Outcome = "busy"      // a large review could not be read in time: HTTP 503
	Broken    Outcome = "broken"    // a bug in lockstep: HTTP 500
)

const usualLimit = 9 * time.Second

// New returns the handler of all webhooks. The caller limits the size of request bodies.
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
	mux, limiter := http.NewServeMux(), new(readLimiter)
	serve := func(path string, parse func(*review) verdictFunc) {
		mux.Handle("POST "+path, &webhook{name: strings.TrimPrefix(path, root), parse: parse, limiter: limiter, options: o})
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
	name    string
	parse   func(*review) verdictFunc
	limiter *readLimiter
	options Options
}

// ServeHTTP implements http.Handler.
func (h *webhook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	result := Observation{Webhook: h.name, Verdict: Broken}
	began := time.Now()
	defer func() {
		if defect := recover(); defect != nil {
			h.options.Log.WithFields(logrus.Fields{"webhook": h.name, "stack": string(debug.Stack())}).Errorf("panic while answering a review: %v", defect)
			refuse(w, http.StatusInternalServerError, "lockstep failed on this review; see its log")
		}
		result.Took = time.Since(began)
		h.options.Observe(result)
	}()
	ctx, stop := context.WithTimeout(r.Context(), limit(r, h.options.Limit))
	defer stop()
	r = r.WithContext(ctx)
	ar, judge, err := h.read(w, r)
	if err != nil {
		result.Verdict = h.unread(w, err)
		return
	}
	result.Namespace = ar.Request.Namespace
	defer h.options.Begin(result.Namespace, h.name)()
	verdict, span := h.decide(r, ar.Request, judge)
	text, err := ar.answer(verdict)
	if err != nil {
		panic(fmt.Errorf("encode verdict: %w", err)) // strings and numbers always encode
	}
	result.Verdict, result.Reason, result.Group = verdict.outcome(), verdict.Reason, verdict.Group
	result.DryRun, result.Span = ar.Request.DryRun, span
	if verdict.lacksData() {
		w.Header().Set("Connection", "close") // the client's next connection can reach another replica
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // fails only if the client has closed the connection
}

// unread answers a request whose review could not be read.
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

// decide calls the judge within a span.
func (h *webhook) decide(r *http.Request, q *request, judge verdictFunc) (Verdict, trace.SpanContext) {
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

// changes returns a function that parses a Change and calls the judge.
func changes(judge Judge) func(*review) verdictFunc {
	return func(ar *review) verdictFunc {
		change, err := ar.Request.change()
		return func(ctx context.Context) Verdict {
			if err != nil {
				return judge.Doubt(reason.ObjectUnreadable, err.Error())
			}
			return judge.Judge(ctx, change)
		}
	}
}

// log writes a line unless the verdict is allowed without warnings.
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

// limit returns the maximum duration of an answer. It is the configured one, but less than
// the timeout of the API server, which the query of the request contains.
func limit(r *http.Request, configured time.Duration) time.Duration {
	patience, err := time.ParseDuration(r.URL.Query().Get("timeout"))
	if err != nil || patience <= 0 {
		return configured
	}
	const least = 200 * time.Millisecond
	margin := min(max(patience/10, least), patience/2)
	return min(configured, patience-margin)
}
