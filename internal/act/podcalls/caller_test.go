package podcalls_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/lockstep-dev/lockstep/internal/act/podcalls"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

var shutdown = contract.Call{Port: 80, Path: "/ingester/prepare-shutdown"}

// pods returns n pods of one StatefulSet, each with its own address.
func pods(n int) []podcalls.Pod {
	all := make([]podcalls.Pod, n)
	for i := range all {
		all[i] = podcalls.Pod{Namespace: "team", Name: fmt.Sprint("zone-a-", i), Service: "ingester", IP: podAddress(i)}
	}
	return all
}

// prepare calls pods to prepare while ctx lasts.
func prepare(ctx context.Context, c *podcalls.Caller, call contract.Call, pods []podcalls.Pod) podcalls.Results {
	return c.Prepare(ctx, ctx, call, pods)
}

var withoutTook = cmpopts.IgnoreFields(podcalls.Result{}, "Took")

func answered(name string, status int) podcalls.Result {
	return podcalls.Result{Pod: name, Outcome: podcalls.Answered, Status: status}
}

func TestAPodIsCalledByNameAtItsAddress(t *testing.T) {
	type seen struct {
		Method, Host, URI, At string
		Header                http.Header
		Body                  string
	}
	var got []seen
	l := httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, seen{r.Method, r.Host, r.RequestURI, calledAt(r), r.Header, string(body)})
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
		w.WriteHeader(http.StatusNoContent)
	}, 80)
	t.Setenv("HTTP_PROXY", "http://10.9.9.9:80")
	t.Setenv("http_proxy", "http://10.9.9.9:80")
	call := contract.Call{Port: 80, Path: "/a%2Fb/c", Query: "d=e"}
	c := podcalls.New(podcalls.Options{})
	prepared := prepare(t.Context(), c, call, pods(1))
	undone := c.Undo(t.Context(), call, pods(1))

	for _, results := range []podcalls.Results{prepared, undone} {
		if diff := cmp.Diff(podcalls.Results{answered("zone-a-0", 204)}, results, withoutTook); diff != "" || results.First() != nil {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"lockstep"}, "X-Cluster": {"team"}, "Connection": {"close"}}
	post := header.Clone()
	post.Set("Content-Length", "0")
	want := []seen{
		{"POST", "zone-a-0.ingester.team.svc.cluster.local:80", "/a%2Fb/c?d=e", "10.244.0.1", post, ""},
		{"DELETE", "zone-a-0.ingester.team.svc.cluster.local:80", "/a%2Fb/c?d=e", "10.244.0.1", header, ""},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"10.244.0.1:80": 2}, l.connections()); diff != "" {
		t.Errorf("connections (-want +got):\n%s", diff)
	}
}

