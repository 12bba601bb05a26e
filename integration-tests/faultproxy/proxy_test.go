package faultproxy_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// server takes the place of the API server. It records requests, and sends a line to a watch for
// each word.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	received []string
	words    chan string
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{words: make(chan string)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			s.watch(w, r)
			return
		}
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.received = append(s.received, r.Method+" "+r.URL.Path+" "+string(body))
		w.Header().Set("X-Answer", fmt.Sprint(len(s.received)))
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, "answer ", len(s.received))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) watch(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case word := <-s.words:
			fmt.Fprintln(w, word)
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (s *server) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

// through returns a server, a proxy for it, and a client of the proxy that uses HTTP/2.
func through(t *testing.T) (*server, *faultproxy.Proxy, *http.Client) {
	t.Helper()
	s := newServer(t)
	p, err := faultproxy.Start(s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return s, p, clientOf(t, p)
}

func clientOf(t *testing.T, p *faultproxy.Proxy) *http.Client {
	t.Helper()
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(p.Authority()) {
		t.Fatal("the proxy's certificate is invalid")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authorities}, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: time.Minute}
}

const pods = "/api/v1/namespaces/n/pods"

// do sends a request and returns code and body of the answer.
func do(t *testing.T, c *http.Client, method, url, body string) (int, string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

func TestWithoutAScriptEverythingIsPassedOnAndCounted(t *testing.T) {
	t.Parallel()
	s, p, c := through(t)
	leases := "/apis/coordination.k8s.io/v1/namespaces/n/leases"
	for _, r := range []struct{ method, path, body string }{
		{"GET", pods, ""},
		{"DELETE", pods + "/a-0", "{}"},
		{"PATCH", "/apis/apps/v1/namespaces/n/statefulsets/a/status", "{}"},
		{"POST", "/apis/events.k8s.io/v1/namespaces/n/events", "{}"},
		{"POST", leases, `{"name":"lockstep-leader"}`},
		{"PUT", leases + "/lockstep-leader", "{}"},
		{"PUT", leases + "/lockstep-group-g", "{}"},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "{}"},
		{"POST", pods + "?dryRun=All", "{}"},
	} {
		code, body, err := do(t, c, r.method, p.URL()+r.path, r.body)
		if err != nil || code != http.StatusAccepted || !strings.HasPrefix(body, "answer ") {
			t.Errorf("%s %s: %d %q, %v", r.method, r.path, code, body, err)
		}
		if received := s.requests(); received[len(received)-1] != strings.Join([]string{r.method, strings.TrimSuffix(r.path, "?dryRun=All"), r.body}, " ") {
			t.Errorf("%s %s was received as %q", r.method, r.path, received[len(received)-1])
		}
	}
	want := map[faultproxy.Kind]int{faultproxy.Read: 3, faultproxy.Write: 3, faultproxy.Event: 1, faultproxy.Leader: 2}
	for kind, n := range want {
		if got := p.Counts().Requests[kind]; got != n {
			t.Errorf("%d times %s, want %d", got, kind, n)
		}
	}
	var writes []string
	for _, w := range p.Writes() {
		writes = append(writes, w.String())
	}
	if want := []string{"write 1: DELETE pods a-0", "write 2: PATCH statefulsets/status a", "write 3: PUT leases lockstep-group-g"}; !slices.Equal(writes, want) {
		t.Errorf("writes are %q, want %q", writes, want)
	}
}

func TestItSpeaksHTTP2(t *testing.T) {
	t.Parallel()
	_, p, c := through(t)
	response, err := c.Get(p.URL() + pods)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.ProtoMajor != 2 {
		t.Errorf("answered by %s", response.Proto)
	}
	if response.Header.Get("X-Answer") != "1" {
		t.Errorf("headers are %v", response.Header)
	}
}

func TestFaultsOfOneWrite(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault    faultproxy.Fault
		received int // requests at the server
		code     int // 0: no answer
		answer   string
	}{
		"lost":      {faultproxy.Lost(), 1, 0, ""},
		"repeated":  {faultproxy.Repeated(), 2, http.StatusAccepted, "answer 2"},
		"cut":       {faultproxy.Cut(), 0, 0, ""},
		"held back": {faultproxy.Held(50 * time.Millisecond), 1, http.StatusAccepted, "answer 1"},
		"refused":   {faultproxy.Answered(http.StatusInternalServerError), 0, http.StatusInternalServerError, "InternalError"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, c := through(t)
			p.Play(faultproxy.At(1, test.fault))
			began := time.Now()
			code, answer, err := do(t, c, "DELETE", p.URL()+pods+"/a-0", "{}")
			if code != test.code || !strings.Contains(answer, test.answer) || (err == nil) != (test.code != 0) {
				t.Errorf("answered %d %q, %v; want %d %q", code, answer, err, test.code, test.answer)
			}
			if received := s.requests(); len(received) != test.received {
				t.Errorf("the server received %q, want it %d times", received, test.received)
			}
			if name == "held back" && time.Since(began) < 50*time.Millisecond {
				t.Error("it was not held back")
			}
			if got := p.Counts().Faults[test.fault.String()]; got != 1 {
				t.Errorf("the fault was counted %d times", got)
			}
			if code, _, err := do(t, c, "DELETE", p.URL()+pods+"/a-1", "{}"); code != http.StatusAccepted {
				t.Errorf("the next write is answered with %d, %v", code, err)
			}
		})
	}
}

