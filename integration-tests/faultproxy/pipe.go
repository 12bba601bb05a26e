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

// Pipe forwards gRPC calls, or other calls on HTTP/2 without TLS, and delays the answers. An API
// server that reaches etcd through a pipe answers from old data. A client that changes from another
// API server to this one sees older states.
//
// The pipe terminates connections and holds late answers itself. If a single connection were
// delayed from end to end, late data would fill the HTTP/2 window of a stream, and the delay would
// grow.
type Pipe struct {
	server    *http.Server
	transport *http.Transport
	address   string
	late      atomic.Int64 // nanoseconds
}

// StartPipe starts a pipe to a target, HOST:PORT, without a delay. The caller must call Close.
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
		ErrorLog:       silence, // it would log the errors of a killed etcd
	}
	p.server = &http.Server{Handler: proxy, Protocols: &plain, HTTP2: &http.HTTP2Config{MaxConcurrentStreams: 1 << 16}, ErrorLog: silence}
	go func() {
		if err := p.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(fmt.Sprintf("the pipe to %s: %v", target, err))
		}
	}()
	return p, nil
}

// Address returns the address of the pipe, HOST:PORT.
func (p *Pipe) Address() string { return p.address }

// Delay sets the delay of answers from now on.
func (p *Pipe) Delay(d time.Duration) { p.late.Store(int64(d)) }

// Close ends the pipe and cuts its connections.
func (p *Pipe) Close() {
	_ = p.server.Close() // it fails only if the listener is already closed
	p.transport.CloseIdleConnections()
}

func (p *Pipe) hold(r *http.Response) error {
	r.Body = newLateBody(r.Body, func() time.Duration { return time.Duration(p.late.Load()) })
	return nil
}