// A ServeMux of Go's standard library answers an unclean path with a redirect.
func TestAPathWithRepeatedSlashesReachesItsHandler(t *testing.T) {
	var got []string
	mux := http.NewServeMux()
	mux.HandleFunc("/ingester/prepare_shutdown", func(_ http.ResponseWriter, r *http.Request) { got = append(got, r.RequestURI) })
	httpLand(t, mux.ServeHTTP, 80)
	c := podcalls.New(podcalls.Options{})
	for _, path := range []string{"//ingester/prepare_shutdown", "ingester//prepare_shutdown", "///ingester///prepare_shutdown?unregister=//true"} {
		call, err := contract.PrepareCall(map[string]string{contract.PreparePortAnnotation: "80", contract.PreparePathAnnotation: path})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, results := range []podcalls.Results{prepare(t.Context(), c, call, pods(1)), c.Undo(t.Context(), call, pods(1))} {
			if failed := results.First(); failed != nil {
				t.Errorf("%s: %s", path, failed)
			}
		}
	}
	const clean, query = "/ingester/prepare_shutdown", "?unregister=//true"
	if diff := cmp.Diff([]string{clean, clean, clean, clean, clean + query, clean + query}, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestAPodCanContinueTheTraceOfItsCall(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
	var got string
	httpLand(t, func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("Traceparent") }, 80)
	ctx, decision := tracer.Start(t.Context(), "decision")
	prepare(ctx, podcalls.New(podcalls.Options{Tracer: tracer}), shutdown, pods(1))
	if len(spans.Ended()) != 1 {
		t.Fatalf("%d spans", len(spans.Ended()))
	}
	call := spans.Ended()[0]
	if call.Parent().SpanID() != decision.SpanContext().SpanID() || call.SpanKind() != trace.SpanKindClient {
		t.Error("the call is no client span below the decision")
	}
	if want := fmt.Sprintf("00-%s-%s-01", call.SpanContext().TraceID(), call.SpanContext().SpanID()); got != want {
		t.Errorf("the pod got %q, want %q", got, want)
	}
}

func TestTheClusterDomainIsThatOfTheOptions(t *testing.T) {
	for domain, want := range map[string]string{
		"": "cluster.local", "cluster.local.": "cluster.local", "k8s.example": "k8s.example",
	} {
		t.Run(domain, func(t *testing.T) {
			var host string
			httpLand(t, func(_ http.ResponseWriter, r *http.Request) { host = r.Host }, 8080)
			prepare(t.Context(), podcalls.New(podcalls.Options{ClusterDomain: domain}), contract.Call{Port: 8080, Path: "/"}, pods(1))
			if host != "zone-a-0.ingester.team.svc."+want+":8080" {
				t.Errorf("host is %q", host)
			}
		})
	}
}

func TestAPodWithAnIPv6AddressIsCalledThere(t *testing.T) {
	l := httpLand(t, func(http.ResponseWriter, *http.Request) {}, 80)
	pod := pods(1)
	pod[0].IP = "fd00:10:244::5"
	if got := prepare(t.Context(), podcalls.New(podcalls.Options{}), shutdown, pod); got.First() != nil {
		t.Error(got[0])
	}
	if got := l.connections(); got["[fd00:10:244::5]:80"] != 1 || len(got) != 1 {
		t.Errorf("connections %v", got)
	}
}

func TestAnAddressThatIsNotAPodsIsNotCalled(t *testing.T) {
	l := httpLand(t, func(http.ResponseWriter, *http.Request) {}, 80, 8080)
	pod := func(change func(*podcalls.Pod)) podcalls.Pod {
		p := pods(1)[0]
		change(&p)
		return p
	}
	at := func(ip string) podcalls.Pod { return pod(func(p *podcalls.Pod) { p.IP = ip }) }
	refusedFor := map[podcalls.Why][]podcalls.Pod{
		podcalls.NoAddress: {at("")},
		podcalls.BadAddress: {
			at("x"), at("localhost"), at("10.244.0"), at("10.244.0.1.1"), at("010.244.0.1"), at("10.244.0.01"), at("0x0a.244.0.1"), at("0x0af40001"),
			at("183762945"), at("127.1"), at("0177.0.0.1"), at(" 10.244.0.1"), at("10.244.0.1 "), at("10.244.0.1\n"), at("10.244.0.1:80"), at("[fd00::1]"),
			at("10.244.0.1/32"), at("10.244.0.1%lo"), at("fd00::1%lo"), at("fe80::1%lo"), at("10.244.0.1@10.9.9.9"), at("10。244。0。1"), at("１0.244.0.1"),
			at("256.1.1.1"), at("::127.0.0.1"), at("::10.9.9.9"), at("fd00::1::2"), at("10.244.0.1\x00"), at("http://10.244.0.1"), at("10,244,0,1"),
		},
		podcalls.Unspecified: {at("0.0.0.0"), at("::"), at("::ffff:0.0.0.0"), at("0.1.2.3"), at("::ffff:0.9.9.9"), at("64:ff9b::"), at("2002::1")},
		podcalls.Loopback: {
			at("127.0.0.1"), at("127.255.255.254"), at("::1"), at("0:0:0:0:0:0:0:1"), at("::ffff:127.0.0.1"), at("::ffff:7f00:1"), at("64:ff9b::127.0.0.1"), at("2002:7f00:1::"),
		},
		podcalls.LinkLocal:   {at("169.254.169.254"), at("169.254.0.1"), at("fe80::1"), at("febf::1"), at("::ffff:169.254.169.254"), at("64:ff9b::a9fe:a9fe"), at("2002:a9fe:a9fe::1")},
		podcalls.Multicast:   {at("224.0.0.1"), at("239.255.255.255"), at("ff02::1"), at("ff01::1"), at("ff0e::1"), at("255.255.255.255"), at("::ffff:224.0.0.1"), at("64:ff9b::ffff:ffff")},
		podcalls.NodeAddress: {pod(func(p *podcalls.Pod) { p.HostNetwork = true })},
		podcalls.NoService:   {pod(func(p *podcalls.Pod) { p.Service = "" })},
		podcalls.BadName: {
			pod(func(p *podcalls.Pod) { p.Service = "a b" }), pod(func(p *podcalls.Pod) { p.Service = "a\r\nb" }), pod(func(p *podcalls.Pod) { p.Service = "a/b" }), pod(func(p *podcalls.Pod) { p.Service = "a@b" }),
			pod(func(p *podcalls.Pod) { p.Service = "A" }), pod(func(p *podcalls.Pod) { p.Service = ".a" }), pod(func(p *podcalls.Pod) { p.Service = "a." }), pod(func(p *podcalls.Pod) { p.Service = "-a" }),
			pod(func(p *podcalls.Pod) { p.Service = "a_b" }), pod(func(p *podcalls.Pod) { p.Service = "ü" }), pod(func(p *podcalls.Pod) { p.Service = "a。b" }), pod(func(p *podcalls.Pod) { p.Service = "a:80" }),
			pod(func(p *podcalls.Pod) { p.Service = strings.Repeat("a", 64) }), pod(func(p *podcalls.Pod) { p.Service = strings.Repeat("a.", 120) + "a" }),
			pod(func(p *podcalls.Pod) { p.Name = "" }), pod(func(p *podcalls.Pod) { p.Namespace = "" }), pod(func(p *podcalls.Pod) { p.Namespace = "a?b" }), pod(func(p *podcalls.Pod) { p.Name = "a#b" }),
		},
	}
	c := podcalls.New(podcalls.Options{})
	for why, all := range refusedFor {
		for _, p := range all {
			for name, results := range map[string]podcalls.Results{"prepare": prepare(t.Context(), c, shutdown, []podcalls.Pod{p}), "undo": c.Undo(t.Context(), shutdown, []podcalls.Pod{p})} {
				if diff := cmp.Diff(podcalls.Results{{Pod: p.Name, Outcome: podcalls.Refused, Why: why}}, results, withoutTook); diff != "" || results.First() == nil {
					t.Errorf("%s %+v (-want +got):\n%s", name, p, diff)
				}
			}
		}
	}
	for _, call := range []contract.Call{{}, {Port: 80}, {Path: "/"}, {Port: -1, Path: "/"}, {Port: 65536, Path: "/"}, {Port: 80, Path: "x"}} {
		if got := prepare(t.Context(), c, call, pods(1)).First(); got == nil || got.Why != podcalls.BadCall {
			t.Errorf("%+v: got %v", call, got)
		}
	}
	if reached := l.connections(); len(reached) > 0 {
		t.Errorf("connections to %v", reached)
	}
	if mapped := prepare(t.Context(), c, shutdown, []podcalls.Pod{at("::ffff:10.244.0.9")}); mapped.First() != nil || l.connections()["10.244.0.9:80"] != 1 {
		t.Errorf("a pod's own address in the form of IPv6 is called like any other: %v", mapped)
	}
}

func TestNoPodIsCalledIfOnePodMayNotBe(t *testing.T) {
	l := httpLand(t, func(http.ResponseWriter, *http.Request) {}, 80)
	all := pods(3)
	all[2].IP = "127.0.0.1"
	got := prepare(t.Context(), podcalls.New(podcalls.Options{}), shutdown, all)
	want := podcalls.Results{
		{Pod: "zone-a-0", Outcome: podcalls.NotCalled}, {Pod: "zone-a-1", Outcome: podcalls.NotCalled},
		{Pod: "zone-a-2", Outcome: podcalls.Refused, Why: podcalls.Loopback},
	}
	if diff := cmp.Diff(want, got); diff != "" || len(l.connections()) > 0 {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.First().Pod != "zone-a-2" {
		t.Errorf("the first reason is %v", got.First())
	}
}

func TestUndoCallsEveryPodDespiteFailures(t *testing.T) {
	l := httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		if calledAt(r) == podAddress(0) {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}, 80)
	all := pods(4)
	all[1].IP = ""
	got := podcalls.New(podcalls.Options{Parallel: 1}).Undo(t.Context(), shutdown, all)
	want := podcalls.Results{
		{Pod: "zone-a-0", Outcome: podcalls.Failed, Why: podcalls.Declined, Status: 500}, {Pod: "zone-a-1", Outcome: podcalls.Refused, Why: podcalls.NoAddress},
		answered("zone-a-2", 200), answered("zone-a-3", 200),
	}
	if diff := cmp.Diff(want, got, withoutTook); diff != "" || len(l.connections()) != 3 {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTheFirstFailureStopsCallsThatHaveNotBegun(t *testing.T) {
	var called sync.WaitGroup
	called.Add(4)
	rest := make(chan struct{})
	httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		called.Done() // panics if more pods are called
		called.Wait()
		if calledAt(r) == podAddress(0) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		<-rest // the other pods answer after the failure was observed
	}, 80)
	c := podcalls.New(podcalls.Options{Parallel: 4, Observe: func(_ podcalls.Pod, _ podcalls.Purpose, r podcalls.Result) {
		if r.Outcome == podcalls.Failed {
			time.AfterFunc(time.Second, func() { close(rest) })
		}
	}})
	got := prepare(t.Context(), c, shutdown, pods(100))
	if first := got.First(); first.Pod != "zone-a-0" || first.Status != 503 || first.Why != podcalls.Declined {
		t.Errorf("the first failure is %v", first)
	}
	count := map[podcalls.Outcome]int{}
	for _, r := range got {
		count[r.Outcome]++
	}
	if diff := cmp.Diff(map[podcalls.Outcome]int{podcalls.Failed: 1, podcalls.Answered: 3, podcalls.NotCalled: 96}, count); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// After a namespace opts out during a round of calls, no further pod of it is called.
func TestPodsOfANamespaceThatOptedOutAreNotCalled(t *testing.T) {
	var left atomic.Bool
	l := httpLand(t, func(http.ResponseWriter, *http.Request) { left.Store(true) }, 80)
	c := podcalls.New(podcalls.Options{Parallel: 1, Managed: func(namespace string) bool { return namespace == "team" && !left.Load() }})
	for how, ask := range map[string]func() podcalls.Results{
		"prepare": func() podcalls.Results { return prepare(t.Context(), c, shutdown, pods(3)) },
		"undo":    func() podcalls.Results { return c.Undo(t.Context(), shutdown, pods(3)) },
	} {
		left.Store(false)
		want := podcalls.Results{answered("zone-a-0", 200), {Pod: "zone-a-1", Outcome: podcalls.NotCalled}, {Pod: "zone-a-2", Outcome: podcalls.NotCalled}}
		if diff := cmp.Diff(want, ask(), withoutTook); diff != "" || len(l.connections()) != 1 {
			t.Errorf("%s (-want +got):\n%s", how, diff)
		}
	}
}

func TestADownscaleWithoutPodsToPrepareIsPrepared(t *testing.T) {
	c := podcalls.New(podcalls.Options{})
	if prepare(t.Context(), c, shutdown, nil).First() != nil || c.Undo(t.Context(), shutdown, nil).First() != nil {
		t.Error("no pods, and not all have answered")
	}
}

func TestOnlyA2xxIsAnAnswer(t *testing.T) {
	status := atomic.Int64{}
	httpLand(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(status.Load())) }, 80)
	c := podcalls.New(podcalls.Options{})
	for code, want := range map[int]podcalls.Outcome{
		200: podcalls.Answered, 201: podcalls.Answered, 204: podcalls.Answered, 299: podcalls.Answered,
		300: podcalls.Failed, 301: podcalls.Failed, 304: podcalls.Failed, 400: podcalls.Failed, 404: podcalls.Failed, 409: podcalls.Failed, 500: podcalls.Failed, 503: podcalls.Failed, 999: podcalls.Failed,
	} {
		status.Store(int64(code))
		got := prepare(t.Context(), c, shutdown, pods(1))[0]
		if got.Outcome != want || got.Status != code || want == podcalls.Failed && got.Why != podcalls.Declined {
			t.Errorf("%d: got %+v", code, got)
		}
	}
}