func TestACrashIsCalledBeforeAWriteIsPassedOnOrAfterItWasAnswered(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault    func(func()) faultproxy.Fault
		received int
	}{
		"before": {faultproxy.CrashBefore, 1},
		"after":  {faultproxy.CrashAfter, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, c := through(t)
			received := -1
			p.Play(faultproxy.At(2, test.fault(func() { received = len(s.requests()) })))
			if _, _, err := do(t, c, "DELETE", p.URL()+pods+"/a-0", ""); err != nil {
				t.Error(err)
			}
			if _, _, err := do(t, c, "DELETE", p.URL()+pods+"/a-1", ""); err == nil {
				t.Error("the second write was answered")
			}
			if received != test.received || len(s.requests()) != test.received {
				t.Errorf("the server had received %d writes at the crash and %d in the end, want %d", received, len(s.requests()), test.received)
			}
		})
	}
}

func TestAWriteArrivesThoughItsClientHasEnded(t *testing.T) {
	t.Parallel()
	const late = 5 * time.Second
	for name, fault := range map[string]func(leave func()) faultproxy.Fault{
		"the client has ended": func(func()) faultproxy.Fault { return faultproxy.Held(late) },
		"it died":              func(leave func()) faultproxy.Fault { return faultproxy.LateWrite(late, leave) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, p, c := through(t)
			if _, _, err := do(t, c, "GET", p.URL()+pods, ""); err != nil { // then there is a connection
				t.Fatal(err)
			}
			c.Timeout = time.Second
			p.Play(faultproxy.At(1, fault(c.CloseIdleConnections)))
			if _, _, err := do(t, c, "DELETE", p.URL()+pods+"/a-0", "{}"); err == nil {
				t.Fatal("it was answered in time")
			}
			if received := s.requests()[1:]; len(received) > 0 || p.Holding() != 1 {
				t.Fatalf("the server received %q while %d requests were held", received, p.Holding())
			}
			for deadline := time.Now().Add(time.Minute); len(s.requests()) == 1; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("it never arrives")
				}
			}
			if held := p.Delays(); p.Holding() != 0 || len(held) != 1 || held[0].Resource != "pods" || held[0].To.Sub(held[0].From) < late {
				t.Errorf("it was held as %v", held)
			}
		})
	}
}

func TestARepeatedReadIsInProgressSinceItsFirstAttempt(t *testing.T) {
	t.Parallel()
	_, p, c := through(t)
	p.Sign("the first")
	again := func(name string, want int) {
		t.Helper()
		if code, _, err := do(t, c, "GET", p.URL()+pods+"/"+name, ""); code != want {
			t.Fatalf("answered %d, %v", code, err)
		}
	}
	p.Play(faultproxy.Sometimes(1, faultproxy.Read, 1, faultproxy.Answered(http.StatusTooManyRequests)))
	for range 3 {
		again("a-0", http.StatusTooManyRequests)
		time.Sleep(600 * time.Millisecond)
	}
	if got := p.Delays(); len(got) > 0 {
		t.Errorf("before it has arrived it was late by %v", got)
	}
	p.Play(nil)
	began := time.Now()
	again("a-1", http.StatusAccepted)
	again("a-0", http.StatusAccepted)
	got := p.Delays()
	if len(got) != 1 || got[0].Name != "a-0" || got[0].Agent != "the first" || !got[0].From.Before(began.Add(-time.Second)) || got[0].To.Before(began) {
		t.Errorf("it was late by %+v, want once, from its first attempt on", got)
	}
	again("a-0", http.StatusAccepted)
	if got := p.Delays(); len(got) != 1 {
		t.Errorf("the next request of its name was late as well: %+v", got)
	}
}

