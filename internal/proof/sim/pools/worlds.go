package pools

import "github.com/lockstep-dev/lockstep/internal/plan/pool"

// Worlds are the small worlds that are explored.
func Worlds() []World {
	keeps := pool.KeepPolicy{OnDelete: true, OnEviction: true}
	return []World{
		{Name: "one pod is born while requests fail and a process restarts", Replicas: 1, Faults: 2, Restarts: 1},
		{Name: "two pods are born while a request fails", Replicas: 2, Faults: 1},
		{Name: "three pods serve, and a person asks for one and for three again", Replicas: 3, Settled: true, People: []Incident{asksFor(1), asksFor(3)}},
		{Name: "two pods serve, a person asks for one and for two, and a request fails", Replicas: 2, Settled: true, People: []Incident{asksFor(1), asksFor(2)}, Faults: 1},
		{Name: "the claims of pods that leave are deleted", Replicas: 2, Settled: true, Deletes: true, People: []Incident{asksFor(1), asksFor(2)}, Faults: 1},
		{Name: "the template changes twice and pods are updated in place", Replicas: 2, Settled: true, People: []Incident{changesTemplate(1), changesTemplate(1)}},
		{Name: "the template changes and identities are handed over while a request fails", Replicas: 2, Settled: true, Policy: pool.RecreateKeepIdentity, People: []Incident{changesTemplate(2)}, Faults: 1},
		{Name: "identities get more claims while a request fails", Replicas: 2, Settled: true, Template: dataOnly, People: []Incident{changesTemplate(dataOnly)}, Faults: 1},
		{Name: "a person deletes a claim while its template is dropped", Replicas: 1, Settled: true, People: []Incident{changesTemplate(dataOnly), deletesAClaim(), changesTemplate(dataOnly)}},
		{Name: "a new claim is refused and the template goes back", Replicas: 1, Settled: true, Template: dataOnly, People: []Incident{refusesClaims(), changesTemplate(dataOnly), changesTemplate(dataOnly)}},
		{Name: "a person deletes a pod whose new claim is refused", Replicas: 1, Settled: true, Template: dataOnly, People: []Incident{refusesClaims(), changesTemplate(dataOnly), deletesPod(), changesTemplate(dataOnly)}},
		{Name: "a template asks for no claims and for them again while a request fails", Replicas: 1, Settled: true, Template: dataOnly, Earlier: []Incident{changesTemplate(withoutClaims)}, People: []Incident{changesTemplate(withoutClaims)}, Faults: 1},
		{Name: "a person deletes a pod during a hand-over to a template without claims", Replicas: 1, Settled: true, Template: dataOnly, Keep: keeps, People: []Incident{changesTemplate(withoutClaims), deletesPod(), changesTemplate(withoutClaims)}},
		{Name: "a pod whose new claim is refused becomes an orphan, and the template goes back", Replicas: 1, Settled: true, Template: dataOnly, Earlier: []Incident{refusesClaims(), changesTemplate(dataOnly)}, People: []Incident{orphansPods(), changesTemplate(dataOnly)}},
		{Name: "pods become orphans while a request fails", Replicas: 2, Settled: true, Template: dataOnly, People: []Incident{orphansPods()}, Faults: 1},
		{Name: "the template changes and new identities take the places", Replicas: 2, Settled: true, Policy: pool.Recreate, People: []Incident{changesTemplate(2), asksFor(1)}},
		{Name: "updates stop during a surge, and a person asks for fewer", Replicas: 2, Settled: true, Policy: pool.Recreate, Surge: true, People: []Incident{changesTemplate(2), keepsOutdated(2), asksFor(1)}},
		{Name: "a person deletes a pod during a hand-over", Replicas: 2, Settled: true, Policy: pool.RecreateKeepIdentity, People: []Incident{changesTemplate(2), deletesPod()}},
		{Name: "identities are kept although a person deletes their pods", Replicas: 2, Settled: true, Keep: keeps, People: []Incident{deletesPod(), deletesPod()}, Faults: 1},
		{Name: "a claim is deleted while its identity is kept", Replicas: 1, Settled: true, Keep: keeps, People: []Incident{deletesPod(), deletesAClaim()}, Faults: 1},
		{Name: "two evictions while a request fails", Replicas: 2, Settled: true, Evictions: 2, Faults: 1},
		{Name: "evictions during an update", Replicas: 3, Settled: true, Evictions: 2, People: []Incident{changesTemplate(1)}},
		{Name: "an eviction while a person asks for fewer", Replicas: 2, Settled: true, Evictions: 1, People: []Incident{asksFor(1), asksFor(2)}, Pauses: 1},
		{Name: "evicted pods keep their identities", Replicas: 2, Settled: true, Keep: keeps, Evictions: 2},
		{Name: "a node falls silent, is gone and comes back", Replicas: 3, Settled: true, Nodes: 3, People: []Incident{silences("node-0"), removes("node-0"), returns("node-0")}},
		{Name: "two nodes fall silent", Replicas: 3, Settled: true, Nodes: 3, People: []Incident{silences("node-0"), silences("node-1"), returns("node-0")}},
		{Name: "all nodes are shut down in order, and a request fails", Replicas: 2, Settled: true, Nodes: 2, People: []Incident{shutsDown("node-0"), shutsDown("node-1")}, Faults: 1},
		{Name: "a process sleeps while a person asks for fewer and for more", Replicas: 2, Settled: true, People: []Incident{asksFor(1), asksFor(2)}, Pauses: 1, Restarts: 1},
		{Name: "resources and the image change, and the template goes back", Replicas: 2, Settled: true, People: []Incident{changesTemplate(withMoreCPU | 1), changesTemplate(withMoreCPU | 1)}},
		{Name: "resources change after a grace period while a request fails", Replicas: 2, Settled: true, Grace: true, People: []Incident{changesTemplate(withMoreCPU)}, Faults: 1, Pauses: 2},
		{Name: "an update after a grace period becomes impossible in place while a request fails", Replicas: 2, Settled: true, Grace: true, Policy: pool.InPlaceOnly, People: []Incident{changesTemplate(withMoreCPU), changesTemplate(2)}, Faults: 1, Pauses: 2},
		{Name: "a person asks for fewer while a pod is updated after a grace period", Replicas: 2, Settled: true, Grace: true, People: []Incident{changesTemplate(1), asksFor(1)}, Evictions: 1, Pauses: 2},
		{Name: "pods break during an update", Replicas: 3, Settled: true, People: []Incident{changesTemplate(1)}, Breaks: 2},
	}
}
