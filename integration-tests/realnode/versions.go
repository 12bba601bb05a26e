package realnode

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// Versions returns the first line of output of containerd, runc, and other programs by their paths,
// with --version.
func (p Programs) Versions(ctx context.Context, others ...string) ([]string, error) {
	var all []string
	for _, program := range append([]string{p.packages.Path("/usr/bin/containerd"), p.packages.Path("/usr/sbin/runc")}, others...) {
		asked := exec.CommandContext(ctx, program, "--version")
		asked.Env = p.packages.Environment()
		out, err := asked.Output()
		if err != nil {
			return nil, fmt.Errorf("read the version of %s: %w", program, err)
		}
		first, _, _ := strings.Cut(string(out), "\n")
		all = append(all, first)
	}
	return all, nil
}
