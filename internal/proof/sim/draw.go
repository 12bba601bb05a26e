package sim

import "math/rand/v2"

// Draw returns the configuration of a small world, made from a seed. Its events are combined at
// random.
//
// Some combinations are excluded. A zone whose StatefulSet is created again is not also scaled
// down, because recorded downscales have the same UID for every StatefulSet of a zone here.
// Pods of a zone without its label are not evicted, because no guard protects them once the
// hold has forgotten that zone.
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
		d.addFault()
	}
	return d.Config
}

// drawing is a configuration that is being drawn.
type drawing struct {
	*rand.Rand
	Config
}

func (d *drawing) oneIn(n int) bool { return d.IntN(n) == 0 }

// count returns the number of tracks that begin with an edit of that kind.
func (d *drawing) count(kind EditKind) int {
	n := 0
	for _, track := range d.Tracks {
		if track[0].Kind == kind {
			n++
		}
	}
	return n
}

// has reports whether a track of the zone begins with an edit of one of these kinds.
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

// addTrack adds edits of a zone by a user, unless they must not be combined with those of other
// tracks.
func (d *drawing) addTrack(zone int) {
	size := d.IntN(min(d.Replicas+2, maxPods+1))
	absent := d.has(zone, Orphan, Unlabel)
	resizes := d.has(zone, Scale, Downscale, ForceReplicas)
	switch d.IntN(9) {
	case 0:
		d.add(Edit{Template, zone, 2 + d.IntN(2)})
	case 1:
		d.add(Edit{Pause, zone, 0}, Edit{Resume, zone, 0})
	case 2, 3:
		if !absent {
			d.add(Edit{Scale, zone, size}, Edit{Scale, zone, d.Replicas})
		}
	case 4:
		if d.count(Downscale) < maxDownscaleClients && !absent && size < d.Replicas {
			d.add(Edit{Downscale, zone, size})
		}
	case 5:
		if !absent {
			d.add(Edit{ForceReplicas, zone, size})
		}
	case 6:
		if !absent && !resizes {
			d.add(Edit{Orphan, zone, 0}, Edit{Recreate, zone, 0})
		}
	case 7:
		if !absent && !resizes && !d.has(zone, Evict) {
			d.add(Edit{Unlabel, zone, 0}, Edit{Relabel, zone, 0})
		}
	default:
		if d.count(Evict) < maxEvictionClients && !d.has(zone, Unlabel) {
			d.add(Edit{Evict, zone, d.IntN(d.Replicas)})
		}
	}
}

func (d *drawing) add(track ...Edit) { d.Tracks = append(d.Tracks, track) }

// addFault adds an event that happens at most once.
func (d *drawing) addFault() {
	faults := []*int{&d.Crashes, &d.PodDeletes, &d.PodUpdates, &d.Kills, &d.LostRequests, &d.LateRequests, &d.Expiries, &d.Vetoes}
	*faults[d.IntN(len(faults))] = 1
	d.OldCaches = d.Kills > 0 && d.oneIn(2)
}
