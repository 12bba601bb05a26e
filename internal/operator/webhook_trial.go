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

// trialLimit bounds one request of a trial: the API server may wait 10 s for a
// webhook.
const trialLimit = 15 * time.Second

// trial asks the API server for downscales in a dry run, to see that it can ask us:
// what no configuration shows, such as a Service without endpoints, or a network
// policy. A webhook whose failures are ignored shows nothing that way. Both requests
// are ones that we refuse, whatever the state of the cluster. They need no right
// that package act does not have anyway.
type trial struct {
	client kubernetes.Interface
	// hooks are our webhooks of a kind that call a path.
	hooks func(kind cabundle.Kind, path string) []cabundle.Hook
	// guarded finds a StatefulSet with replicas that a path guards.
	guarded func(path string) (found triedSet, ok bool)
}

// triedSet is a StatefulSet that a trial would shrink.
type triedSet struct {
	namespace, name string
	replicas        int
}

// run returns what is wrong; nothing where nobody can tell.
func (t trial) run(ctx context.Context) []cabundle.Fault {
	return slices.Concat(
		t.try(ctx, cabundle.Validating, admission.NoDownscalePath, `{"spec":{"replicas":%d}}`),
		// The version is an old one: such a downscale never succeeds, and those who
		// change objects are asked before the API server compares.
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
	return nil // it was asked, or need not be here: nothing says which
}

// trial makes one that asks about what this process knows.
func (w *webhooks) trial() trial {
	return trial{client: w.operator.clients.work, hooks: w.injector.Hooks, guarded: w.guarded}
}

// guarded finds a StatefulSet of a group that would be refused to shrink.
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
