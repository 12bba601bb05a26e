package faultproxy_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

func TestAFaultThatNeedsAnAnswerDoesNotCountWithoutOne(t *testing.T) {
	t.Parallel()
	killed := func() { t.Error("an operator was killed after an answer that was never sent") }
	for _, fault := range []faultproxy.Fault{
		faultproxy.Lost(), faultproxy.Repeated(), faultproxy.Held(time.Millisecond),
		faultproxy.LateWrite(time.Millisecond, func() {}), faultproxy.CrashAfter(killed),
	} {
		p, err := faultproxy.Start("http://127.0.0.1:1", nil) // no server listens there
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		p.Play(faultproxy.At(1, fault))
		if code, _, err := do(t, clientOf(t, p), "DELETE", p.URL()+pods+"/a-0", "{}"); err == nil {
			t.Errorf("%s: answered %d", fault, code)
		}
		if got := p.Counts().Faults; len(got) > 0 {
			t.Errorf("%s: counted %v", fault, got)
		}
	}
}

func TestAWatchThatItsClientEndsWasNotEnded(t *testing.T) {
	t.Parallel()
	s, p, c := through(t)
	const life = time.Second
	p.Play(faultproxy.Sometimes(1, faultproxy.Watch, 1, faultproxy.Shortened(life)))
	response, err := c.Get(p.URL() + pods + "?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Counts().Faults["watch ended"]; got != 0 {
		t.Errorf("a watch that has just begun is counted as ended %d times", got)
	}
	_ = response.Body.Close() // the client ends it
	s.CloseClientConnections()
	time.Sleep(life + life/2)
	if got := p.Counts().Faults["watch ended"]; got != 0 {
		t.Errorf("counted as ended %d times", got)
	}
}

func TestAWatchThatIsHeldBackCountsWhenItBegins(t *testing.T) {
	t.Parallel()
	_, p, c := through(t)
	p.Play(faultproxy.Sometimes(1, faultproxy.Watch, 1, faultproxy.Held(time.Millisecond)))
	watch(t, c, p.URL()+pods+"?watch=1")
	if got := p.Counts().Faults["held back"]; got != 1 {
		t.Errorf("counted %d times", got)
	}
}

func TestOnlyDelayedWatchesAreCountedAsLate(t *testing.T) {
	t.Parallel()
	_, p, c := through(t)
	p.DelayWatches("pods", time.Millisecond)
	p.Play(faultproxy.Sometimes(1, faultproxy.Watch, 1, faultproxy.Answered(http.StatusGone)))
	watch(t, c, p.URL()+pods+"?watch=1")
	if got := p.Counts(); got.Late["pods"] != 0 || got.Watches["pods"] != 1 {
		t.Errorf("a refused watch is counted as %+v", got)
	}
	p.Play(nil)
	watch(t, c, p.URL()+pods+"?watch=1")
	if got := p.Counts(); got.Late["pods"] != 1 || got.Watches["pods"] != 2 {
		t.Errorf("a watch that began is counted as %+v", got)
	}
}
