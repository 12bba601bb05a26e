package sim

import "math/rand/v2"

// Draw returns the configuration of a small world that is made from a seed: nobody has chosen
// what meets in it.
//
// Some things do not meet. A zone whose StatefulSet is made anew does not shrink besides, since
// downscales are noted with a UID that is the same for all of them here. Pods of a zone without
// its label are not evicted, which nobody guards once that zone is forgotten.
func Draw(seed uint64) Config {
	d := drawing{Rand: rand.New(rand.NewPCG(seed, 0))}
	d.Zones, d.Replicas, d.Budget, d.Operators = 1+d.IntN(2), 1+d.IntN(2), 1, 1
	if d.Replicas > 1 && d.oneIn(3) {
		d.Budget = 2
	}
	for range d.Zones {
		d.Templates = append(d.Templates, 1+d.IntN(2))
	}
	for range 1 + d.IntN(3) {
		d.addTrack(d.IntN(d.Zones))
	}
	if d.count(Evict) > 0 {
		d.Queue, d.Unbound = d.oneIn(3), d.oneIn(5)
		if d.oneIn(4) {
			d.Standby = 1
		}
	}
	for range d.IntN(3) {
		d.addAccident()
	}
	return d.Config
}

// drawing is a configuration that is being drawn.
type drawing struct {
	*rand.Rand
	Config
}

func (d *drawing) oneIn(n int) bool { return d.IntN(n) == 0 }

// count returns how many tracks have an edit of that kind.
func (d *drawing) count(kind EditKind) int {
	n := 0
	for _, track := range d.Tracks {
		if track[0].Kind == kind {
			n++
		}
	}
	return n
}

// has reports whether a track has one of some edits of a zone.
func (d *drawing) has(zone int, kinds ...EditKind) bool {
	for _, track := range d.Tracks {
		for _, kind := range kinds {
			if track[0].Zone == zone && track[0].Kind == kind {
				return true
			}
		}
	}
	return false
}

// addTrack adds what a user does with a zone, if it may meet what there is.
func (d *drawing) addTrack(zone int) {
	size := d.IntN(min(d.Replicas+2, maxPods+1))
	leaves := d.has(zone, Orphan, Unlabel)
	resizes := d.has(zone, Scale, Shrink, Force)
	switch d.IntN(9) {
	case 0:
		d.add(Edit{Template, zone, 2 + d.IntN(2)})
	case 1:
		d.add(Edit{Pause, zone, 0}, Edit{Resume, zone, 0})
	case 2, 3:
		if !leaves {
			d.add(Edit{Scale, zone, size}, Edit{Scale, zone, d.Replicas})
		}
	case 4:
		if d.count(Shrink) < maxAskers && !leaves && size < d.Replicas {
			d.add(Edit{Shrink, zone, size})
		}
	case 5:
		if !leaves {
			d.add(Edit{Force, zone, size})
		}
	case 6:
		if !leaves && !resizes {
			d.add(Edit{Orphan, zone, 0}, Edit{Apply, zone, 0})
		}
	case 7:
		if !leaves && !resizes && !d.has(zone, Evict) {
			d.add(Edit{Unlabel, zone, 0}, Edit{Relabel, zone, 0})
		}
	default:
		if d.count(Evict) < maxEvictors && !d.has(zone, Unlabel) {
			d.add(Edit{Evict, zone, d.IntN(d.Replicas)})
		}
	}
}

func (d *drawing) add(track ...Edit) { d.Tracks = append(d.Tracks, track) }

// addAccident adds something that need not happen.
func (d *drawing) addAccident() {
	accidents := []*int{&d.Crashes, &d.Losses, &d.Churn, &d.Kills, &d.Lost, &d.Late, &d.Minutes, &d.Vetoes}
	*accidents[d.IntN(len(accidents))] = 1
	d.OldCaches = d.Kills > 0 && d.oneIn(2)
}
