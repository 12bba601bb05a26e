// Package parallel does several things at the same time for a caller who waits for all
// of them.
//
// A panic of one of them is the caller's, who may be on the guard against it: in a
// goroutine that nobody guards it would end the process, and every other group with it.
//
// It knows nothing of the work.
package parallel

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Each does something for 0 to n-1, for so many at a time at most, in order of their
// beginning, and returns when all is done. After a panic nothing else begins.
func Each(n, atATime int, do func(i int)) {
	var next atomic.Int64
	var first atomic.Pointer[Panic]
	var workers sync.WaitGroup
	for range min(n, atATime) {
		workers.Go(func() {
			defer func() {
				if value := recover(); value != nil {
					first.CompareAndSwap(nil, &Panic{value, string(debug.Stack())})
				}
			}()
			for first.Load() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i)
			}
		})
	}
	workers.Wait()
	if p := first.Load(); p != nil {
		panic(p)
	}
}

// All does all of these at the same time.
func All(things ...func()) {
	Each(len(things), len(things), func(i int) { things[i]() })
}

// Panic is what somebody panicked with in another goroutine, and where.
type Panic struct {
	Value any
	Stack string
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprintf("%v, at:\n%s", p.Value, p.Stack) }