func TestARedirectLeadsNowhere(t *testing.T) {
	var to string
	l := httpLand(t, func(w http.ResponseWriter, r *http.Request) {
		code := http.StatusTemporaryRedirect
		if r.Method == http.MethodDelete {
			code = http.StatusMovedPermanently
		}
		w.Header().Set("Location", to)
		w.WriteHeader(code)
	}, 80, 8080)
	c := podcalls.New(podcalls.Options{})
	for _, to = range []string{"http://10.9.9.9/", "http://169.254.169.254/latest/meta-data", "http://127.0.0.1:8080/", "//10.9.9.9/", "/elsewhere", "http://zone-a-0.ingester.team.svc.cluster.local:8080/", "http://[::1]/", "file:///etc/passwd"} {
		if got := prepare(t.Context(), c, shutdown, pods(1))[0]; got.Status != 307 || got.Why != podcalls.Declined {
			t.Errorf("%s: got %+v", to, got)
		}
		if got := c.Undo(t.Context(), shutdown, pods(1))[0]; got.Status != 301 || got.Why != podcalls.Declined {
			t.Errorf("%s: got %+v", to, got)
		}
		if diff := cmp.Diff(map[string]int{"10.244.0.1:80": 2}, l.connections()); diff != "" {
			t.Errorf("%s: connections (-want +got):\n%s", to, diff)
		}
	}
}

