package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// collector receives the operator's spans by OTLP over HTTP and keeps those of rollouts.
type collector struct {
	server     *http.Server
	url        string
	forwardURL string // to which all spans are forwarded; empty: none

	mu    sync.Mutex
	spans map[string]rolloutSpan // by id, because spans may be sent twice
}

// rolloutSpan is a span of a rollout, of one of its zones or of one of its pods.
type rolloutSpan struct {
	trace, id, parent string
	name              string // with its object: "pod ingester-zone-a-0"
	namespace         string
	start, end        time.Time
}

func (t rolloutSpan) kind() string   { kind, _, _ := strings.Cut(t.name, " "); return kind }
func (t rolloutSpan) object() string { _, of, _ := strings.Cut(t.name, " "); return of }

const (
	tracePath  = "/v1/traces"
	batchDelay = "200" // milliseconds between the end of a span and its export
	maxBody    = 16 << 20
)

func startCollector(forwardURL string) (*collector, error) {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &collector{url: "http://" + listener.Addr().String(), forwardURL: forwardURL, spans: map[string]rolloutSpan{}}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: time.Second}
	go func() { _ = c.server.Serve(listener) }() // until it is closed
	return c, nil
}

// variables returns the environment variables with which an operator exports to the collector.
func (c *collector) variables() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url, "OTEL_BSP_SCHEDULE_DELAY=" + batchDelay}
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil && r.URL.Path == tracePath {
		err = errors.Join(c.add(body), c.forward(r, body))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf") // an empty message: all spans were accepted
}

func (c *collector) add(body []byte) error {
	spans, err := readSpans(body)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, span := range spans {
		switch span.kind() {
		case "rollout", "zone", "pod":
			c.spans[span.id] = span
		}
	}
	return nil
}

func (c *collector) forward(r *http.Request, body []byte) error {
	if c.forwardURL == "" {
		return nil
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, c.forwardURL+tracePath, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header = r.Header.Clone()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// await waits until this number of rollouts have ended or the time is over, and returns the spans.
func (c *collector) await(ctx context.Context, rollouts int, timeout time.Duration) []rolloutSpan {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	const interval = 50 * time.Millisecond
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		spans := c.sorted()
		ended := 0
		for _, span := range spans {
			if span.parent == "" {
				ended++
			}
		}
		if ended >= rollouts {
			return spans
		}
		select {
		case <-ctx.Done():
			return spans
		case <-ticker.C:
		}
	}
}

// sorted returns the spans in the order of their start.
func (c *collector) sorted() []rolloutSpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []rolloutSpan
	for _, span := range c.spans {
		all = append(all, span)
	}
	slices.SortFunc(all, func(a, b rolloutSpan) int {
		if order := a.start.Compare(b.start); order != 0 {
			return order
		}
		return strings.Compare(a.namespace+a.name, b.namespace+b.name)
	})
	return all
}

func (c *collector) close() error { return c.server.Close() }
