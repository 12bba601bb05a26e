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

// clients are separate so that many requests of one kind cannot delay another.
type clients struct {
	work     kubernetes.Interface // observe and act; the API server's fairness is the only limit
	foreign  foreign
	election kubernetes.Interface
	events   kubernetes.Interface // throttled: reporting must not cost more than acting
	metadata metadata.Interface   // like work, for objects of which only the metadata are read
	dynamic  dynamic.Interface    // like work, for objects of kinds that are not part of Kubernetes
	clock    *clock.Clock         // the API server's time, as seen by all clients
}

// foreign are clients for resources that users choose, or that may not exist. A refused request
// does not mean that a permission of lockstep is missing, so it does not raise the alarm.
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

	base.WarningHandlerWithContext = rest.NoWarnings{} // warnings also names the object
	base.Wrap(warnings.Watch)
	base.Wrap(measure)
	base.Wrap(sendWritesOnce)

	clock := clock.New()
	chosen := rest.CopyConfig(base)
	chosen.QPS = -1
	base.Wrap(clock.Watch) // not for kinds that users choose: their servers may have other clocks
	base.Wrap(refused.Watch)

	unlimited, throttled := rest.CopyConfig(base), rest.CopyConfig(base)
	unlimited.QPS = -1
	throttled.QPS, throttled.Burst = eventsPerSecond, eventsAtOnce
	election := rest.CopyConfig(unlimited)
	election.Timeout = c.LeaderElection.RenewDeadline / 2 // an unanswered request must end before the Lease

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

// anyReadable returns an error if files are named and none of them can be read. clientcmd ignores
// files that it cannot read.
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
