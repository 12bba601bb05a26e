package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// openLoop does something at a constant rate, whether or not earlier ones have
// ended, and returns how long each took from the time at which it was due: so one
// that is late makes no other one look early. The first error ends it.
func openLoop(ctx context.Context, rate int, window time.Duration, do func(ctx context.Context, i int) error) ([]time.Duration, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	took := make([]time.Duration, int(window.Seconds()*float64(rate)))
	var under sync.WaitGroup
	began := time.Now()
	for i := range took {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		if err := pause(ctx, time.Until(due)); err != nil {
			break
		}
		under.Go(func() {
			if err := do(ctx, i); err != nil {
				fail(fmt.Errorf("request %d of %d: %w", i+1, len(took), err))
			}
			took[i] = time.Since(due)
		})
	}
	under.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return took, nil
}
