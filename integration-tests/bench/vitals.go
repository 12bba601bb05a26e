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
}

const (
	// A pool of free objects outlives one collection, but not two.
	afterCollection  = "/debug/pprof/heap?gc=1&debug=1"
	goroutineProfile = "/debug/pprof/goroutine?debug=1"
)

var (
	heapLine      = regexp.MustCompile(`(?m)^# HeapAlloc = (\d+)$`)
	goroutineLine = regexp.MustCompile(`^goroutine profile: total (\d+)\n`)
)

// vitals lets the process collect its garbage and looks at what is left.
func (p *process) vitals(ctx context.Context) (vitals, error) {
	if _, err := p.read(ctx, afterCollection); err != nil {
		return vitals{}, err
	}
	heap, err := p.number(ctx, afterCollection, heapLine)
	if err != nil {
		return vitals{}, err
	}
	goroutines, err := p.number(ctx, goroutineProfile, goroutineLine)
	return vitals{heap: heap, resident: p.memory(), own: p.ownMemory(), goroutines: goroutines}, err
}

func (p *process) number(ctx context.Context, path string, line *regexp.Regexp) (int, error) {
	text, err := p.read(ctx, path)
	if err != nil {
		return 0, err
	}
	parts := line.FindStringSubmatch(text)
	if parts == nil {
		return 0, fmt.Errorf("read %s: there is no line %s", path, line)
	}
	return strconv.Atoi(parts[1])
}