func TestAPodHasOneCallAtATime(t *testing.T) {
	var now, most atomic.Int64
	httpLand(t, func(http.ResponseWriter, *http.Request) {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(5 * time.Millisecond)
		now.Add(-1)
	}, 80)
	c := podcalls.New(podcalls.Options{})
	var askers sync.WaitGroup
	for range 8 {
		askers.Go(func() {
			if got := prepare(t.Context(), c, shutdown, pods(1)); got.First() != nil {
				t.Error(got[0])
			}
			c.Undo(t.Context(), shutdown, pods(1))
		})
	}
	askers.Wait()
	if most.Load() != 1 {
		t.Errorf("%d calls at a time", most.Load())
	}
}

func TestANamespaceWhosePodsNeverAnswerWaitsForItself(t *testing.T) {
	httpLand(t, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Cluster") != "calm" {
			<-r.Context().Done() // never answers
		}
	}, 80)
	const limit = time.Minute // the limit of a call; waiting for the silent pods would take that long
	c := podcalls.New(podcalls.Options{CallLimit: limit, Parallel: 100, PerNamespace: 8, PerProcess: 32})
	ctx, stop := context.WithCancel(t.Context())
	var stuck sync.WaitGroup
	defer func() { stop(); stuck.Wait() }()
	begun := make(chan struct{})
	var once sync.Once
	for tenant := range 4 { // enough to use every slot if none were reserved
		for range 10 {
			stuck.Go(func() {
				all := pods(100)
				for i := range all {
					all[i].Namespace = fmt.Sprint("tenant-", tenant)
				}
				once.Do(func() { close(begun) })
				prepare(ctx, c, shutdown, all)
			})
		}
	}
	<-begun
	time.Sleep(50 * time.Millisecond) // let them take all slots that they can get
	calm := pods(20)
	for i := range calm {
		calm[i].Namespace = "calm"
	}
	began := time.Now()
	if got := prepare(t.Context(), c, shutdown, calm); got.First() != nil {
		t.Errorf("%v", got.First())
	}
	if took := time.Since(began); took > limit/2 {
		t.Errorf("20 pods that answer took %v next to 400 that do not", took)
	}
}

