package sim

// ageGrants lets enough time pass that no API server can carry out a granted eviction any more.
// That time cannot pass while an API server is still processing the eviction.
func (e *explorer) ageGrants(w *world, yield moveFunc) {
	for slot, intent := range w.lease.intents {
		if intent.grant == noGrant || intent.grant == expiredGrant || w.pods[slot].uid != intent.uid && !e.config.Unbound {
			continue
		}
		inFlight := false
		for i := range w.evictionClients {
			ev := &w.evictionClients[i]
			samePod := int(ev.slot) == slot && ev.uid == intent.uid
			inFlight = inFlight || (samePod && ev.state == evictionAllowed && ev.version == 0)
		}
		if !inFlight || e.deviations.GrantsEndedEarly {
			yield(w.ageGrant(slot, expiredGrant, "no API server can carry out the eviction of "+podNames[slot]+" any more"))
		}
	}
}

// ageGrant makes a grant older in every record of it. Exceptions are the records under which a
// webhook is reading the group live: the webhook determined their age before the read. A younger
// grant than the one in the Lease is a different grant, which is about to be written.
func (w *world) ageGrant(slot int, to grant, what string) *move {
	m := &move{next: *w, fair: true, describe: func() string { return what }}
	for _, l := range m.next.leases() {
		if i := &l.intents[slot]; i.grant >= w.lease.intents[slot].grant {
			i.grant = max(i.grant, to)
		}
	}
	for i := range m.next.evictionClients {
		if ev := &m.next.evictionClients[i]; ev.state == evictionLeaseRead || ev.state == evictionZonesRead || ev.state == evictionConfirming {
			ev.record = w.evictionClients[i].record
		}
	}
	return m
}

// expiredGrants returns the pods whose granted evictions no API server can carry out any more.
func (l *lease) expiredGrants() (set slots) {
	for slot, i := range l.intents {
		if i.grant == expiredGrant {
			set = set.with(slot)
		}
	}
	return set
}

// withExpired returns the record in which only these grants are expired.
func (l lease) withExpired(expired slots) lease {
	for slot := range l.intents {
		if i := &l.intents[slot]; i.grant == expiredGrant && !expired.has(slot) {
			i.grant = freshGrant
		}
	}
	return l
}
