package admission_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// heavy makes a StatefulSet so large that its reviews are read one after the other.
func heavy(s *appsv1.StatefulSet) {
	s.Annotations = map[string]string{"example.com/dashboard": strings.Repeat("x", 600<<10)}
}

// ponderous takes a minute to decide.
type ponderous struct{}

func (ponderous) Judge(context.Context, admission.Change) admission.Verdict {
	time.Sleep(time.Minute)
	return admission.Allow("Fine")
}

func (ponderous) Doubt(why reason.Code, about string) admission.Verdict {
	return admission.Deny(http.StatusBadRequest, why, about)
}

// answered is what became of a review, and when.
type answered struct {
	status int
	after  time.Duration
}

// ask sends a review whose body comes from there, and of so many bytes.
func ask(tb testing.TB, h http.Handler, body io.Reader, length int) <-chan answered {
	tb.Helper()
	q := asking(tb, preparePath, nil)
	q.Body, q.ContentLength = io.NopCloser(body), int64(length)
	answer, began := make(chan answered, 1), time.Now()
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		answer <- answered{w.Code, time.Since(began)}
	}()
	return answer
}

func TestALargeReviewIsWaitedForWhileItIsReadAndNotWhileItIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := serve(ponderous{})
		review := string(update(t, set(3, heavy), set(2, heavy)))
		first := ask(t, h, strings.NewReader(review), len(review))
		second := ask(t, h, strings.NewReader(review), -1) // it does not say how long it is
		for _, answer := range []<-chan answered{first, second} {
			if got := <-answer; got != (answered{http.StatusOK, time.Minute}) {
				t.Errorf("answered %d after %s, want 200 after a minute", got.status, got.after)
			}
		}
	})
}

func TestALargeReviewWhoseTurnDoesNotComeIsAnsweredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, told := serve(&judge{verdict: admission.Allow("Fine")})
		review := string(update(t, set(3, heavy), set(2, heavy)))
		arrives, sends := io.Pipe()
		first := ask(t, h, arrives, len(review))
		synctest.Wait()
		second := ask(t, h, strings.NewReader(review), len(review))
		small := string(update(t, set(3), set(2)))
		if got := <-ask(t, h, strings.NewReader(small), len(small)); got != (answered{http.StatusOK, 0}) {
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
			t.Errorf("the one that came is answered %d", got.status)
		}
		if len(*told) != 3 || (*told)[1].Verdict != admission.Busy {
			t.Errorf("told %+v, want the second one to be busy", *told)
		}
	})
}
