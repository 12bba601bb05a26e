package faultproxy

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
	"time"
)

// Pipe passes gRPC calls on, or anything else on HTTP/2 without TLS, and hands answers
// on late. An API server that reaches etcd through one goes on answering from what it
// knew a while ago: whoever comes to it from another API server goes back in time.
//
// Connections end here, and what is late waits here. Were it late on one connection
// from end to end, it would fill the window that HTTP/2 grants a stream, and the next
// would come later and later.
type Pipe struct {
	server    *http.Server
	transport *http.Transport
	address   string
	late      atomic.Int64 // nanoseconds
}

// StartPipe starts a pipe to a target, HOST:PORT, which hands on at once. The caller
// calls Close.
func StartPipe(target string) (*Pipe, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start pipe: %w", err)
	}
	var plain http.Protocols
	plain.SetUnencryptedHTTP2(true)
	p := &Pipe{transport: &http.Transport{Protocols: &plain}, address: listener.Addr().String()}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: target}) },
		Transport:      p.transport,
		FlushInterval:  -1,
		ModifyResponse: p.hold,
		ErrorLog:       silence, // of an etcd that was killed
	}
	p.server = &http.Server{Handler: proxy, Protocols: &plain, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1 << 16}, ErrorLog: silence}
	go func() {
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("the pipe to %s: %v", target, err))
		}
	}()
	return p, nil
}

// Address is where the pipe listens, HOST:PORT.
func (p *Pipe) Address() string { return p.address }

// Delay sets how late answers are from now on.
func (p *Pipe) Delay(d time.Duration) { p.late.Store(int64(d)) }

// Close ends the pipe and cuts its connections.
func (p *Pipe) Close() {
	_ = p.server.Close() // an error is one of a listener that is closed already
	p.transport.CloseIdleConnections()
}

func (p *Pipe) hold(r *http.Response) error {
	r.Body = newLateBody(r.Body, func() time.Duration { return time.Duration(p.late.Load()) })
	return nil
}
