package loop

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"
)

func TestKeyHasAtMostOneTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fired := 0
		timers := newTimers(func(string) { fired++ })
		for n := range 10_000 {
			timers.set("a", time.Hour-time.Duration(n)*time.Millisecond)
			timers.set("b", time.Hour)
		}
		if got := len(timers.pending); got != 2 {
			t.Errorf("%d timers for 2 keys", got)
		}
		timers.clear("b")
		timers.clear("never set")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if fired != 1 || len(timers.pending) != 0 {
			t.Errorf("%d keys rang and %d timers remain, want 1 and none", fired, len(timers.pending))
		}
	})
}

func TestStoppedTimersDoNotFire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timers := newTimers(func(k string) { t.Errorf("%s rang", k) })
		timers.set("a", time.Second)
		timers.stop()
		timers.set("b", time.Second)
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := len(timers.pending); got != 0 {
			t.Errorf("%d timers remain", got)
		}
	})
}

func TestLoopStopsItsTimersWhenItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		log := logrus.New()
		log.SetOutput(io.MultiWriter(&out, t.Output()))
		l := New(Options[string]{
			Name: "group", Log: log,
			Reconcile: func(ctx context.Context, _ string) (Outcome, error) {
				<-ctx.Done()
				return Done(), errors.Join(errors.New("list pods"), ctx.Err())
			},
		})
		l.Add("a")
		l.AddAfter("b", time.Hour)
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		l.Run(ctx)
		if got := len(l.timers.pending); got != 0 {
			t.Errorf("%d timers remain", got)
		}
		if out.Len() > 0 {
			t.Errorf("the end was logged as trouble: %s", out.String())
		}
	})
}
