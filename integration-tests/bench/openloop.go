package main

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// openLoop calls do at a constant rate, even if earlier calls have not ended. It returns the duration
// of each call from the time at which it was due, so a late call is not measured as a fast one. The
// first error ends it.
func openLoop(ctx context.Context, rate int, window time.Duration, do func(ctx context.Context, i int) error) ([]time.Duration, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	took := make([]time.Duration, int(window.Seconds()*float64(rate)))
	var running sync.WaitGroup
	began := time.Now()
	for i := range took {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		if err := pause(ctx, time.Until(due)); err != nil {
			break
		}
		running.Go(func() {
			if err := do(ctx, i); err != nil {
				fail(fmt.Errorf("request %d of %d: %w", i+1, len(took), err))
			}
			took[i] = time.Since(due)
		})
	}
	running.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return took, nil
}
