package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// memoryUse is the memory of a process, in KB.
type memoryUse struct {
	resident int // once it is stable
	heap     int // after a collection; 0 if the process does not report it
}

// measureMemory waits until memory is stable and returns it.
func (b *bench) measureMemory(ctx context.Context, c *contender, what string, settle time.Duration) (memoryUse, error) {
	resident, err := b.stableMemory(ctx, c, what, settle)
	if err != nil {
		return memoryUse{}, err
	}
	now, err := c.processes[0].stats(ctx)
	if errors.Is(err, errNoAddress) {
		return memoryUse{resident: resident}, nil
	}
	return memoryUse{resident: resident, heap: now.heap >> 10}, err
}

// memoryUseRows are the rows about memory with these numbers of managed and other pods.
func memoryUseRows(managed, others int, all map[string]memoryUse) []row {
	own := all[lockstepName]
	most := maxMemory(managed, others)
	return []row{
		memoryRow(fmt.Sprintf("memory with %d managed pods and %d others", managed, others), own.resident, most, all,
			func(o memoryUse) string { return megabytes(o.resident) }),
		rowOf("of this the heap after a collection", "", noGoal, all, func(_ string, o memoryUse) string {
			if o.heap == 0 {
				return ""
			}
			return megabytes(o.heap)
		}),
	}
}
