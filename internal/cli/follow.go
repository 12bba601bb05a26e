package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
)

const (
	// together is for how long changes are collected before they are shown.
	together = 100 * time.Millisecond
	// oftenEnough is how often is looked for what time alone changes.
	oftenEnough = time.Second
)

// follow shows groups and what becomes of them, until ctx ends.
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
	show := a.tell()
	if a.style.Bars {
		show = a.draw()
	}
	tick := time.NewTicker(oftenEnough)
	defer tick.Stop()
	for {
		var views []groupView
		for _, s := range seen.snapshots(w) {
			views = append(views, viewOf(s))
		}
		if err := show(views, c.hearing.silence()); err != nil {
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
		case <-time.After(together):
		}
	}
}

// draw returns what shows groups in place of what the screen shows, where that differs.
func (a *app) draw() func(views []groupView, silence string) error {
	const (
		home, rest   = "\x1b[H", "\x1b[J"
		noWrap, wrap = "\x1b[?7l", "\x1b[?7h" // so that a line of the page is a line of the screen
		endOfLine    = "\x1b[K\n"
	)
	var drawn string
	return func(views []groupView, silence string) error {
		if a.measure != nil {
			a.style = a.measure()
		}
		p := a.page()
		for _, v := range views {
			addGroup(p, v, a.now())
		}
		if silence != "" {
			p.Head(screen.In(screen.Bad, silence))
		}
		p.Crop(a.style.Rows - 1)
		page := home + noWrap + strings.ReplaceAll(p.String(), "\n", endOfLine) + wrap + rest
		if page == drawn {
			return nil
		}
		drawn = page
		return a.write(page)
	}
}

// tell returns what writes, of groups, the lines that differ from those before.
func (a *app) tell() func(views []groupView, silence string) error {
	told := map[string]string{}
	quiet := ""
	return func(views []groupView, silence string) error {
		p := a.page()
		if silence != quiet {
			text := silence
			if silence == "" {
				text = "Everything is known again."
			}
			p.Line(screen.Text(screen.Clock(a.now())), screen.Text(text))
			quiet = silence
		}
		now := stateOf(views)
		for about := range told {
			if _, still := now[about]; !still {
				now[about] = isGone
			}
		}
		for _, about := range slices.Sorted(maps.Keys(now)) {
			if text := now[about]; told[about] != text {
				p.Line(screen.Text(screen.Clock(a.now())), screen.Text(about), screen.Text(text))
			}
		}
		told = now
		maps.DeleteFunc(told, func(_, text string) bool { return text == isGone })
		return a.print(p)
	}
}

const isGone = "is gone"

// stateOf says how groups and their zones stand, each in one line.
func stateOf(views []groupView) map[string]string {
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
	return state
}
