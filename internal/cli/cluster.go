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
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	dates "github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/lock/lease"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// cluster is the cluster that kubectl's flags select.
type cluster struct {
	namespace string // the namespace of the command
	client    kubernetes.Interface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	config    *rest.Config
	http      *http.Client
	atLeast   *clock           // for pauses and holds, which must not end too early: from responses of the API server only
	date      func() time.Time // for everything else, as in the operator: the local time until there is a response
	staleness *staleness
	warn      func(string)
}

// actor is the writer's name in Leases.
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
	serverClock := &clock{next: date.Watch(found)}
	transport := &staleness{next: serverClock, of: map[string]heartbeat{}}
	c := &cluster{
		namespace: namespace, config: config, http: &http.Client{Transport: transport, Timeout: config.Timeout}, atLeast: serverClock, date: date.Now, staleness: transport, warn: warn,
	}
	if c.client, err = kubernetes.NewForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, c.http); err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	if c.metadata, err = metadata.NewForConfigAndClient(metadata.ConfigFor(config), c.http); err != nil {
		return nil, fmt.Errorf("make Kubernetes client: %w", err)
	}
	return c, nil
}

// observer is the operator's observer for one namespace or, if that is empty, for all.
type observer struct {
	*observe.Observer
	holds *lease.Store
}

func (c *cluster) open(namespace string, scales observe.Scales, known *budgetList) (observer, error) {
	holds := lease.NewStore(c.client, namespace, actor)
	seen, err := observe.New(c.client, holds, observe.Options{
		Namespace: namespace, Selector: labels.Everything(), Scales: scales, Budgets: known, Now: c.date, Uncached: true,
	})
	return observer{seen, holds}, err
}

// group returns the key of a group in the namespace of the command.
func (c *cluster) group(name string) plan.Key {
	return plan.Key{Namespace: c.namespace, Name: name}
}

// readLive reads a group live, once, as the operator does before it acts. It knows only the answers of pods that the
// hold contains.
func (c *cluster) readLive(ctx context.Context, key plan.Key) (group.Snapshot, error) {
	known := c.budgets(ctx, key.Namespace)
	seen, err := c.open(key.Namespace, nil, known)
	if err != nil {
		return group.Snapshot{}, err
	}
	s, err := seen.Live(ctx, key)
	if err != nil {
		return group.Snapshot{}, withPermissionHint(err)
	}
	if wanted := references(s); len(wanted) > 0 {
		scales, end, err := c.scales(ctx, key.Namespace, wanted)
		if err != nil {
			return s, err
		}
		defer end()
		if seen, err = c.open(key.Namespace, userScales{scales}, known); err != nil {
			return group.Snapshot{}, err
		}
		if s, err = seen.Live(ctx, key); err != nil {
			return group.Snapshot{}, withPermissionHint(err)
		}
	}
	return s.AsRecorded(), nil
}

// existing reads a group and returns an error if it does not exist.
func (c *cluster) existing(ctx context.Context, key plan.Key) (group.Snapshot, error) {
	s, err := c.readLive(ctx, key)
	if err == nil && !exists(s) {
		return s, c.unknownGroup(ctx, key)
	}
	return s, err
}

func exists(s group.Snapshot) bool { return len(s.Zones) > 0 || s.Hold.Exists }

// withPermissionHint adds the required permissions to an error about a forbidden request.
func withPermissionHint(err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("%w\n(kubectl lockstep reads pods, StatefulSets and Leases of the namespace; docs/kubectl.md has a role)", err)
	}
	return err
}

// optedIn reports whether a namespace has opted in. The second result is false if the user cannot
// read the namespace.
func (c *cluster) optedIn(ctx context.Context, namespace string, selector labels.Selector) (in, known bool) {
	found, err := c.client.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return false, false
	}
	return selector.Matches(labels.Set(found.Labels)), true
}
