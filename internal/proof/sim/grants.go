package sim

// ageGrants lets enough time pass that no API server can carry out an eviction any more.
// That time cannot pass while an eviction is still under way.
func (e *explorer) ageGrants(w *world, yield moveFunc) {
	for slot, noted := range w.lease.intents {
		if noted.grant == noGrant || noted.grant == expiredGrant || w.pods[slot].uid != noted.uid && !e.config.Unbound {
			continue
		}
		comes := false
		for i := range w.evictionClients {
			ev := &w.evictionClients[i]
			same := int(ev.slot) == slot && ev.uid == noted.uid
			comes = comes || (same && ev.state == evictionAllowed && ev.version == 0)
		}
		if !comes || e.deviations.GrantsEndedEarly {
			yield(w.ageGrant(slot, expiredGrant, "nobody can carry out the eviction of "+podNames[slot]+" any more"))
		}
	}
}

// ageGrant makes every record of a pod's grant older, except the records under which a webhook
// is reading a group live: the webhook determined their age before. A younger grant than
// the one in the Lease is another grant, which is about to be written.
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

// withExpired returns the record as it was known when only these grants were over.
func (l lease) withExpired(expired slots) lease {
	for slot := range l.intents {
		if i := &l.intents[slot]; i.grant == expiredGrant && !expired.has(slot) {
			i.grant = freshGrant
		}
	}
	return l
}
