package operator

import (
	"fmt"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lockstep-dev/lockstep/internal/config"
)

// clients are apart so that a flood of one kind cannot delay another.
type clients struct {
	work     kubernetes.Interface // observe and act; the API server's fairness is the only limit
	election kubernetes.Interface
	events   kubernetes.Interface // throttled: telling must not cost more than doing
}

const (
	eventsPerSecond = 50
	eventsAtOnce    = 200
)

func connect(k config.Kubernetes, version string) (clients, error) {
	base, err := restConfig(k)
	if err != nil {
		return clients{}, fmt.Errorf("configure Kubernetes client: %w", err)
	}
	base.UserAgent = "lockstep/" + version
	base.ContentType = "application/vnd.kubernetes.protobuf"
	base.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"

	unlimited, throttled := rest.CopyConfig(base), rest.CopyConfig(base)
	unlimited.QPS = -1
	throttled.QPS, throttled.Burst = eventsPerSecond, eventsAtOnce

	var c clients
	for _, made := range []struct {
		into   *kubernetes.Interface
		config *rest.Config
	}{{&c.work, unlimited}, {&c.election, rest.CopyConfig(unlimited)}, {&c.events, throttled}} {
		client, err := kubernetes.NewForConfig(made.config)
		if err != nil {
			return clients{}, fmt.Errorf("make Kubernetes client: %w", err)
		}
		*made.into = client
	}
	return c, nil
}

func restConfig(k config.Kubernetes) (*rest.Config, error) {
	if k.ConfigFile == "" && k.APIURL == "" {
		return rest.InClusterConfig()
	}
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: filepath.SplitList(k.ConfigFile)}
	overrides := &clientcmd.ConfigOverrides{}
	overrides.ClusterInfo.Server = k.APIURL
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
}
