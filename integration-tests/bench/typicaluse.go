package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// typicalUse is the memory of lockstep in typical use: the API server calls its webhooks, it has
// rolled a group, and Prometheus scrapes its metrics.
type typicalUse struct {
	every   time.Duration // between two scrapes
	scrapes int           // while samples were taken
	samples []int         // in KB
}

// row compares the largest sample with the goal, because a memory limit must allow it.
func (d typicalUse) row(managed, others int) row {
	largest := slices.Max(d.samples)
	return memoryRow(
		fmt.Sprintf("memory with %d managed pods and %d others, webhooks in use, metrics scraped every %.0f s: median, largest", managed, others, d.every.Seconds()),
		largest, maxMemory(managed, others), map[string]typicalUse{lockstepName: d},
		func(d typicalUse) string { return megabytes(median(d.samples)) + ", " + megabytes(largest) })
}

// minScrapes is the minimum number of scrapes in each half of the measurement.
const minScrapes = 4

// measureTypicalUse restarts lockstep with its webhooks, and samples its memory after some scrapes.
func (tb *testbed) measureTypicalUse(ctx context.Context, c *contender, groups []*group) (typicalUse, error) {
	d := typicalUse{every: tb.memory.scrape}
	if tb.operator != "" {
		tb.report("NOT MEASURED: memory in typical use: the flags that start the webhooks of -operator are unknown")
		return d, nil
	}
	if err := tb.restartWithWebhooks(ctx, c, groups[0]); err != nil {
		return d, err
	}
	s := tb.scrape(ctx, c.processes[0], d.every)
	defer s.end()
	if _, err := tb.roll(ctx, c, groups, nil); err != nil {
		return d, fmt.Errorf("roll with %s: %w", c.name, err)
	}
	half := max(tb.memory.settle, minScrapes*d.every)
	if err := pause(ctx, half); err != nil {
		return d, err
	}
	before := s.answered.Load()
	var err error
	if d.samples, err = sample(ctx, c, half); err != nil {
		return d, err
	}
	if d.scrapes = int(s.answered.Load() - before); d.scrapes == 0 {
		return d, errors.New("no scrape of the metrics")
	}
	tb.report("%s in typical use, scraped %d times, occupies %s, at most %s", c.name, d.scrapes, megabytes(median(d.samples)), megabytes(slices.Max(d.samples)))
	return d, nil
}

// restartWithWebhooks returns when the API server calls all of lockstep's webhooks.
func (tb *testbed) restartWithWebhooks(ctx context.Context, c *contender, g *group) error {
	if err := tb.stopContender(ctx, c); err != nil {
		return err
	}
	c.kill()
	e, err := tb.startWebhooks(ctx, g.namespace)
	if err != nil {
		return err
	}
	for webhook, trigger := range map[string]func(context.Context, *group) error{
		noDownscale: tb.scaleDownDryRun, prepareDownscale: tb.scaleDownDryRun, podEvictionPin: tb.evictDryRun, podEviction: tb.evictDryRun,
	} {
		if _, err := tb.registerWebhooks(ctx, e, webhook, map[string]*group{c.name: g}, trigger); err != nil {
			return fmt.Errorf("register %s: %w", webhook, err)
		}
	}
	return nil
}

// openMetrics is the Accept header of Prometheus.
const openMetrics = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3"

// scraper reads the metrics of a process at a constant rate.
type scraper struct {
	end      func() // returns when no scrape is in progress
	answered atomic.Int64
}

// scrape starts a scraper. A failed scrape ends the measurement.
func (tb *testbed) scrape(ctx context.Context, p *process, every time.Duration) *scraper {
	ctx, stop := context.WithCancel(ctx)
	s := &scraper{}
	var running sync.WaitGroup
	s.end = func() { stop(); running.Wait() }
	running.Go(func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			err := scrapeOnce(ctx, p)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				tb.abort(fmt.Errorf("scrape: %w", err))
				return
			}
			s.answered.Add(1)
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return s
}

func scrapeOnce(ctx context.Context, p *process) error {
	got, err := p.getAs(ctx, "/metrics", openMetrics)
	if err == nil && got.code != http.StatusOK {
		err = fmt.Errorf("/metrics is answered with %d", got.code)
	}
	return err
}
