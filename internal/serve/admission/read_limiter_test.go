package admission_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// heavy makes a StatefulSet so large that the limit admits only one review of it.
func heavy(s *appsv1.StatefulSet) {
	s.Annotations = map[string]string{"example.com/dashboard": strings.Repeat("x", 600<<10)}
}

// slowJudge takes a minute to decide.
type slowJudge struct{}

func (slowJudge) Judge(context.Context, admission.Change) admission.Verdict {
	time.Sleep(time.Minute)
	return admission.Allow("Fine")
}

func (slowJudge) Doubt(why reason.Code, about string) admission.Verdict {
	return admission.Deny(http.StatusBadRequest, why, about)
}

// answered is the result of a review, and its time.
type answered struct {
	status int
	after  time.Duration
}

// send sends a review with a body of the given length.
func send(tb testing.TB, h http.Handler, body io.Reader, length int) <-chan answered {
	tb.Helper()
	return sendTo(tb, h, preparePath, body, length)
}

func sendTo(tb testing.TB, h http.Handler, path string, body io.Reader, length int) <-chan answered {
	tb.Helper()
	q := newRequest(tb, path, nil)
	q.Body, q.ContentLength = io.NopCloser(body), int64(length)
	answer, began := make(chan answered, 1), time.Now()
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		answer <- answered{w.Code, time.Since(began)}
	}()
	return answer
}

func TestLargeReviewsWaitForReadingButNotForJudging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := serve(slowJudge{})
		review := string(update(t, set(3, heavy), set(2, heavy)))
		first := send(t, h, strings.NewReader(review), len(review))
		second := send(t, h, strings.NewReader(review), -1) // without Content-Length
		for _, answer := range []<-chan answered{first, second} {
			if got := <-answer; got != (answered{http.StatusOK, time.Minute}) {
				t.Errorf("answered %d after %s, want 200 after a minute", got.status, got.after)
			}
		}
	})
}

func TestLargeReviewThatIsNotAdmittedInTimeIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, observed := serve(&judge{verdict: admission.Allow("Fine")})
		review := string(update(t, set(3, heavy), set(2, heavy)))
		arrives, sends := io.Pipe()
		first := send(t, h, arrives, len(review))
		synctest.Wait()
		second := send(t, h, strings.NewReader(review), len(review))
		small := string(update(t, set(3), set(2)))
		if got := <-send(t, h, strings.NewReader(small), len(small)); got != (answered{http.StatusOK, 0}) {
			t.Errorf("a small one is answered %d after %s, want at once", got.status, got.after)
		}
		if got := <-second; got != (answered{http.StatusServiceUnavailable, 9 * time.Second}) {
			t.Errorf("answered %d after %s, want 503 after 9 s", got.status, got.after)
		}
		if _, err := io.WriteString(sends, review); err != nil {
			t.Fatal(err)
		}
		if err := sends.Close(); err != nil {
			t.Fatal(err)
		}
		if got := <-first; got.status != http.StatusOK {
			t.Errorf("the review that arrived is answered %d", got.status)
		}
		if len(*observed) != 3 || (*observed)[1].Verdict != admission.Busy {
			t.Errorf("observed %+v, want the second one to be busy", *observed)
		}
	})
}

// long returns a review of a budget with the given length.
func long(tb testing.TB, length int) string {
	tb.Helper()
	of := func(padding int) []byte {
		return creation(tb, `{`+ingesters+`,"padding":"`+strings.Repeat("x", padding)+`"}`)
	}
	review := string(of(length - len(of(0))))
	if len(review) != length {
		tb.Fatalf("the review has %d bytes, want %d", len(review), length)
	}
	return review
}

// late are reviews that have not arrived yet.
type late struct {
	handler http.Handler
	begun   atomic.Int32  // number of reviews that are being read
	arrives chan struct{} // one entry for each review that arrives
}

// send sends a review with the given length.
func (l *late) send(tb testing.TB, length int) <-chan answered {
	tb.Helper()
	return sendTo(tb, l.handler, budgetPath, l.body(long(tb, length)), length)
}

func (l *late) body(review string) io.Reader {
	return io.MultiReader(arriving{l}, strings.NewReader(review))
}

// wantBegun waits until all goroutines block, and checks the number of reviews being read.
func (l *late) wantBegun(tb testing.TB, want int32, when string) {
	tb.Helper()
	synctest.Wait()
	if got := l.begun.Load(); got != want {
		tb.Errorf("%s: %d reviews are read from, want %d", when, got, want)
	}
}

// arriving is an empty body that ends when its review arrives.
type arriving struct{ *late }

func (a arriving) Read([]byte) (int, error) {
	a.begun.Add(1)
	<-a.arrives
	return 0, io.EOF
}

