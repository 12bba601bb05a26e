package faultproxy

import (
	"net/http"
	"slices"
	"time"
)

// Delay is a time in which a request was on its way: from when its client sent it first
// until it went to the API server, since it was held back, or refused with the advice to
// send it again (429).
type Delay struct {
	Request
	From, To time.Time
}

// sending is what a proxy knows of requests on their way. The proxy's lock guards it.
type sending struct {
	delays  []Delay
	refused map[errand]attempts
	holding int
}

func newSending() sending { return sending{refused: map[errand]attempts{}} }

// errand is what two attempts at the same request have in common.
type errand struct {
	agent, method, namespace, resource, name, selector string
}

func errandOf(r Request) errand {
	return errand{r.Agent, r.Method, r.Namespace, r.Resource, r.Name, r.Selector}
}

// attempts are those that were refused with the advice to come again.
type attempts struct{ first, last time.Time }

// Who is told to come again in a second does so, or gives up, even if its timers go at
// half or at twice the pace. Operators give every request up after Patience.
const (
	againFrom = 500 * time.Millisecond
	againTo   = 3 * time.Second
	Patience  = 10 * time.Second
)

// Delays returns the delays of requests that have arrived. Watches, Events and
// leadership are left out: nothing rests on them that was read before. So are requests
// that were refused until their client gave them up.
func (p *Proxy) Delays() []Delay {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.gaps.sending.delays)
}

// Holding is how many requests are held back now.
func (p *Proxy) Holding() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gaps.sending.holding
}

// sentFirst is when the client of a request that has just come sent it first.
func (p *Proxy) sentFirst(r Request) time.Time {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	before, refused := p.gaps.sending.refused[errandOf(r)]
	delete(p.gaps.sending.refused, errandOf(r))
	if since := now.Sub(before.last); refused && againFrom <= since && since <= againTo && now.Sub(before.first) <= Patience {
		return before.first
	}
	return now
}

// sendsAgain notes that the client of a request was told to send it again.
func (p *Proxy) sendsAgain(r Request, first time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps.sending.refused[errandOf(r)] = attempts{first, time.Now()}
}

// holds notes that a request is held back, until the function that it returns is called.
func (p *Proxy) holds() func() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps.sending.holding++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.gaps.sending.holding--
	}
}

// arrives notes that a request goes to the API server, late.
func (p *Proxy) arrives(r Request, first time.Time) {
	if !r.decides() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps.sending.delays = append(p.gaps.sending.delays, Delay{r, first, time.Now()})
}

// tellsToComeAgain reports whether clients repeat by themselves what is answered so.
func (f Fault) tellsToComeAgain() bool { return f.code == http.StatusTooManyRequests }