func TestPodsAreNotCalledAfterTheRequestHasEnded(t *testing.T) {
	l := httpLand(t, func(http.ResponseWriter, *http.Request) {}, 80)
	ended, end := context.WithCancel(t.Context())
	end()
	c := podcalls.New(podcalls.Options{})
	for how, got := range map[string]podcalls.Results{
		"prepare": prepare(ended, c, shutdown, pods(3)),
		"prepare for a downscale that was cancelled": c.Prepare(t.Context(), ended, shutdown, pods(3)),
		"undo": c.Undo(ended, shutdown, pods(3)),
	} {
		for _, r := range got {
			if r.Outcome != podcalls.NotCalled {
				t.Errorf("%s: %v", how, r)
			}
		}
		if first := got.First(); first == nil || first.Pod != "zone-a-0" {
			t.Errorf("%s: the first that was not called is %v", how, first)
		}
	}
	if reached := l.connections(); len(reached) > 0 {
		t.Errorf("connections to %v", reached)
	}
}

func TestUndoHasALimitOfItsOwn(t *testing.T) {
	httpLand(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, 80)
	began := time.Now()
	got := podcalls.New(podcalls.Options{Parallel: 1, UndoLimit: 2 * time.Second}).Undo(t.Context(), shutdown, pods(3))
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("took %v", took)
	}
	want := podcalls.Results{{Pod: "zone-a-0", Outcome: podcalls.Failed, Why: podcalls.Abandoned}, {Pod: "zone-a-1", Outcome: podcalls.NotCalled}, {Pod: "zone-a-2", Outcome: podcalls.NotCalled}}
	if diff := cmp.Diff(want, got, withoutTook); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestEveryCallIsLoggedAndTraced(t *testing.T) {
	httpLand(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }, 80)
	spans := tracetest.NewSpanRecorder()
	type notified struct {
		Namespace string
		Purpose   podcalls.Purpose
		Result    podcalls.Result
	}
	var got []notified
	c := podcalls.New(podcalls.Options{
		Tracer: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("t"),
		Observe: func(pod podcalls.Pod, purpose podcalls.Purpose, r podcalls.Result) {
			got = append(got, notified{pod.Namespace, purpose, r})
		},
	})
	prepare(t.Context(), c, shutdown, pods(1))
	refused := pods(1)
	refused[0].IP = "::1"
	c.Undo(t.Context(), shutdown, refused)
	want := []notified{
		{"team", podcalls.ToPrepare, podcalls.Result{Pod: "zone-a-0", Outcome: podcalls.Failed, Why: podcalls.Declined, Status: 418}},
		{"team", podcalls.ToUndo, podcalls.Result{Pod: "zone-a-0", Outcome: podcalls.Refused, Why: podcalls.Loopback}},
	}
	if diff := cmp.Diff(want, got, withoutTook); diff != "" || got[0].Result.Took <= 0 {
		t.Errorf("notified (-want +got):\n%s", diff)
	}
	if len(spans.Ended()) != 1 {
		t.Fatalf("%d spans", len(spans.Ended()))
	}
	span := spans.Ended()[0]
	attributes := []attribute.KeyValue{
		attribute.String("k8s.namespace.name", "team"), attribute.String("k8s.pod.name", "zone-a-0"), attribute.Int("http.response.status_code", 418),
	}
	if diff := cmp.Diff(attributes, span.Attributes(), cmp.Comparer(func(a, b attribute.Value) bool { return a == b })); diff != "" || span.Status().Code != otelcodes.Error || span.Status().Description != "Declined" {
		t.Errorf("span with status %v (-want +got):\n%s", span.Status(), diff)
	}
}

