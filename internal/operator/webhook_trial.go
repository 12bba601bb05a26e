package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/internal/control/cabundle"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// trialLimit limits a request of a trial: the API server may wait 10 s for a webhook.
const trialLimit = 15 * time.Second

// trial requests downscales from the API server as a dry run, to find out whether the API server
// can call lockstep. This detects faults that no configuration shows, such as a Service without
// endpoints or a network policy. If failures of a webhook are ignored, the trial cannot detect
// them. lockstep refuses both requests whatever the state of the cluster. They need no permission
// that package act does not need.
type trial struct {
	client kubernetes.Interface
	// hooks returns lockstep's webhooks of a kind that call a path.
	hooks func(kind cabundle.Kind, path string) []cabundle.Hook
	// guarded returns a StatefulSet with replicas that a path guards.
	guarded func(path string) (found triedSet, ok bool)
}

// triedSet is a StatefulSet that a trial requests to scale down.
type triedSet struct {
	namespace, name string
	replicas        int
}

// run returns the faults. It returns none if they cannot be determined.
func (t trial) run(ctx context.Context) []cabundle.Fault {
	return slices.Concat(
		t.try(ctx, cabundle.Validating, admission.NoDownscalePath, `{"spec":{"replicas":%d}}`),
		// The version is outdated, so that such a downscale never succeeds. The API server calls
		// mutating webhooks before it compares versions.
		t.try(ctx, cabundle.Mutating, admission.PrepareDownscalePath, `{"metadata":{"resourceVersion":"1"},"spec":{"replicas":%d}}`),
	)
}

func (t trial) try(ctx context.Context, kind cabundle.Kind, path, patch string) []cabundle.Fault {
	hooks := t.hooks(kind, path)
	if len(hooks) == 0 {
		return nil
	}
	set, ok := t.guarded(path)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trialLimit)
	defer cancel()
	_, err := t.client.AppsV1().StatefulSets(set.namespace).Patch(ctx, set.name, types.MergePatchType,
		fmt.Appendf(nil, patch, set.replicas-1), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	for _, hook := range hooks {
		if err != nil && strings.Contains(err.Error(), fmt.Sprintf("failed calling webhook %q", hook.Name)) {
			about := fmt.Sprintf("cannot be called, as a dry run of shrinking %s in %s showed: %s", set.name, set.namespace, err)
			return []cabundle.Fault{{Kind: cabundle.FaultUnreachable, Key: hook.Key, Webhook: hook.Name, What: about}}
		}
	}
	return nil // it was called, or it need not be
}

// trial returns a trial that uses the caches of this process.
func (w *webhooks) trial() trial {
	return trial{client: w.operator.clients.work, hooks: w.injector.Hooks, guarded: w.guarded}
}

// guarded returns a StatefulSet of a group whose scale-down would be refused.
func (w *webhooks) guarded(path string) (triedSet, bool) {
	observer := w.operator.observer
	groups := observer.Groups("")
	slices.SortFunc(groups, func(a, b plan.Key) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range groups {
		for _, zone := range observer.Cached(key).Zones {
			set, known := observer.Set(key.Namespace, zone.Name)
			if known && zone.Replicas > 0 && (path == admission.PrepareDownscalePath || set.NoDownscale) {
				return triedSet{key.Namespace, zone.Name, zone.Replicas}, true
			}
		}
	}
	return triedSet{}, false
}
