package faultproxy

import (
	"io"
	"slices"
	"sync"
	"time"
)

// Gap is a time in which a client could not hear of a resource, or in which a request
// of its was on its way.
type Gap struct {
	Resource string // with its subresource
	From, To time.Time
}

// gaps are what a proxy knows of such times. The proxy's lock guards it.
type gaps struct {
	open    map[string]int       // watches, by resource
	since   map[string]time.Time // by resource: when the last of its watches ended
	unheard []Gap
	held    []Gap
	holding int
}

func newGaps() gaps { return gaps{open: map[string]int{}, since: map[string]time.Time{}} }

// Unheard returns the times in which no watch of a resource was open, from the end of
// its first one on. One that has not ended lasts until now.
func (p *Proxy) Unheard() []Gap {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := slices.Clone(p.gaps.unheard)
	for resource, from := range p.gaps.since {
		all = append(all, Gap{resource, from, time.Now()})
	}
	return all
}

// Held returns the times in which a request was held back, or its client had been told
// to send it again. Watches, Events and leadership are left out: nothing rests on them
// that was read before.
func (p *Proxy) Held() []Gap {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.gaps.held)
}

// Holding is how many requests are held back now.
func (p *Proxy) Holding() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gaps.holding
}

// listens notes that a watch has begun, and returns its body, whose end is noted.
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

// holds notes that a request is held back, until the function that it returns is called.
func (p *Proxy) holds(r Request) func() {
	from := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps.holding++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.gaps.holding--
		if r.decides() {
			p.gaps.held = append(p.gaps.held, Gap{r.Resource, from, time.Now()})
		}
	}
}

// comesAgain is longer than a client waits that was told to come again in a second.
const comesAgain = 2 * time.Second

// sendsAgain notes that a client was told to send a request again. Times that follow
// each other are one: the request may still be the same.
func (p *Proxy) sendsAgain(r Request) {
	if !r.decides() {
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	held := p.gaps.held
	if i := slices.IndexFunc(held, func(g Gap) bool { return g.Resource == r.Resource && g.To.After(now) }); i >= 0 {
		held[i].To = now.Add(comesAgain)
		return
	}
	p.gaps.held = append(held, Gap{r.Resource, now, now.Add(comesAgain)})
}