func TestARequestRepeatedAtOnceIsAnotherRequest(t *testing.T) {
	t.Parallel()
	for range 5 { // a machine that stalls is too slow for this test
		_, p, c := through(t)
		began := time.Now()
		p.Play(faultproxy.At(1, faultproxy.Answered(http.StatusTooManyRequests)))
		_, _, _ = do(t, c, "GET", p.URL()+pods+"/a-0", "")
		_, _, _ = do(t, c, "GET", p.URL()+pods+"/a-0", "") // a client that was advised to wait would not come at once
		if time.Since(began) > 400*time.Millisecond {
			continue
		}
		if got := p.Delays(); len(got) > 0 {
			t.Errorf("they were late by %+v", got)
		}
		return
	}
	t.Error("two requests were never at once")
}

func TestARequestOfAnotherUserIsAnotherRequest(t *testing.T) {
	t.Parallel()
	_, p, c := through(t)
	p.Play(faultproxy.At(1, faultproxy.Answered(http.StatusTooManyRequests)))
	_, _, _ = do(t, c, "GET", p.URL()+pods+"/a-0", "")
	p.Sign("the next process")
	time.Sleep(600 * time.Millisecond)
	_, _, _ = do(t, c, "GET", p.URL()+pods+"/a-0", "")
	if got := p.Delays(); len(got) > 0 {
		t.Errorf("it was late by %+v", got)
	}
}

func TestAWriteThatIsSentAgainIsAnotherRequest(t *testing.T) {
	t.Parallel()
	_, p, c := through(t)
	p.Play(faultproxy.At(1, faultproxy.Answered(http.StatusTooManyRequests)))
	_, _, _ = do(t, c, "DELETE", p.URL()+pods+"/a-0", "{}")
	time.Sleep(600 * time.Millisecond)
	_, _, _ = do(t, c, "DELETE", p.URL()+pods+"/a-0", "{}")
	if got := p.Delays(); len(got) > 0 {
		t.Errorf("it was late by %+v", got)
	}
}

func TestTimesWithoutAWatchAreKnown(t *testing.T) {
	t.Parallel()
	_, p, c := through(t)
	lines := watch(t, c, p.URL()+pods+"?watch=1")
	if got := p.Unheard(); len(got) > 0 {
		t.Errorf("deaf while there is a watch: %v", got)
	}
	p.Play(faultproxy.At(1, faultproxy.Cut()))
	_, _, _ = do(t, c, "DELETE", p.URL()+pods+"/a-0", "") // this ends the connection
	<-lines
	var got []faultproxy.Gap
	for deadline := time.Now().Add(10 * time.Second); len(got) == 0 && time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		got = p.Unheard()
	}
	if len(got) != 1 || got[0].Resource != "pods" {
		t.Fatalf("without a watch it is deaf at %v", got)
	}
	watch(t, c, p.URL()+pods+"?watch=1")
	after := p.Unheard()
	if len(after) != 1 || after[0].From != got[0].From || after[0].To.Before(got[0].To) {
		t.Errorf("afterwards it was deaf at %v, before at %v", after, got)
	}
	time.Sleep(20 * time.Millisecond)
	if again := p.Unheard(); !slices.Equal(again, after) {
		t.Errorf("the delay grew from %v to %v", after, again)
	}
}

func TestClientsAreSigned(t *testing.T) {
	t.Parallel()
	agents := make(chan string, 2)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { agents <- r.UserAgent() }))
	t.Cleanup(s.Close)
	p, err := faultproxy.Start(s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	p.Sign("the first")
	for _, url := range []string{p.URL() + pods, p.URL() + pods + "?watch=1"} {
		if _, _, err := do(t, clientOf(t, p), "GET", url, ""); err != nil {
			t.Fatal(err)
		}
		if got := <-agents; !strings.HasSuffix(got, " (the first)") || !strings.HasPrefix(got, "Go-http-client") {
			t.Errorf("%s is by %q", url, got)
		}
	}
}

func TestAnswersHaveTheFormOfTheAPIServer(t *testing.T) {
	t.Parallel()
	_, p, c := through(t)
	for code, want := range map[int]metav1.StatusReason{
		403: metav1.StatusReasonForbidden, 409: metav1.StatusReasonConflict, 429: metav1.StatusReasonTooManyRequests,
		500: metav1.StatusReasonInternalError, 503: metav1.StatusReasonServiceUnavailable,
	} {
		p.Play(func(faultproxy.Request) faultproxy.Fault { return faultproxy.Answered(code) })
		got, body, err := do(t, c, "PATCH", p.URL()+pods+"/a-0", "{}")
		var status metav1.Status
		if err := errors.Join(err, json.Unmarshal([]byte(body), &status)); err != nil || got != code || status.Reason != want || int(status.Code) != code {
			t.Errorf("%d was answered as %d %s, %v", code, got, body, err)
		}
	}
}

