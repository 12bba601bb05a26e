package faultproxy

import (
	"net/http"
	"slices"
	"time"
)

// Delay is the time that a request took to reach the API server, from when its client first sent
// it. The proxy held the request back, or refused a read with the advice to send it again (429). A
// write that is sent again is another request: its client has to decide on it again.
type Delay struct {
	Request
	From, To time.Time
}

// sending records the requests on their way. The proxy's lock guards it.
type sending struct {
	delays  []Delay
	refused map[errand]attempts
	holding int
}

func newSending() sending { return sending{refused: map[errand]attempts{}} }

// errand is the part of a request that is the same in all attempts.
type errand struct {
	agent, method, namespace, resource, name, selector string
}

func errandOf(r Request) errand {
	return errand{r.Agent, r.Method, r.Namespace, r.Resource, r.Name, r.Selector}
}

// attempts are the times of attempts that were refused with the advice to try again.
type attempts struct{ first, last time.Time }

// A client that receives the advice to try again in a second does so or stops, even if its timers
// run at half or twice the speed. Operators stop every request after Patience.
const (
	againFrom = 500 * time.Millisecond
	againTo   = 3 * time.Second
	Patience  = 10 * time.Second
)

// Delays returns the delays of requests that have arrived. It omits watches, Events and leadership,
// because they do not depend on earlier reads. It also omits requests that were refused until their
// client stopped.
func (p *Proxy) Delays() []Delay {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.gaps.sending.delays)
}

// Holding returns how many requests the proxy holds back now.
func (p *Proxy) Holding() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.gaps.sending.holding
}

// sentFirst returns when the client of a new request sent its first attempt.
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

// sendsAgain records that the client of a request was advised to send it again.
func (p *Proxy) sendsAgain(r Request, first time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps.sending.refused[errandOf(r)] = attempts{first, time.Now()}
}

// holds counts a request as held back until the returned function is called.
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

// arrives records the delay of a request that goes to the API server.
func (p *Proxy) arrives(r Request, first time.Time) {
	if !r.decides() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.gaps.sending.delays = append(p.gaps.sending.delays, Delay{r, first, time.Now()})
}

// tellsToComeAgain reports whether clients repeat a read by themselves after this fault.
func (f Fault) tellsToComeAgain() bool { return f.code == http.StatusTooManyRequests }
