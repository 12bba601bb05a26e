package faultproxy

import (
	"io"
	"slices"
	"sync"
	"time"
)

// Gap is a time in which a client received no events of a resource.
type Gap struct {
	Resource string // with its subresource
	From, To time.Time
}

// gaps records such times. The proxy's lock guards it.
type gaps struct {
	open    map[string]int       // watches, by resource
	since   map[string]time.Time // by resource: when the last of its watches ended
	unheard []Gap
	sending sending
}

func newGaps() gaps {
	return gaps{open: map[string]int{}, since: map[string]time.Time{}, sending: newSending()}
}

// Unheard returns the times in which no watch of a resource was open, from the end of its first
// watch on. A gap that has not ended lasts until now.
func (p *Proxy) Unheard() []Gap {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Clone(p.gaps.unheard)
	for resource, from := range p.gaps.since {
		all = append(all, Gap{resource, from, time.Now()})
	}
	return all
}

// listens records the begin of a watch, and returns its body, which records its end.
func (p *Proxy) listens(resource string, body io.ReadCloser) io.ReadCloser {
	p.mu.Lock()
	defer p.mu.Unlock()
	g := &p.gaps
	g.open[resource]++
	if from, deaf := g.since[resource]; deaf {
		g.unheard = append(g.unheard, Gap{resource, from, time.Now()})
		delete(g.since, resource)
	}
	return &ear{ReadCloser: body, ends: sync.OnceFunc(func() { p.deafens(resource) })}
}

func (p *Proxy) deafens(resource string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.gaps.open[resource]--; p.gaps.open[resource] == 0 {
		p.gaps.since[resource] = time.Now()
	}
}

// ear is the body of a watch.
type ear struct {
	io.ReadCloser
	ends func()
}

// Close implements io.Closer.
func (e *ear) Close() error {
	e.ends()
	return e.ReadCloser.Close()
}