func TestCuttingAConnectionEndsTheWatchOnIt(t *testing.T) {
	t.Parallel()
	s, p, c := through(t)
	lines := watch(t, c, p.URL()+pods+"?watch=1")
	s.words <- "hello"
	if got := <-lines; got != "hello" {
		t.Fatalf("the watch sent %q", got)
	}
	p.Play(faultproxy.At(1, faultproxy.Cut()))
	if _, _, err := do(t, c, "DELETE", p.URL()+pods+"/a-0", ""); err == nil {
		t.Error("it was answered")
	}
	if _, more := <-lines; more {
		t.Error("the watch continues")
	}
}

// watch begins a watch and returns its lines.
func watch(t *testing.T, c *http.Client, url string) <-chan string {
	t.Helper()
	response, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		defer response.Body.Close()
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// says sends five words to a watch. It fails the test if a word arrives before least has
// passed, and returns the time of the fastest one.
func (s *server) says(t *testing.T, lines <-chan string, least time.Duration) (fastest time.Duration) {
	t.Helper()
	fastest = time.Hour
	for range 5 {
		began := time.Now()
		s.words <- "word"
		<-lines
		took := time.Since(began)
		if took < least {
			t.Errorf("received after %s, want %s at least", took, least)
		}
		fastest = min(fastest, took)
	}
	return fastest
}

func TestWatchesOfOneResourceAreLate(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	for path, want := range map[string]time.Duration{pods: late, "/apis/apps/v1/statefulsets": 0} {
		s, p, c := through(t) // a server for each, because its words go to any watch
		p.DelayWatches("pods", late)
		lines := watch(t, c, p.URL()+path+"?watch=1")
		s.says(t, lines, want)
		fastest := s.says(t, lines, want) // these words are not late because of earlier ones
		if fastest > want+late*2/3 {
			t.Errorf("a watch of %s received it after %s, want %s", path, fastest, want)
		}
		if got := p.Counts().Watches; len(got) != 1 || got[path[strings.LastIndex(path, "/")+1:]] != 1 {
			t.Errorf("watches of %s are counted as %v", path, got)
		}
	}
}

func TestTheProxyReturnsAtTheSameAddress(t *testing.T) {
	t.Parallel()
	s, p, c := through(t)
	lines := watch(t, c, p.URL()+pods+"?watch=1")
	s.words <- "hello"
	<-lines
	p.Leave()
	if _, more := <-lines; more {
		t.Error("the watch continues")
	}
	if _, _, err := do(t, c, "GET", p.URL()+pods, ""); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("while it is away: %v", err)
	}
	if err := p.Return(); err != nil {
		t.Fatal(err)
	}
	if code, _, err := do(t, c, "GET", p.URL()+pods, ""); code != http.StatusAccepted {
		t.Errorf("when it is back: %d, %v", code, err)
	}
}

func TestASeedDecidesWhichRequestsMeetWhichFaults(t *testing.T) {
	t.Parallel()
	played := func(seed uint64) []string {
		script := faultproxy.FirstOf(
			faultproxy.Sometimes(seed, faultproxy.Write, 3, faultproxy.Lost(), faultproxy.Repeated()),
			faultproxy.Sometimes(seed, faultproxy.Read, 3, faultproxy.Cut()),
		)
		var all []string
		for n := range 200 {
			for _, kind := range []faultproxy.Kind{faultproxy.Write, faultproxy.Read, faultproxy.Watch} {
				all = append(all, script(faultproxy.Request{Kind: kind, Number: n}).String())
			}
		}
		return all
	}
	first := played(1)
	if !slices.Equal(first, played(1)) {
		t.Error("the same seed plays other faults")
	}
	if slices.Equal(first, played(2)) {
		t.Error("another seed plays the same faults")
	}
	times := map[string]int{}
	for _, name := range first {
		times[name]++
	}
	longest, inARow := 0, 0
	for i := 0; i < len(first); i += 3 { // writes
		if inARow++; first[i] == "" {
			inARow = 0
		}
		longest = max(longest, inARow)
	}
	if longest > 8 {
		t.Errorf("%d faults in a row: the numbers of requests are not mixed well", longest)
	}
	for name, want := range map[string]int{"lost answer": 33, "repeated": 33, "cut": 67} {
		if got := times[name]; got < want/2 || got > 2*want {
			t.Errorf("%s was played %d times of 600, want about %d", name, got, want)
		}
	}
}

