package main

import (
	"fmt"
	"strings"
	"time"
)

// view draws the state as lines of text: a headline, a legend, and for each namespace the holder of
// its group and a bar for each zone.
type view struct {
	style style
	width int // columns
}

// snapshot is everything that one frame draws.
type snapshot struct {
	state      *clusterState
	measures   *measures
	waits      map[string]groupWaits // by namespace
	violations []violation
	now        time.Time
}

const headline = "lockstep replaces every pod of a group: zone by zone, one pod at a time"

func (v view) draw(s snapshot) []string {
	lines := []line{
		v.headline(s),
		v.legend(),
	}
	for _, n := range s.state.namespaces {
		lines = append(lines, line{}, v.namespace(n))
		for _, z := range n.zones {
			lines = append(lines, v.zone(s, n, z))
		}
	}
	for _, broken := range s.violations {
		lines = append(lines, line{{"VIOLATED  " + broken.String(), red}})
	}
	painted := make([]string, len(lines))
	for i, l := range lines {
		painted[i] = v.style.paint(l, v.width)
	}
	return painted
}

func (v view) headline(s snapshot) line {
	passed := s.now.Sub(s.measures.began).Truncate(time.Second)
	return line{{fmt.Sprintf("%3.0f s  ", passed.Seconds()), faint}, {headline, bold}}
}

func (v view) legend() line {
	y := v.style.symbols
	return line{
		{y.outdated, faint}, {" old   ", faint},
		{y.missing, yellow}, {" terminating or missing   ", faint},
		{y.starting, cyan}, {" starting   ", faint},
		{y.updated, green}, {" new and Ready", faint},
	}
}

func (v view) namespace(n *namespace) line {
	dot := " " + v.style.symbols.separator + " "
	if !n.optedIn {
		return line{{n.name, bold}, {dot + "did not opt in" + dot + "must stay as it is", plain}}
	}
	opted := line{{n.name, bold}, {dot + "opted in" + dot, plain}}
	switch holder := n.holder(); {
	case holder == "":
		return append(opted, span{"Lease free", plain})
	case n.intents() == 0:
		return append(opted, span{"Lease held by ", plain}, span{v.short(holder), cyan})
	default:
		return append(opted, span{"Lease held by ", plain}, span{v.short(holder), cyan},
			span{", " + counted(n.intents(), "intent"), plain})
	}
}

func (v view) zone(s snapshot, n *namespace, z *zone) line {
	l := line{{"  " + v.short(z.name) + "  ", plain}}
	l = append(l, v.bar(z.updatedPods(), z.replicas)...)
	l = append(l, span{fmt.Sprintf("%d/%d  ", z.updatedPods(), z.replicas), plain})
	for i := range z.replicas {
		l = append(l, v.pod(z, z.pods[z.podName(i)]))
	}
	return append(l, span{"  ", plain}, v.remark(s, n, z))
}

// short omits the common part of zone and pod names in a narrow view.
func (v view) short(text string) string {
	if v.width < withFullNames {
		return strings.ReplaceAll(text, groupName+"-zone-", "zone-")
	}
	return text
}

func (v view) bar(done, all int) line {
	width := v.barWidth()
	if width == 0 {
		return nil
	}
	full := width * done / max(all, 1)
	return line{
		{strings.Repeat(v.style.symbols.full, full), green},
		{strings.Repeat(v.style.symbols.empty, width-full) + "  ", faint},
	}
}

// These are the widths in columns from which on more is drawn.
const (
	withBars      = 50
	withFullNames = 72
	withLongBars  = 100
	withCodes     = 110
)

func (v view) barWidth() int {
	switch {
	case v.width >= withLongBars:
		return 24
	case v.width >= withBars:
		return 12
	}
	return 0
}

func (v view) pod(z *zone, p pod) span {
	y := v.style.symbols
	switch {
	case p.name == "" || p.terminating:
		return span{y.missing, yellow}
	case !p.ready:
		return span{y.starting, cyan}
	case z.isUpdated(p):
		return span{y.updated, green}
	}
	return span{y.outdated, faint}
}

// remark returns what a zone waits for, or that it is done.
func (v view) remark(s snapshot, n *namespace, z *zone) span {
	if !n.optedIn {
		return span{}
	}
	if z.finished() {
		return span{"done in " + seconds(s.measures.zone(n.name, z.name).took()), green}
	}
	because, waiting := s.waits[n.name].zones[z.name]
	if !waiting {
		return span{}
	}
	text := "waits: " + v.short(because.String())
	if v.width >= withCodes && !strings.Contains(text, because.code) {
		text += " (" + because.code + ")"
	}
	if because.isOtherZone() {
		return span{text, faint}
	}
	return span{text, plain}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
