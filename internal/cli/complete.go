package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// completeGroups completes the first argument with the groups of the namespace, or after stc/ with the StatefulClusters.
func (a *app) completeGroups(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if word, _, hasKind := strings.Cut(typed, "/"); hasKind && kinds[word] == statefulClusterKind {
		return a.completePools(c, args, word+"/")
	}
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

// completePools completes the first argument with the StatefulClusters of the namespace, after a prefix.
func (a *app) completePools(c *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cluster, err := a.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, err := cluster.poolNames(c.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
