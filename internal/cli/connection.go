package cli

import (
	"github.com/spf13/pflag"
	"k8s.io/client-go/tools/clientcmd"
)

// connection is the flags by which kubectl finds a cluster, a namespace and a user.
type connection struct {
	file      string
	overrides clientcmd.ConfigOverrides
}

func (c *connection) add(flags *pflag.FlagSet) {
	flags.StringVar(&c.file, clientcmd.RecommendedConfigPathFlag, "", "path to the kubeconfig file")
	clientcmd.BindOverrideFlags(&c.overrides, flags, clientcmd.RecommendedConfigOverrideFlags(""))
}

// config returns what the flags lead to, by the rules of kubectl.
func (c *connection) config() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = c.file
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &c.overrides)
}
