package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// occupied is what a process needs in memory, in KB.
type occupied struct {
	resident int // once it has become level
	heap     int // what is left of the heap after a collection; 0 where it does not tell
}

// occupies lets memory settle and looks at it.
func (b *bench) occupies(ctx context.Context, r *racer, what string, settle time.Duration) (occupied, error) {
	resident, err := b.settled(ctx, r, what, settle)
	if err != nil {
		return occupied{}, err
	}
	now, err := r.processes[0].vitals(ctx)
	if errors.Is(err, errSilent) {
		return occupied{resident: resident}, nil
	}
	return occupied{resident: resident, heap: now.heap >> 10}, err
}

// occupiedRows are about memory beside so many managed pods and others.
func occupiedRows(managed, others int, all map[string]occupied) []row {
	own := all[lockstepName]
	most := mostMemory(managed, others)
	return []row{
		memoryRow(fmt.Sprintf("memory with %d managed pods and %d others", managed, others), own.resident, most, all,
			func(o occupied) string { return megabytes(o.resident) }),
		rowOf("of this the heap after a collection", "", unasked, all, func(_ string, o occupied) string {
			if o.heap == 0 {
				return ""
			}
			return megabytes(o.heap)
		}),
	}
}
