package walk

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

const (
	// webhookLimit is the timeout of the API server for a webhook.
	webhookLimit = 30 * time.Second
	// requestLimit is the timeout of the API server for a request.
	requestLimit = 34 * time.Second
)

// answer is the answer of a webhook, with the versions that the API server had shown the webhook.
type answer struct {
	allowed    bool
	reason     reason.Code // of an eviction
	shown      shownVersions
	downscaled time.Time // the time of a downscale, written to its zone
}

// callWebhook makes the API server call the webhook of any live process. If the process does not
// answer in time, the API server refuses the request.
func (w *walk) callWebhook(call func(p *process, done func(answer)), then func(answer)) {
	p := w.anyProcess()
	if p == nil {
		w.after(time.Second, func() { then(answer{}) })
		return
	}
	answered := false
	once := func(a answer) {
		if !answered {
			answered = true
			then(a)
		}
	}
	w.after(webhookLimit, func() { once(answer{}) })
	p.after(w.latency(), func() {
		call(p, func(a answer) { w.after(w.latency(), func() { once(a) }) })
	})
}

// anyProcess returns a random process that the API server believes to serve webhooks: a process that
// sleeps counts.
func (w *walk) anyProcess() *process {
	var all []*process
	for _, p := range w.processes {
		if !p.dead {
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[w.chance.IntN(len(all))]
}

// admit makes the webhook prepare-downscale review a downscale: an update of the zone, or of its
// scale. Only the answer to an update of the zone contains a patch.
func (p *process) admit(g *simulatedGroup, request group.DownscaleRequest, done func(answer)) {
	change := changeOf(g, request)
	if p.chance.IntN(2) == 0 {
		change.Subresource = "scale"
		change.Old.Labels, change.New.Labels, change.New.Annotations = nil, nil, nil
	}
	p.runReview(g, func(ctx context.Context, r *review) admission.Verdict {
		webhook := &admission.PrepareDownscale{Observer: r.view(), Holds: r.holds(), Locks: r.turns, Log: r.log, Clock: r}
		return webhook.Judge(ctx, change)
	}, func(v admission.Verdict, shown shownVersions) {
		done(answer{allowed: v.Allowed && p.reviews(g, v.Reason), shown: shown, downscaled: downscaledTime(v.Patch)})
	})
}

// changeOf returns a request for a downscale as an update of the zone.
func changeOf(g *simulatedGroup, request group.DownscaleRequest) admission.Change {
	labels := map[string]string{contract.GroupLabel: g.key.Name}
	object := admission.Object{UID: request.UID, Version: request.Version.String(), Labels: labels, Annotations: map[string]string{}}
	return admission.Change{
		Group: "apps", Resource: "statefulsets", Namespace: g.key.Namespace, Name: request.Zone,
		From: new(int32(request.From)), To: new(int32(request.To)), Old: object, New: object,
	}
}

// downscaledTime returns the time of the downscale that a patch adds to a zone; the zero time if the
// patch adds none.
func downscaledTime(patch []byte) time.Time {
	var at time.Time
	for _, value := range addedValues(patch) {
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			panic(fmt.Sprintf("walk: the patch %s of a zone: %v", patch, err))
		}
		at = contract.Downscaled(map[string]string{contract.DownscaledAnnotation: text}).Time
	}
	return at
}

// addedValues returns the values that a JSON patch adds, by path.
func addedValues(patch []byte) map[string]json.RawMessage {
	if len(patch) == 0 {
		return nil
	}
	var operations []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(patch, &operations); err != nil {
		panic(fmt.Sprintf("walk: the patch %s: %v", patch, err))
	}
	values := map[string]json.RawMessage{}
	for _, o := range operations {
		values[o.Path] = o.Value
	}
	return values
}
