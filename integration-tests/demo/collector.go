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

// collector takes the operator's spans, by OTLP over HTTP, and keeps those of rollouts.
type collector struct {
	server *http.Server
	url    string
	onward string // where everything is passed on to; usually nowhere

	mu    sync.Mutex
	spans map[string]traced // by id: what is sent twice is one
}

// traced is a span of a rollout, of one of its zones or of one of its pods.
type traced struct {
	trace, id, parent string
	name              string // with what it is of: "pod ingester-zone-a-0"
	namespace         string
	start, end        time.Time
}

func (t traced) kind() string { kind, _, _ := strings.Cut(t.name, " "); return kind }
func (t traced) of() string   { _, of, _ := strings.Cut(t.name, " "); return of }

const (
	tracePath   = "/v1/traces"
	batchesSoon = "200" // milliseconds between a span's end and its export
	mostOfABody = 16 << 20
)

func startCollector(onward string) (*collector, error) {
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := &collector{url: "http://" + listener.Addr().String(), onward: onward, spans: map[string]traced{}}
	c.server = &http.Server{Handler: c, ReadHeaderTimeout: time.Second}
	go func() { _ = c.server.Serve(listener) }() // until it is closed
	return c, nil
}

// environment lets an operator export to it.
func (c *collector) environment() []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + c.url, "OTEL_BSP_SCHEDULE_DELAY=" + batchesSoon}
}

// ServeHTTP implements http.Handler.
func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostOfABody))
	if err == nil && r.URL.Path == tracePath {
		err = errors.Join(c.take(body), c.pass(r, body))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-protobuf") // an empty message: all was taken
}

func (c *collector) take(body []byte) error {
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

func (c *collector) pass(r *http.Request, body []byte) error {
	if c.onward == "" {
		return nil
	}
	request, err := http.NewRequestWithContext(r.Context(), http.MethodPost, c.onward+tracePath, bytes.NewReader(body))
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

// await waits a while for so many rollouts to have ended, and returns what it has got.
func (c *collector) await(ctx context.Context, rollouts int, patience time.Duration) []traced {
	ctx, stop := context.WithTimeout(ctx, patience)
	defer stop()
	const often = 50 * time.Millisecond
	again := time.NewTicker(often)
	defer again.Stop()
	for {
		all := c.all()
		ended := 0
		for _, span := range all {
			if span.parent == "" {
				ended++
			}
		}
		if ended >= rollouts {
			return all
		}
		select {
		case <-ctx.Done():
			return all
		case <-again.C:
		}
	}
}

// all returns the spans in the order in which they began.
func (c *collector) all() []traced {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []traced
	for _, span := range c.spans {
		all = append(all, span)
	}
	slices.SortFunc(all, func(a, b traced) int {
		if order := a.start.Compare(b.start); order != 0 {
			return order
		}
		return strings.Compare(a.namespace+a.name, b.namespace+b.name)
	})
	return all
}

func (c *collector) end() error { return c.server.Close() }
