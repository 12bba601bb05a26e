package cli

import (
	"context"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	dates "github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// cluster is what the flags of kubectl lead to.
type cluster struct {
	namespace string // of which is spoken
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	config    *rest.Config
	http      *http.Client
	atLeast   *clock           // for pauses and holds, which must not be over too soon: answers of the API server alone tell it
	date      func() time.Time // for all else: as the operator has it, by this machine until there is an answer
	hearing   *hearing
	warn      func(string)
}

// actor is written on a Lease, for people.
const actor = "kubectl-lockstep"

func connect(config *rest.Config, namespace, version string, warn func(string)) (*cluster, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = actor + "/" + version
	config.QPS = -1 // the API server's fairness is the only limit
	config.WarningHandler = rest.NoWarnings{}
	found, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	date := dates.New()
	told := &clock{next: date.Watch(found)}
	heard := &hearing{next: told, of: map[string]heard{}}
	c := &cluster{
		namespace: namespace, config: config, http: &http.Client{Transport: heard, Timeout: config.Timeout}, atLeast: told, date: date.Now, hearing: heard, warn: warn,
	}
	if c.client, err = kubernetes.NewForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	return c, nil
}

// eyes are the operator's own, for one namespace or, where it is empty, for all.
type eyes struct {
	*observe.Observer
	holds *lease.Store
}

func (c *cluster) open(namespace string, scales observe.Scales, known *budgetList) (eyes, error) {
	holds := lease.NewStore(c.client, namespace, actor)
	seen, err := observe.New(c.client, holds, observe.Options{
		Namespace: namespace, Selector: labels.Everything(), Scales: scales, Budgets: known, Now: c.date, Uncached: true,
	})
	return eyes{seen, holds}, err
}

// group returns the key of a group of the namespace of which is spoken.
func (c *cluster) group(name string) plan.Key {
	return plan.Key{Namespace: c.namespace, Name: name}
}

// look reads a group once, as the operator does before it acts. Nothing goes on after
// it. What pods answered is known as far as the hold notes it.
func (c *cluster) look(ctx context.Context, key plan.Key) (plan.Snapshot, error) {
	known := c.budgets(ctx, key.Namespace)
	seen, err := c.open(key.Namespace, nil, known)
	if err != nil {
		return plan.Snapshot{}, err
	}
	s, err := seen.Live(ctx, key)
	if err != nil {
		return plan.Snapshot{}, allowed(err)
	}
	if wanted := references(s); len(wanted) > 0 {
		scales, end, err := c.scales(ctx, key.Namespace, wanted)
		if err != nil {
			return s, err
		}
		defer end()
		if seen, err = c.open(key.Namespace, ownSight{scales}, known); err != nil {
			return plan.Snapshot{}, err
		}
		if s, err = seen.Live(ctx, key); err != nil {
			return plan.Snapshot{}, allowed(err)
		}
	}
	return s.AsNoted(), nil
}

// existing reads a group that has to exist.
func (c *cluster) existing(ctx context.Context, key plan.Key) (plan.Snapshot, error) {
	s, err := c.look(ctx, key)
	if err == nil && !exists(s) {
		return s, c.unknownGroup(ctx, key)
	}
	return s, err
}

func exists(s plan.Snapshot) bool { return len(s.Zones) > 0 || s.Hold.Exists }

// allowed adds to a refusal what would have to be allowed.
func allowed(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w\n(kubectl lockstep reads pods, StatefulSets and Leases of the namespace; docs/kubectl.md has a role)", err)
	}
	return err
}

// optedIn reports whether lockstep works in a namespace as far as a person may know:
// the second result is false where he may not read it.
func (c *cluster) optedIn(ctx context.Context, namespace string, selector labels.Selector) (in, known bool) {
	found, err := c.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return false, false
	}
	return selector.Matches(labels.Set(found.Labels)), true
}
