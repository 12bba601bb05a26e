package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
)

// processStats is what a process occupies when it is idle.
type processStats struct {
	heap       int // bytes of the heap after a collection
	resident   int // resident memory in KB
	anonymous  int // KB of resident that are not backed by files
	goroutines int
	runtime    runtimeMemory
}

// runtimeMemory is the memory of Go's runtime, in bytes. The heap in use includes gaps of collected
// objects.
type runtimeMemory struct {
	heapInUse   int
	heapKept    int // free, and not returned to the kernel
	stacks      int
	allocations int // stacks in the heap profile, which the runtime never frees
}

const (
	// A pool of free objects survives one collection, but not two.
	heapAfterCollection = "/debug/pprof/heap?gc=1&debug=1"
	goroutineProfile    = "/debug/pprof/goroutine?debug=1"
)

var (
	memoryLine    = regexp.MustCompile(`(?m)^# (\w+) = (\d+)`)
	goroutineLine = regexp.MustCompile(`^goroutine profile: total (\d+)\n`)
)

// stats reads the resident memory first, because the requests for profiles need memory as well. Then
// it makes the process collect its garbage and reads the profiles.
func (p *process) stats(ctx context.Context) (processStats, error) {
	now := processStats{resident: p.memory(), anonymous: p.anonymousMemory()}
	if _, err := p.read(ctx, heapAfterCollection); err != nil {
		return processStats{}, err
	}
	profile, err := p.read(ctx, heapAfterCollection)
	if err != nil {
		return processStats{}, err
	}
	if now.heap, now.runtime, err = memoryIn(profile); err != nil {
		return processStats{}, fmt.Errorf("read %s: %w", heapAfterCollection, err)
	}
	if profile, err = p.read(ctx, goroutineProfile); err != nil {
		return processStats{}, err
	}
	if now.goroutines, err = goroutinesIn(profile); err != nil {
		return processStats{}, fmt.Errorf("read %s: %w", goroutineProfile, err)
	}
	return now, nil
}

func goroutinesIn(profile string) (int, error) {
	total := goroutineLine.FindStringSubmatch(profile)
	if total == nil {
		return 0, fmt.Errorf("profile does not begin with %s", goroutineLine)
	}
	return strconv.Atoi(total[1])
}

// memoryIn returns the heap after a collection and the memory of the runtime from the end of a heap
// profile.
func memoryIn(profile string) (heap int, _ runtimeMemory, _ error) {
	values := map[string]int{}
	for _, line := range memoryLine.FindAllStringSubmatch(profile, -1) {
		bytes, err := strconv.Atoi(line[2])
		if err != nil {
			return 0, runtimeMemory{}, fmt.Errorf("%s: %w", line[1], err)
		}
		values[line[1]] = bytes
	}
	for _, name := range []string{"HeapAlloc", "HeapInuse", "HeapIdle", "HeapReleased", "Stack", "BuckHashSys"} {
		if _, found := values[name]; !found {
			return 0, runtimeMemory{}, fmt.Errorf("no line with %s", name)
		}
	}
	return values["HeapAlloc"], runtimeMemory{
		heapInUse:   values["HeapInuse"],
		heapKept:    values["HeapIdle"] - values["HeapReleased"],
		stacks:      values["Stack"],
		allocations: values["BuckHashSys"],
	}, nil
}

func (m runtimeMemory) String() string {
	return fmt.Sprintf("heap in use %s, free and kept %s, stacks %s, heap profile %s",
		kilobytes(m.heapInUse), kilobytes(m.heapKept), kilobytes(m.stacks), kilobytes(m.allocations))
}
