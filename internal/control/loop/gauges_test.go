package loop_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/lockstep-dev/lockstep/internal/control/loop"
)

// gauges store the queue's metrics of work in progress.
type gauges struct {
	workqueue.MetricsProvider
	unfinished, longest gauge
}

type gauge struct{ value float64 }

func (g *gauge) Set(v float64) { g.value = v }

func (g *gauges) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return &g.unfinished
}

func (g *gauges) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return &g.longest
}

// A former leader has no work in progress, and its metrics show that.
func TestGaugesAreZeroAfterTheLoopEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shown := &gauges{MetricsProvider: nothing{}}
		b := run(t, func(ctx context.Context, _ key) (loop.Outcome, error) {
			<-ctx.Done()
			return loop.Done(), nil
		}, func(o *loop.Options[key]) { o.Queues = shown })
		b.Add(one)
		time.Sleep(10 * time.Second)
		if shown.unfinished.value == 0 || shown.longest.value == 0 {
			t.Fatalf("%+v while a worker is busy", shown)
		}
		b.end()
		if shown.unfinished.value != 0 || shown.longest.value != 0 {
			t.Errorf("%+v after the end", shown)
		}
	})
}
