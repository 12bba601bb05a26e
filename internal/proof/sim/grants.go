package sim

// grantsAge lets enough time pass that no API server can carry out an eviction any more.
// That time cannot pass while an eviction is still under way.
func (e *explorer) grantsAge(w *world, see visit) {
	for slot, noted := range w.lease.intents {
		if noted.grant == ownDisruption || noted.grant == timeOver || w.pods[slot].born != noted.born && !e.config.Unbound {
			continue
		}
		comes := false
		for i := range w.evictors {
			ev := &w.evictors[i]
			same := int(ev.slot) == slot && ev.born == noted.born
			comes = comes || (same && ev.at == underway && ev.version == 0)
		}
		if !comes || e.rules.Impatient {
			see(w.age(slot, timeOver, "nobody can carry out the eviction of "+podNames[slot]+" any more"))
		}
	}
}

// age makes every record of a pod's grant older, except the records under which a webhook
// is reading a group live: the webhook determined their age before. A younger grant than
// the one in the Lease is another grant, which is about to be written.
func (w *world) age(slot int, to grant, what string) *move {
	m := &move{next: *w, fair: true, line: func() string { return what }}
	for _, l := range m.next.leases() {
		if i := &l.intents[slot]; i.grant >= w.lease.intents[slot].grant {
			i.grant = max(i.grant, to)
		}
	}
	for i := range m.next.evictors {
		if ev := &m.next.evictors[i]; ev.at == leaseRead || ev.at == zonesReadToo || ev.at == confirmingZones {
			ev.paper = w.evictors[i].paper
		}
	}
	return m
}

// over returns the pods whose granted evictions no API server can carry out any more.
func (l *lease) over() (set slots) {
	for slot, i := range l.intents {
		if i.grant == timeOver {
			set = set.with(slot)
		}
	}
	return set
}

// asOf returns the record as it was known when only these grants were over.
func (l lease) asOf(over slots) lease {
	for slot := range l.intents {
		if i := &l.intents[slot]; i.grant == timeOver && !over.has(slot) {
			i.grant = justGranted
		}
	}
	return l
}
