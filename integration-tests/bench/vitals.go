package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
)

// vitals are what a process needs when it has nothing to do.
type vitals struct {
	heap       int // bytes that are left of the heap after a collection
	resident   int // KB that the process occupies
	own        int // KB of these that are no pages of its program
	goroutines int
	runtime    runtimeMemory
}

// runtimeMemory is what Go's runtime says of a process's own memory, in bytes. The
// heap that is in use has gaps where something was collected.
type runtimeMemory struct {
	heapInUse   int
	heapKept    int // free, and not given back to the kernel
	stacks      int
	allocations int // stacks that the heap profile has seen, which it never forgets
}

const (
	// A pool of free objects outlives one collection, but not two.
	afterCollection  = "/debug/pprof/heap?gc=1&debug=1"
	goroutineProfile = "/debug/pprof/goroutine?debug=1"
)

var (
	memoryLine    = regexp.MustCompile(`(?m)^# (\w+) = (\d+)`)
	goroutineLine = regexp.MustCompile(`^goroutine profile: total (\d+)\n`)
)

// vitals looks at what the process occupies, then lets it collect its garbage and looks at
// what is left: what it is asked for takes memory of its own.
func (p *process) vitals(ctx context.Context) (vitals, error) {
	now := vitals{resident: p.memory(), own: p.ownMemory()}
	if _, err := p.read(ctx, afterCollection); err != nil {
		return vitals{}, err
	}
	profile, err := p.read(ctx, afterCollection)
	if err != nil {
		return vitals{}, err
	}
	if now.heap, now.runtime, err = memoryIn(profile); err != nil {
		return vitals{}, fmt.Errorf("read %s: %w", afterCollection, err)
	}
	if profile, err = p.read(ctx, goroutineProfile); err != nil {
		return vitals{}, err
	}
	if now.goroutines, err = goroutinesIn(profile); err != nil {
		return vitals{}, fmt.Errorf("read %s: %w", goroutineProfile, err)
	}
	return now, nil
}

func goroutinesIn(profile string) (int, error) {
	total := goroutineLine.FindStringSubmatch(profile)
	if total == nil {
		return 0, fmt.Errorf("it does not begin with %s", goroutineLine)
	}
	return strconv.Atoi(total[1])
}

// memoryIn returns what a heap profile says below its stacks: the bytes that are
// alive, and what the runtime has beside them.
func memoryIn(profile string) (heap int, _ runtimeMemory, _ error) {
	says := map[string]int{}
	for _, line := range memoryLine.FindAllStringSubmatch(profile, -1) {
		bytes, err := strconv.Atoi(line[2])
		if err != nil {
			return 0, runtimeMemory{}, fmt.Errorf("%s: %w", line[1], err)
		}
		says[line[1]] = bytes
	}
	for _, name := range []string{"HeapAlloc", "HeapInuse", "HeapIdle", "HeapReleased", "Stack", "BuckHashSys"} {
		if _, told := says[name]; !told {
			return 0, runtimeMemory{}, fmt.Errorf("there is no line with %s", name)
		}
	}
	return says["HeapAlloc"], runtimeMemory{
		heapInUse:   says["HeapInuse"],
		heapKept:    says["HeapIdle"] - says["HeapReleased"],
		stacks:      says["Stack"],
		allocations: says["BuckHashSys"],
	}, nil
}

func (m runtimeMemory) String() string {
	return fmt.Sprintf("heap in use %s, free and kept %s, stacks %s, heap profile %s",
		kilobytes(m.heapInUse), kilobytes(m.heapKept), kilobytes(m.stacks), kilobytes(m.allocations))
}
