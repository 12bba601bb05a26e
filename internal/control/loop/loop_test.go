package loop_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"
	"k8s.io/client-go/util/workqueue"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// key is a group of the tests.
type key struct{ namespace, group string }

func (k key) String() string { return k.namespace + "/" + k.group }

var one = key{"mimir", "ingester"}

// bench is a loop under test, with its log and the times of its reconciles.
type bench struct {
	*loop.Loop[key]
	log        bytes.Buffer
	began      time.Time
	mu         sync.Mutex
	reconciles []string // "250ms mimir/ingester", times since the beginning
	results    []loop.Result
	end        func() // stops the loop and waits for its workers
}

// run starts a loop in a synctest bubble and stops it at the end.
func run(t *testing.T, reconcile func(ctx context.Context, k key) (loop.Outcome, error), change ...func(*loop.Options[key])) *bench {
	t.Helper()
	b := &bench{began: time.Now()}
	log := logrus.New()
	log.SetOutput(&b.log)
	log.SetLevel(logrus.DebugLevel)
	options := loop.Options[key]{
		Name:      "group",
		Namespace: func(k key) string { return k.namespace },
		Log:       log,
		Reconcile: func(ctx context.Context, k key) (loop.Outcome, error) {
			b.mu.Lock()
			b.reconciles = append(b.reconciles, fmt.Sprint(time.Since(b.began), " ", k))
			b.mu.Unlock()
			return reconcile(ctx, k)
		},
		Observe: func(_ context.Context, _ key, result loop.Result, _ time.Duration) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.results = append(b.results, result)
		},
	}
	for _, c := range change {
		c(&options)
	}
	b.Loop = loop.New(options)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); b.Run(ctx) }()
	b.end = func() { stop(); <-ended }
	t.Cleanup(b.end)
	return b
}

// seen waits until all goroutines block and returns the reconciles.
func (b *bench) seen() []string {
	synctest.Wait()
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.reconciles
}

// answers returns one outcome for each reconcile, and repeats the last one.
func answers(all ...any) func(context.Context, key) (loop.Outcome, error) {
	var n atomic.Int64
	return func(context.Context, key) (loop.Outcome, error) {
		i := min(int(n.Add(1)), len(all)) - 1
		switch a := all[i].(type) {
		case loop.Outcome:
			return a, nil
		case error:
			return loop.Done(), a
		}
		panic(all[i])
	}
}

var (
	errAgain = errors.New("connection refused")
	errMoved = reason.WithClass(reason.Moved, errors.New("conflict"))
	errHuman = fmt.Errorf("read: %w", reason.WithClass(reason.Human, errors.New("forbidden")))
)

func TestReconcileOutcomes(t *testing.T) {
	for name, tc := range map[string]struct {
		answers []any
		watch   time.Duration
		want    []string
		results []loop.Result
	}{
		"done is not reconciled again": {
			answers: []any{loop.Done()}, watch: 24 * time.Hour,
			want:    []string{"0s"},
			results: []loop.Result{loop.ResultDone},
		},
		"gone is not reconciled again": {
			answers: []any{loop.Gone()}, watch: 24 * time.Hour,
			want:    []string{"0s"},
			results: []loop.Result{loop.ResultGone},
		},
		"a wait ends on time": {
			answers: []any{loop.After(3 * time.Hour), loop.Done()}, watch: 24 * time.Hour,
			want:    []string{"0s", "3h0m0s"},
			results: []loop.Result{loop.ResultWait, loop.ResultDone},
		},
		"now is at once": {
			answers: []any{loop.Now(), loop.After(-1), loop.Done()}, watch: time.Hour,
			want:    []string{"0s", "0s", "0s"},
			results: []loop.Result{loop.ResultNow, loop.ResultNow, loop.ResultDone},
		},
		"errors back off from 50 ms": {
			answers: []any{errAgain, errAgain, errAgain, errAgain, loop.Done()}, watch: time.Hour,
			want:    []string{"0s", "50ms", "150ms", "350ms", "750ms"},
			results: []loop.Result{loop.ResultAgain, loop.ResultAgain, loop.ResultAgain, loop.ResultAgain, loop.ResultDone},
		},
		"a success forgets the back-off": {
			answers: []any{errAgain, errAgain, loop.Now(), errAgain, loop.Done()}, watch: time.Hour,
			want:    []string{"0s", "50ms", "150ms", "150ms", "200ms"},
			results: []loop.Result{loop.ResultAgain, loop.ResultAgain, loop.ResultNow, loop.ResultAgain, loop.ResultDone},
		},
		"conflicts are retried from 2 ms": {
			answers: []any{errMoved, errMoved, errMoved, loop.Done()}, watch: time.Hour,
			want:    []string{"0s", "2ms", "6ms", "14ms"},
			results: []loop.Result{loop.ResultMoved, loop.ResultMoved, loop.ResultMoved, loop.ResultDone},
		},
		"an error that needs a person is not retried": {
			answers: []any{errHuman}, watch: 24 * time.Hour,
			want:    []string{"0s"},
			results: []loop.Result{loop.ResultHuman},
		},
		"a panic backs off like an error": {
			answers: []any{"oops", "oops", loop.Done()}, watch: time.Hour,
			want:    []string{"0s", "50ms", "150ms"},
			results: []loop.Result{loop.ResultPanic, loop.ResultPanic, loop.ResultDone},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := run(t, answers(tc.answers...))
				b.Add(one)
				time.Sleep(tc.watch)
				var want []string
				for _, at := range tc.want {
					want = append(want, at+" mimir/ingester")
				}
				if diff := cmp.Diff(want, b.seen()); diff != "" {
					t.Errorf("reconciles (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tc.results, b.results); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestBackOffHasAMaximum(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		most time.Duration
	}{
		"a minute for errors":             {errAgain, time.Minute},
		"a second for a world that moves": {errMoved, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := run(t, answers(tc.err))
				b.Add(one)
				time.Sleep(100 * tc.most)
				before := len(b.seen())
				time.Sleep(10 * tc.most)
				if got := len(b.seen()) - before; got != 10 {
					t.Errorf("reconciled %d times within ten times %v, want 10", got, tc.most)
				}
			})
		})
	}
}

func TestWaitReturnedWithAnErrorCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n int
		b := run(t, func(context.Context, key) (loop.Outcome, error) {
			if n++; n == 1 {
				return loop.After(time.Minute), errHuman
			}
			return loop.Done(), nil
		})
		b.Add(one)
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{"0s mimir/ingester", "1m0s mimir/ingester"}, b.seen()); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
	})
}

func TestEventCancelsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, answers(loop.After(time.Hour), loop.Done()))
		b.Add(one)
		time.Sleep(time.Minute)
		b.Add(one) // the event; its reconcile returns Done, so the timer of an hour must not fire
		time.Sleep(24 * time.Hour)
		if diff := cmp.Diff([]string{"0s mimir/ingester", "1m0s mimir/ingester"}, b.seen()); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
	})
}

func TestEarliestTimerCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, answers(loop.Done()))
		for _, d := range []time.Duration{time.Hour, time.Minute, 2 * time.Minute} {
			b.AddAfter(one, d)
		}
		time.Sleep(24 * time.Hour)
		if diff := cmp.Diff([]string{"1m0s mimir/ingester"}, b.seen()); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
		b.AddAfter(one, 0)
		if got := len(b.seen()); got != 2 {
			t.Errorf("%d reconciles, want one more at once", got)
		}
	})
}

func TestAddAfterDuringAReconcileIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n int
		var b *bench
		b = run(t, func(_ context.Context, k key) (loop.Outcome, error) {
			if n++; n == 1 {
				b.AddAfter(k, time.Minute)
			}
			return loop.Done(), nil
		})
		b.Add(one)
		time.Sleep(time.Hour)
		if diff := cmp.Diff([]string{"0s mimir/ingester", "1m0s mimir/ingester"}, b.seen()); diff != "" {
			t.Errorf("reconciles (-want +got):\n%s", diff)
		}
	})
}

func TestOutcomesCombine(t *testing.T) {
	for name, tc := range map[string]struct{ a, b, want loop.Outcome }{
		"the shorter wait counts":      {loop.After(2), loop.After(1), loop.After(1)},
		"a wait counts more than done": {loop.Done(), loop.After(1), loop.After(1)},
		"now counts more than a wait":  {loop.Now(), loop.After(1), loop.Now()},
		"done and done is done":        {loop.Done(), loop.Done(), loop.Done()},
		"the zero outcome is done":     {loop.Outcome{}, loop.Done(), loop.Done()},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.a.Earlier(tc.b); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if got := tc.b.Earlier(tc.a); got != tc.want {
				t.Errorf("the other way round: got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestBusyNamespaceDelaysAQuietOneByOneTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, func(context.Context, key) (loop.Outcome, error) {
			time.Sleep(time.Millisecond)
			return loop.Now(), nil // this keeps the loop as busy as possible
		})
		for n := range 1000 {
			b.Add(key{"busy", fmt.Sprint(n)})
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		b.Add(key{"quiet", "only"})
		asked := time.Since(b.began)
		time.Sleep(time.Second)
		for _, look := range b.seen() {
			at, name, _ := strings.Cut(look, " ")
			if name != "quiet/only" {
				continue
			}
			when, err := time.ParseDuration(at)
			if err != nil {
				t.Fatal(err)
			}
			if late := when - asked; late > 2*time.Millisecond {
				t.Errorf("reconciled after %v, want at most the reconcile in progress and one turn", late)
			}
			return
		}
		t.Error("never served")
	})
}

func TestNoNamespaceStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := map[key]int{}
		var mu sync.Mutex
		b := run(t, func(_ context.Context, k key) (loop.Outcome, error) {
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			served[k]++
			return loop.Now(), nil
		}, func(o *loop.Options[key]) { o.Workers = 4 })
		for n := range 50 {
			b.Add(key{"big", fmt.Sprint(n)})
		}
		for n := range 9 {
			b.Add(key{fmt.Sprint("small-", n), "g"})
		}
		time.Sleep(2 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if len(served) != 59 {
			t.Errorf("%d of 59 keys were served", len(served))
		}
		share, low, high := map[string]int{}, 8000, 0 // reconciles by namespace, and of single keys of the big namespace
		for k, n := range served {
			share[k.namespace] += n
			if k.namespace == "big" {
				low, high = min(low, n), max(high, n)
			}
		}
		// Ten namespaces share 8,000 reconciles. A namespace with a single key does not wait
		// during its reconcile, so it gets slightly fewer reconciles than the big namespace.
		for namespace, n := range share {
			if n < 700 || n > 1200 {
				t.Errorf("%s got %d reconciles, want about 800", namespace, n)
			}
		}
		if high-low > 1 {
			t.Errorf("keys of one namespace got %d to %d reconciles, want the same", low, high)
		}
	})
}

func TestTwoWorkersNeverReconcileOneKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy, reconciles atomic.Int64
		b := run(t, func(context.Context, key) (loop.Outcome, error) {
			if busy.Add(1) > 1 {
				t.Error("two workers have the same key")
			}
			time.Sleep(time.Second)
			busy.Add(-1)
			reconciles.Add(1)
			return loop.Done(), nil
		}, func(o *loop.Options[key]) { o.Workers = 8 })
		for range 20 {
			b.Add(one)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		if got := reconciles.Load(); got != 3 {
			t.Errorf("%d reconciles, want 3: two seconds of events, and one more for the last", got)
		}
	})
}

func TestPanicAffectsOnlyItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := run(t, func(_ context.Context, k key) (loop.Outcome, error) {
			if k.group == "bad" {
				panic("index out of range")
			}
			return loop.Done(), nil
		})
		for n := range 10 {
			b.Add(key{"n", "bad"})
			b.Add(key{"n", fmt.Sprint("good-", n)})
		}
		time.Sleep(time.Millisecond)
		good := 0
		for _, look := range b.seen() {
			if strings.Contains(look, "good") {
				good++
			}
		}
		if good != 10 {
			t.Errorf("%d of 10 good keys were served", good)
		}
		log := b.log.String()
		for _, part := range []string{"level=error", "reconcile panicked", "key=n/bad", "index out of range", "loop_test.go", "retry_in=50ms"} {
			if !strings.Contains(log, part) {
				t.Errorf("the log does not mention %q:\n%s", part, log)
			}
		}
	})
}

func TestErrorsAreLoggedOnceWithTheirKey(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		want []string
	}{
		"again is a warning":               {errAgain, []string{"level=warning", "connection refused", "retry_in=50ms", "key=mimir/ingester", "loop=group"}},
		"a person is needed, as error":     {errHuman, []string{"level=error", "read: forbidden", "needs a person", "key=mimir/ingester"}},
		"a world that moved is no trouble": {errMoved, []string{"level=debug", "conflict", "retry_in=2ms", "key=mimir/ingester"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := run(t, answers(tc.err, loop.Done()))
				b.Add(one)
				time.Sleep(time.Hour)
				b.seen()
				log := b.log.String()
				if n := strings.Count(log, "\n"); n != 1 {
					t.Errorf("%d lines, want 1:\n%s", n, log)
				}
				for _, part := range tc.want {
					if !strings.Contains(log, part) {
						t.Errorf("the log does not mention %q: %s", part, log)
					}
				}
			})
		})
	}
}

