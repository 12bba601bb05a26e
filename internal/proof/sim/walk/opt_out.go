package walk

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// optOut makes the namespace of a group opt out for a time. Meanwhile no client scales its zones down or evicts its
// pods, because nothing guards them.
func (w *walk) optOut(g *simulatedGroup, s Step) {
	namespace := g.key.Namespace
	if w.optedOut[namespace] || w.now >= w.schedule.FaultsEnd {
		return
	}
	w.traceAll("namespace", namespace, "opts out")
	w.setOptedOut(namespace, true)
	w.after(min(s.Duration, w.schedule.FaultsEnd-w.now), func() {
		w.traceAll("namespace", namespace, "opts in")
		w.setOptedOut(namespace, false)
	})
}

func (w *walk) setOptedOut(namespace string, out bool) {
	w.optedOut[namespace] = out
	for _, p := range w.processes {
		p.after(p.watchLag(), func() { p.showNamespace(namespace, !w.optedOut[namespace]) })
	}
}

// showNamespace shows a process whether a namespace is managed, as Operator.namespaceChanged.
func (p *process) showNamespace(namespace string, managed bool) {
	object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if managed {
		must(p.observer.PutInCache(object))
	} else {
		must(p.observer.RemoveFromCache(object))
		p.fresh.ForgetBut(namespace, p.observer.Groups(namespace))
	}
	for g := range p.groupsOf(namespace) {
		p.enqueue(g.no)
	}
}

// forgetUnled drops what a process that does not lead knows of a group that its caches do not show, as
// Operator.forgetUnled.
func (p *process) forgetUnled(g *simulatedGroup) {
	if !p.observer.Has(g.key) {
		p.forget(g)
	}
}

// forget drops what a process knows of a group, as Controller.Forget. The history forgets nothing: what a live read has
// shown still counts.
func (p *process) forget(g *simulatedGroup) {
	if !reflect.DeepEqual(p.progress[g.no].shown, p.shownByCaches(g)) {
		p.report.Faults[groupsForgotten]++
	}
	p.fresh.Forget(g.key)
}

// reviews reports whether an answer of a webhook is a review. A process that sees the namespace as one that has opted
// out allows everything; the walk ends such a request, because the label counts once each process that answers sees it.
func (p *process) reviews(g *simulatedGroup, answer reason.Code) bool {
	return answer != reason.NotManaged || p.observer.Managed(g.key.Namespace)
}