func (a answered) want(tb testing.TB, waiter string, want answered) {
	tb.Helper()
	if a != want {
		tb.Errorf("%s is answered %d after %s, want %d after %s", waiter, a.status, a.after, want.status, want.after)
	}
}

func TestReviewsAreReadConcurrentlyUpToTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &late{handler: admission.New(admission.Options{Log: silent()}), arrives: make(chan struct{})}
		var answers []<-chan answered
		for range 40 {
			answers = append(answers, l.send(t, 500<<10))
		}
		l.wantBegun(t, 4, "2000 KiB of 2 MiB")
		small := long(t, 16<<10)
		(<-sendTo(t, l.handler, budgetPath, strings.NewReader(small), len(small))).want(t, "a small one", answered{http.StatusOK, 0})
		l.arrives <- struct{}{}
		l.wantBegun(t, 5, "one has arrived")
		close(l.arrives)
		for _, answer := range answers {
			(<-answer).want(t, "a review that waited", answered{http.StatusOK, 0})
		}
	})
}

func TestReviewsAreReadInTheOrderOfTheirArrival(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &late{handler: admission.New(admission.Options{Log: silent()}), arrives: make(chan struct{})}
		answers := []<-chan answered{l.send(t, 16<<10+1)}
		synctest.Wait()
		answers = append(answers, sendTo(t, l.handler, budgetPath, l.body(long(t, 100<<10)), -1))
		synctest.Wait()
		answers = append(answers, l.send(t, 100<<10), l.send(t, 100<<10))
		l.wantBegun(t, 1, "the second one may be of any length")
		l.arrives <- struct{}{}
		l.wantBegun(t, 2, "the second one has it")
		l.arrives <- struct{}{}
		l.wantBegun(t, 4, "there is room for both of the others")
		close(l.arrives)
		for _, answer := range answers {
			(<-answer).want(t, "a review that waited", answered{http.StatusOK, 0})
		}
	})
}

func TestCancelledReviewAdmitsTheNextOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &late{handler: admission.New(admission.Options{Log: silent()}), arrives: make(chan struct{})}
		first := l.send(t, 1536<<10)
		synctest.Wait()
		review := long(t, 1<<20)
		second := sendTo(t, l.handler, budgetPath+"?timeout=2s", strings.NewReader(review), len(review))
		synctest.Wait()
		review = long(t, 500<<10)
		third := sendTo(t, l.handler, budgetPath, strings.NewReader(review), len(review))
		(<-second).want(t, "a review for which there is no room", answered{http.StatusServiceUnavailable, 1800 * time.Millisecond})
		(<-third).want(t, "the next review", answered{http.StatusOK, 1800 * time.Millisecond})
		fourth := l.send(t, 1<<20)
		l.wantBegun(t, 1, "there is no more room than before")
		close(l.arrives)
		(<-first).want(t, "the review that arrived", answered{http.StatusOK, 1800 * time.Millisecond})
		(<-fourth).want(t, "a later review", answered{http.StatusOK, 0})
		(<-l.send(t, 3<<20)).want(t, "a review that needs all the room", answered{http.StatusOK, 0})
	})
}

// piped is a listener for connections within the process.
type piped chan net.Conn

func (p piped) Accept() (net.Conn, error) {
	if c, open := <-p; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p piped) Close() error {
	close(p)
	return nil
}

func (p piped) Addr() net.Addr { return new(net.UnixAddr) }

// dial returns a client of the server with these connections.
func (p piped) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p <- theirs
	return ours, nil
}

// served returns a handler that forwards requests over connections to a server with the given handler.
func served(t *testing.T, h http.Handler) http.Handler {
	t.Helper()
	connections, server, ended := make(piped), &http.Server{Handler: h}, make(chan error, 1)
	go func() { ended <- server.Serve(connections) }()
	client := &http.Transport{DialContext: connections.dial}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		_ = server.Close()
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
		time.Sleep(time.Second) // connections are closed a little later
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.URL.Scheme, r.URL.Host = "http", "lockstep"
		answer, err := client.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		_ = answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
	})
}

func TestSlowReviewCountsUntilItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := served(t, admission.New(admission.Options{Log: silent()}))
		l := &late{handler: h, arrives: make(chan struct{})}
		defer close(l.arrives)
		var answers []<-chan answered
		for range 4 {
			answers = append(answers, l.send(t, 500<<10))
		}
		time.Sleep(time.Second)
		review := long(t, 500<<10)
		(<-sendTo(t, h, budgetPath, strings.NewReader(review), len(review))).want(t, "a review a second later", answered{http.StatusOK, 8 * time.Second})
		for _, answer := range answers {
			(<-answer).want(t, "a review that does not arrive", answered{http.StatusBadRequest, 9 * time.Second})
		}
	})
}
