package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
)

const (
	// collectFor is how long changes are collected before they are shown.
	collectFor = 100 * time.Millisecond
	// pollInterval is the interval for changes that only time causes.
	pollInterval = time.Second
)

// follow shows groups and StatefulClusters, and their changes, until ctx ends.
func (a *app) follow(ctx context.Context, c *cluster, w wanted) error {
	changed := make(chan struct{}, 1)
	seen, end, err := c.watch(ctx, w, changed)
	if err != nil {
		return err
	}
	defer end()
	if len(w.names) == 1 && len(seen.snapshots(w)) == 0 {
		return c.unknownGroup(ctx, c.group(w.names[0]))
	}
	pools := c.pools(ctx, w)
	ctx, stop := context.WithCancel(ctx)
	var rereading sync.WaitGroup
	defer rereading.Wait()
	defer stop()
	rereading.Go(func() { pools.reread(ctx, c, w, func() { notify(changed) }) })
	show := a.printChanges()
	if a.style.Bars {
		show = a.draw()
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		var views []groupView
		for _, s := range seen.snapshots(w) {
			views = append(views, viewOf(s))
		}
		if err := show(views, pools.views(), c.staleness.report()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			continue
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(collectFor):
		}
	}
}

// draw returns a function that replaces the content of the screen if it has changed.
func (a *app) draw() func(views []groupView, listed []listedView, silence string) error {
	var drawn string
	return func(views []groupView, listed []listedView, silence string) error {
		if a.measure != nil {
			a.style = a.measure()
		}
		p := a.page()
		addStatus(p, views, listed, a.now())
		if silence != "" {
			p.Head(screen.In(screen.Bad, silence))
		}
		return a.redraw(p, &drawn)
	}
}

// redraw replaces the content of the screen by a page, if it has changed.
func (a *app) redraw(p *screen.Page, drawn *string) error {
	const (
		home, rest   = "\x1b[H", "\x1b[J"
		noWrap, wrap = "\x1b[?7l", "\x1b[?7h" // each line of the page is one line of the screen
		endOfLine    = "\x1b[K\n"
	)
	p.Crop(a.style.Rows - 1)
	page := home + noWrap + strings.ReplaceAll(p.String(), "\n", endOfLine) + wrap + rest
	if page == *drawn {
		return nil
	}
	*drawn = page
	return a.write(page)
}

// printChanges returns a function that prints the lines that have changed.
func (a *app) printChanges() func(views []groupView, listed []listedView, silence string) error {
	printed := map[string]string{}
	quiet := ""
	return func(views []groupView, listed []listedView, silence string) error {
		p := a.page()
		if silence != quiet {
			text := silence
			if silence == "" {
				text = "Data arrives again."
			}
			p.Line(screen.Text(screen.Clock(a.now())), screen.Text(text))
			quiet = silence
		}
		now := stateOf(views, listed)
		for about := range printed {
			if _, still := now[about]; !still {
				now[about] = isGone
			}
		}
		for _, about := range slices.Sorted(maps.Keys(now)) {
			if text := now[about]; printed[about] != text {
				p.Line(screen.Text(screen.Clock(a.now())), screen.Text(about), screen.Text(text))
			}
		}
		printed = now
		maps.DeleteFunc(printed, func(_, text string) bool { return text == isGone })
		return a.print(p)
	}
}

const isGone = "is gone"

// stateOf returns the state of groups, their zones and StatefulClusters, each in one line.
func stateOf(views []groupView, listed []listedView) map[string]string {
	state := map[string]string{}
	for _, v := range views {
		about := v.Namespace + "/" + v.Group
		state[about] = strings.TrimSpace(v.Activity + " " + v.Holder)
		for _, z := range v.Zones {
			waits := ""
			if z.Waits != nil {
				waits = " waits for " + z.Waits.short()
			}
			state[about+" "+z.Name] = fmt.Sprintf("%s updated %d/%d ready %d/%d%s", z.Activity, z.Done, z.Replicas, z.Ready, z.Replicas, waits)
		}
	}
	for _, v := range listed {
		waits := ""
		if v.Waits != nil {
			waits = " waits for " + v.Waits.short()
		}
		state["StatefulCluster "+v.Namespace+"/"+v.Name] = fmt.Sprintf("%s available %d/%d updated %d/%d%s", v.State, v.Available, v.Replicas, v.Updated, v.Replicas, waits)
	}
	return state
}