func TestRunFinishesReconcilesInProgressAndDropsWaitingKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var finished atomic.Int64
		l := loop.New(loop.Options[key]{
			Name: "group", Workers: 2, Log: quiet(),
			Reconcile: func(ctx context.Context, _ key) (loop.Outcome, error) {
				<-ctx.Done()
				time.Sleep(5 * time.Second) // a reconcile may finish its work
				finished.Add(1)
				return loop.After(time.Minute), ctx.Err()
			},
		})
		for n := range 10 {
			l.Add(key{"n", fmt.Sprint(n)})
		}
		l.AddAfter(one, time.Minute)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		began := time.Now()
		l.Run(ctx)
		if took := time.Since(began); took != 6*time.Second {
			t.Errorf("Run returned after %v, want 6s", took)
		}
		if got := finished.Load(); got != 2 {
			t.Errorf("%d reconciles, want the 2 in progress", got)
		}
		l.Add(one)
		l.AddAfter(one, time.Second)
		time.Sleep(time.Hour)
		if got := finished.Load(); got != 2 {
			t.Errorf("%d reconciles after the end", got-2)
		}
	})
}

func TestKeysAddedBeforeRunAreReconciled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := make(chan key, 1)
		l := loop.New(loop.Options[key]{
			Name: "group", Log: quiet(),
			Reconcile: func(_ context.Context, k key) (loop.Outcome, error) { served <- k; return loop.Done(), nil },
		})
		l.Add(one)
		l.Add(one)
		if got := l.Len(); got != 1 {
			t.Errorf("%d keys wait, want 1", got)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); l.Run(ctx) }()
		if got := <-served; got != one {
			t.Errorf("served %v", got)
		}
		stop()
		<-ended
	})
}

func TestReconcileHasASpan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("t")
		b := run(t, answers(errAgain, loop.Done()), func(o *loop.Options[key]) { o.Tracer = tracer })
		b.Add(one)
		time.Sleep(time.Minute)
		b.seen()
		var got []string
		for _, s := range spans.Ended() {
			line := s.Name() + " " + s.Status().Code.String()
			for _, a := range s.Attributes() {
				line += " " + string(a.Key) + "=" + a.Value.AsString()
			}
			got = append(got, line)
		}
		want := []string{
			"reconcile group Error k8s.namespace.name=mimir lockstep.key=mimir/ingester lockstep.result=again",
			"reconcile group Unset k8s.namespace.name=mimir lockstep.key=mimir/ingester lockstep.result=done",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("spans (-want +got):\n%s", diff)
		}
	})
}

func TestOnlyErrorsCountAsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queues := &retries{MetricsProvider: nothing{}}
		b := run(t, answers(errAgain, errMoved, loop.After(time.Second), "oops", loop.Done()),
			func(o *loop.Options[key]) { o.Queues = queues })
		b.Add(one)
		time.Sleep(time.Hour)
		if reconciles := b.seen(); len(reconciles) != 5 || queues.n.Load() != 2 {
			t.Errorf("%d reconciles with %d retries, want 5 with 2", len(reconciles), queues.n.Load())
		}
	})
}

func TestRunPanicsIfCalledTwice(t *testing.T) {
	l := loop.New(loop.Options[key]{Name: "group", Log: quiet()})
	ctx, stop := context.WithCancel(t.Context())
	stop()
	l.Run(ctx)
	defer func() {
		if recover() == nil {
			t.Error("the second Run returned")
		}
	}()
	l.Run(ctx)
}

func quiet() *logrus.Logger {
	log := logrus.New()
	log.SetLevel(logrus.PanicLevel)
	return log
}

// retries counts the retries that a queue reports.
type retries struct {
	workqueue.MetricsProvider
	n atomic.Int64
}

func (r *retries) NewRetriesMetric(string) workqueue.CounterMetric { return r }
func (r *retries) Inc()                                            { r.n.Add(1) }

// nothing is a metric that does nothing.
type nothing struct{}

func (nothing) Inc()            {}
func (nothing) Dec()            {}
func (nothing) Set(float64)     {}
func (nothing) Observe(float64) {}

func (n nothing) NewDepthMetric(string) workqueue.GaugeMetric            { return n }
func (n nothing) NewAddsMetric(string) workqueue.CounterMetric           { return n }
func (n nothing) NewLatencyMetric(string) workqueue.HistogramMetric      { return n }
func (n nothing) NewWorkDurationMetric(string) workqueue.HistogramMetric { return n }
func (n nothing) NewRetriesMetric(string) workqueue.CounterMetric        { return n }
func (n nothing) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return n
}
func (n nothing) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return n
}
