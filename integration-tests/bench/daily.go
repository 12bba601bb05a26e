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

// daily is what lockstep occupies as it usually runs: it serves webhooks which the API
// server calls, has rolled a group, and somebody scrapes its metrics all the time.
type daily struct {
	every   time.Duration // between two scrapes
	scrapes int           // while samples were taken
	samples []int         // in KB
}

// row judges the largest sample: that is what a limit has to leave room for.
func (d daily) row(managed, others int) row {
	largest := slices.Max(d.samples)
	return memoryRow(
		fmt.Sprintf("memory with %d managed pods and %d others, webhooks in use, metrics scraped every %.0f s: median, largest", managed, others, d.every.Seconds()),
		largest, mostMemory(managed, others), map[string]daily{lockstepName: d},
		func(d daily) string { return megabytes(median(d.samples)) + ", " + megabytes(largest) })
}

// leastScrapes are in each half of the time in which daily use is watched.
const leastScrapes = 4

// dailyUse starts lockstep again, with its webhooks, and looks at what it occupies
// once it has been scraped for a while.
func (a *arena) dailyUse(ctx context.Context, r *racer, groups []*group) (daily, error) {
	d := daily{every: a.memory.scrape}
	if a.operator != "" {
		a.say("NOT MEASURED: memory in daily use: how to start the webhooks of -operator is not known")
		return d, nil
	}
	if err := a.restartWithWebhooks(ctx, r, groups[0]); err != nil {
		return d, err
	}
	s := a.scrape(ctx, r.processes[0], d.every)
	defer s.end()
	if _, err := a.roll(ctx, r, groups, nil); err != nil {
		return d, fmt.Errorf("roll with %s: %w", r.name, err)
	}
	half := max(a.memory.settle, leastScrapes*d.every)
	if err := pause(ctx, half); err != nil {
		return d, err
	}
	before := s.answered.Load()
	var err error
	if d.samples, err = sample(ctx, r, half); err != nil {
		return d, err
	}
	if d.scrapes = int(s.answered.Load() - before); d.scrapes == 0 {
		return d, errors.New("nobody scraped the metrics")
	}
	a.say("%s in daily use, scraped %d times, occupies %s, at most %s", r.name, d.scrapes, megabytes(median(d.samples)), megabytes(slices.Max(d.samples)))
	return d, nil
}

// restartWithWebhooks returns once the API server calls all of lockstep's webhooks.
func (a *arena) restartWithWebhooks(ctx context.Context, r *racer, g *group) error {
	if err := a.stopRacer(ctx, r); err != nil {
		return err
	}
	r.end()
	e, err := a.serve(ctx, g.namespace)
	if err != nil {
		return err
	}
	for webhook, knock := range map[string]func(context.Context, *group) error{
		noDownscale: a.patchDry, prepareDownscale: a.patchDry, podEvictionPin: a.evictDry, podEviction: a.evictDry,
	} {
		if _, err := a.letCall(ctx, e, webhook, map[string]*group{r.name: g}, knock); err != nil {
			return fmt.Errorf("register %s: %w", webhook, err)
		}
	}
	return nil
}

// openMetrics is what Prometheus asks for.
const openMetrics = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3"

// scraper asks for the metrics of a process at a steady pace.
type scraper struct {
	end      func() // returns when no scrape is under way
	answered atomic.Int64
}

// scrape begins at once. A scrape that fails ends the measurement.
func (a *arena) scrape(ctx context.Context, p *process, every time.Duration) *scraper {
	ctx, stop := context.WithCancel(ctx)
	s := &scraper{}
	var all sync.WaitGroup
	s.end = func() { stop(); all.Wait() }
	all.Go(func() {
		beat := time.NewTicker(every)
		defer beat.Stop()
		for {
			err := scrapeOnce(ctx, p)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				a.fail(fmt.Errorf("scrape: %w", err))
				return
			}
			s.answered.Add(1)
			select {
			case <-beat.C:
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