func TestACallSaysInTheNameOfWhichGroupItIs(t *testing.T) {
	store := plan.Key{Namespace: "team", Name: "store"}
	var notified []plan.Key
	c := podcalls.New(podcalls.Options{Observe: func(pod podcalls.Pod, _ podcalls.Purpose, _ podcalls.Result) { notified = append(notified, pod.Group) }})
	zones := podcalls.Zones{Caller: c}
	zone := group.Zone{Name: "zone-a", Call: group.Call{Port: 80, Path: "/", Service: "store"}}
	if _, err := zones.Prepare(t.Context(), store, zone, []plan.Pod{{Name: "zone-a-0"}}); err == nil {
		t.Error("a pod without an address was called")
	}
	if diff := cmp.Diff([]plan.Key{store}, notified); diff != "" {
		t.Errorf("notified (-want +got):\n%s", diff)
	}
}

func TestAResultReadsAsASentence(t *testing.T) {
	for want, r := range map[string]podcalls.Result{
		"pod a-0 answered with status 200":       answered("a-0", 200),
		"pod a-0 was not called":                 {Pod: "a-0", Outcome: podcalls.NotCalled},
		"pod a-0 declined with status 503":       {Pod: "a-0", Outcome: podcalls.Failed, Why: podcalls.Declined, Status: 503},
		"pod a-0 did not answer in time":         {Pod: "a-0", Outcome: podcalls.Failed, Why: podcalls.NoAnswer},
		"pod a-0 has a loopback address":         {Pod: "a-0", Outcome: podcalls.Refused, Why: podcalls.Loopback},
		"pod a-0 has no IP address":              {Pod: "a-0", Outcome: podcalls.Refused, Why: podcalls.NoAddress},
		"pod a-0 cannot be reached":              {Pod: "a-0", Outcome: podcalls.Failed, Why: podcalls.Unreachable},
		"pod a-0 has a name that is none in DNS": {Pod: "a-0", Outcome: podcalls.Refused, Why: podcalls.BadName},
	} {
		if r.String() != want {
			t.Errorf("got %q, want %q", r, want)
		}
	}
}
