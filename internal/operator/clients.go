package operator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"

	"github.com/lockstep-dev/lockstep/internal/cluster/access"
	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/operator/config"
	"github.com/lockstep-dev/lockstep/internal/show/telemetry"
)

// clients are apart so that a flood of one kind cannot delay another.
type clients struct {
	work     kubernetes.Interface // observe and act; the API server's fairness is the only limit
	foreign  foreign
	election kubernetes.Interface
	events   kubernetes.Interface // throttled: telling must not cost more than doing
	metadata metadata.Interface   // as work, for objects of which nothing else is read
	dynamic  dynamic.Interface    // as work, for objects of kinds that Kubernetes does not have by itself
	clock    *clock.Clock         // the API server's, as all of them see it
}

// foreign are clients for resources that people choose, or that need not exist. That one of them is
// forbidden says nothing about the permissions that lockstep needs, so nobody is
// alarmed.
type foreign struct {
	client   kubernetes.Interface
	metadata metadata.Interface
	dynamic  dynamic.Interface
}

const (
	eventsPerSecond = 50
	eventsAtOnce    = 200
)

func connect(c config.Config, version string, refused *access.Alarm, warnings *telemetry.Warnings, measure transport.WrapperFunc) (clients, error) {
	base, err := restConfig(c.Kubernetes)
	if err != nil {
		return clients{}, fmt.Errorf("configure Kubernetes client: %w", err)
	}
	base.UserAgent = contract.FieldManager + "/" + version
	base.ContentType = "application/vnd.kubernetes.protobuf"
	base.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"

	base.WarningHandlerWithContext = rest.NoWarnings{} // warnings names the object, too
	base.Wrap(warnings.Watch)
	base.Wrap(measure)

	clock := clock.New()
	chosen := rest.CopyConfig(base)
	chosen.QPS = -1
	base.Wrap(clock.Watch) // servers of kinds that people choose may have clocks of their own
	base.Wrap(refused.Watch)

	unlimited, throttled := rest.CopyConfig(base), rest.CopyConfig(base)
	unlimited.QPS = -1
	throttled.QPS, throttled.Burst = eventsPerSecond, eventsAtOnce
	election := rest.CopyConfig(unlimited)
	election.Timeout = c.LeaderElection.RenewDeadline / 2 // an unanswered request must not outlast the Lease

	var failed []error
	typed := func(c *rest.Config) kubernetes.Interface {
		client, err := kubernetes.NewForConfig(c)
		failed = append(failed, err)
		return client
	}
	bare := func(c *rest.Config) metadata.Interface {
		client, err := metadata.NewForConfig(c)
		failed = append(failed, err)
		return client
	}
	untyped := func(c *rest.Config) dynamic.Interface {
		client, err := dynamic.NewForConfig(c)
		failed = append(failed, err)
		return client
	}
	made := clients{
		work: typed(unlimited), election: typed(election), events: typed(throttled),
		metadata: bare(unlimited), dynamic: untyped(unlimited),
		foreign: foreign{client: typed(chosen), metadata: bare(chosen), dynamic: untyped(chosen)},
		clock:   clock,
	}
	if err := errors.Join(failed...); err != nil {
		return clients{}, fmt.Errorf("make Kubernetes clients: %w", err)
	}
	return made, nil
}

func restConfig(k config.Kubernetes) (*rest.Config, error) {
	if k.ConfigFile == "" && k.APIURL == "" {
		return rest.InClusterConfig()
	}
	files := filepath.SplitList(k.ConfigFile)
	if err := anyReadable(files); err != nil {
		return nil, err
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: files}
	overrides := &clientcmd.ConfigOverrides{}
	overrides.ClusterInfo.Server = k.APIURL
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
}

// anyReadable reports whether one of the files, if any are named, can be read;
// clientcmd passes over those that cannot.
func anyReadable(files []string) error {
	var errs []error
	for _, file := range files {
		_, err := os.Stat(file)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
