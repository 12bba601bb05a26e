// Package parallel runs functions at the same time for a caller that waits for all of them.
//
// If one of them panics, the panic is passed to the caller, which may recover. In a goroutine
// without recover it would end the process, and with it the work on every other group.
package parallel

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Each calls do for 0 to n-1, at most atATime calls at the same time, in this order. It returns
// after all calls have returned. After a panic it starts no other call.
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

// All runs the functions at the same time.
func All(things ...func()) {
	Each(len(things), len(things), func(i int) { things[i]() })
}

// Panic is the value and the stack of a panic in another goroutine.
type Panic struct {
	Value any
	Stack string
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprintf("%v, at:\n%s", p.Value, p.Stack) }
