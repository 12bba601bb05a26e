package parallel_test

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
)

func TestEachCallsOnceWithLimitedConcurrency(t *testing.T) {
	for _, atATime := range []int{1, 3, 100} {
		synctest.Test(t, func(t *testing.T) {
			done := make([]atomic.Int32, 10)
			var now, most atomic.Int32
			began := time.Now()
			parallel.Each(len(done), atATime, func(i int) {
				most.Store(max(most.Load(), now.Add(1)))
				time.Sleep(time.Second)
				now.Add(-1)
				done[i].Add(1)
			})
			for i := range done {
				if n := done[i].Load(); n != 1 {
					t.Errorf("%d at a time: %d was done %d times", atATime, i, n)
				}
			}
			if n := int(most.Load()); n != min(atATime, len(done)) {
				t.Errorf("%d at a time: there were %d", atATime, n)
			}
			rounds := (len(done) + atATime - 1) / atATime
			if took := time.Since(began); took != time.Duration(rounds)*time.Second {
				t.Errorf("%d at a time: it took %s", atATime, took)
			}
		})
	}
}

func TestEachWithZeroCallsDoesNothing(t *testing.T) {
	parallel.Each(0, 10, func(int) { t.Error("something is done") })
	parallel.All()
}

func TestAllRunsFunctionsConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var both sync.WaitGroup
		both.Add(2)
		meet := func() {
			both.Done()
			both.Wait()
		}
		parallel.All(meet, meet)
	})
}

func TestPanicIsPassedToTheCallerAfterAllCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun, ended atomic.Int32
		defer func() {
			p, is := recover().(*parallel.Panic)
			if !is || p.Value != "oh" || !strings.Contains(p.Error(), "oh") || !strings.Contains(p.Stack, "TestPanicIsPassedToTheCaller") {
				t.Errorf("the caller sees %v", p)
			}
			if begun.Load() != 2 || ended.Load() != 1 {
				t.Errorf("%d started, %d of them ended; want 2, and one that panicked", begun.Load(), ended.Load())
			}
		}()
		parallel.Each(10, 2, func(i int) {
			begun.Add(1)
			if i == 0 {
				time.Sleep(time.Millisecond)
				panic("oh")
			}
			time.Sleep(time.Second)
			ended.Add(1)
		})
	})
}