func TestAShortenedWatchEndsByItself(t *testing.T) {
	t.Parallel()
	for _, late := range []time.Duration{0, time.Hour} { // late watches end as early
		s, p, c := through(t)
		p.DelayWatches("pods", late)
		p.Play(faultproxy.Sometimes(1, faultproxy.Watch, 1, faultproxy.Shortened(3*time.Second)))
		lines := watch(t, c, p.URL()+pods+"?watch=1")
		select {
		case s.words <- "hello":
		case <-lines:
			t.Fatal("the watch ended before it sent an event")
		}
		if late == 0 && <-lines != "hello" {
			t.Error("it sent no event before")
		}
		if _, more := <-lines; more {
			t.Error("the watch continues")
		}
		if n := p.Counts().Faults["watch ended"]; n != 1 {
			t.Errorf("counted %d times", n)
		}
	}
}

func TestCacheableReadsGoToAnotherAPIServer(t *testing.T) {
	t.Parallel()
	stale := newServer(t) // it ends after the proxy
	fresh, p, c := through(t)
	if err := p.CacheAt(stale.URL); err != nil {
		t.Fatal(err)
	}
	lines := watch(t, c, p.URL()+pods+"?watch=1")
	stale.words <- "hello"
	if got := <-lines; got != "hello" {
		t.Errorf("the watch sent %q", got)
	}
	for _, query := range []string{"?resourceVersion=0", "", "?resourceVersion=7"} {
		if code, _, err := do(t, c, "GET", p.URL()+pods+query, ""); code != http.StatusAccepted {
			t.Errorf("%q: %d, %v", query, code, err)
		}
	}
	if _, _, err := do(t, c, "DELETE", p.URL()+pods+"/a-0", ""); err != nil {
		t.Error(err)
	}
	if got := stale.requests(); len(got) != 1 {
		t.Errorf("the proxy for caches received %q", got)
	}
	if got := fresh.requests(); len(got) != 3 {
		t.Errorf("the proxy for other requests received %q", got)
	}
}

func TestAPipeHandsAnswersOnLate(t *testing.T) {
	t.Parallel()
	const late = 300 * time.Millisecond
	s := newServer(t)
	p, c := behind(t, s.Config.Handler)
	lines := watch(t, c, "http://"+p.Address()+pods+"?watch=1")
	for _, want := range []time.Duration{0, late, 0} {
		p.Delay(want)
		if fastest := s.says(t, lines, want); want == 0 && fastest > late {
			t.Errorf("received after %s, want %s", fastest, want)
		}
	}
	p.Close()
	if _, more := <-lines; more {
		t.Error("the watch continues")
	}
}

// With such a window, and a delay from end to end, 200 pieces would take 200 times as long.
func TestTheDelayOfAPipeIsConstant(t *testing.T) {
	t.Parallel()
	const late, window, pieces = time.Second, 64 << 10, 200
	p, c := behind(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range pieces {
			_, _ = w.Write(make([]byte, window))
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "0")
	}))
	p.Delay(late)
	began := time.Now()
	response, err := c.Get("http://" + p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.Copy(io.Discard, response.Body)
	if took := time.Since(began); err != nil || got != pieces*window || took < late || took > 20*late {
		t.Errorf("%d bytes after %s, %v; want %d after %s", got, took, err, pieces*window, late)
	}
	if status := response.Trailer.Get("Grpc-Status"); status != "0" {
		t.Errorf("the trailer is %q", status)
	}
}

// behind returns a pipe for a server that uses HTTP/2 without TLS, like etcd, and a client with
// windows as small as the initial windows of gRPC.
func behind(t *testing.T, handler http.Handler) (*faultproxy.Pipe, *http.Client) {
	t.Helper()
	var plain http.Protocols
	plain.SetUnencryptedHTTP2(true)
	target := httptest.NewUnstartedServer(handler)
	target.Config.Protocols = &plain
	target.Start()
	t.Cleanup(target.Close)
	p, err := faultproxy.StartPipe(target.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	small := &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10, MaxReceiveBufferPerConnection: 64 << 10}
	return p, &http.Client{Transport: &http.Transport{Protocols: &plain, HTTP2: small}}
}
