package cli

import (
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
)

// connection contains kubectl's flags for cluster, namespace and user.
type connection struct {
	file      string
	overrides clientcmd.ConfigOverrides
}

func (c *connection) add(flags *pflag.FlagSet) {
	flags.StringVar(&c.file, clientcmd.RecommendedConfigPathFlag, "", "path to the kubeconfig file")
	clientcmd.BindOverrideFlags(&c.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
}

// config returns the client configuration, with the loading rules of kubectl.
func (c *connection) config() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.file
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &c.overrides)
}
