package cli

import "github.com/spf13/cobra"

// completeGroups completes the first argument with the groups of the namespace.
func (a *app) completeGroups(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cluster, err := a.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, err := cluster.groupNames(c.Context(), cluster.namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
