package realnode

import (
	"context"
	"fmt"
	"os/exec"
)

// containerdConfig returns a configuration for containerd 1.6 and later. It uses only the node's
// folder, and needs no CAP_SYS_RESOURCE.
func (n *Node) containerdConfig() string {
	return fmt.Sprintf(`version = 2
root = %q
state = %q
disabled_plugins = ["io.containerd.internal.v1.opt", "io.containerd.internal.v1.tracing"]

[grpc]
  address = %q

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = %q
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  disable_apparmor = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = %q
    conf_dir = %q

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = %q
      Root = %q
`,
		n.path("containerd"), "/run/"+n.name, n.socket(), n.Pause,
		n.programs.packages.Path("/usr/lib/cni"), n.path("cni"),
		n.programs.packages.Path("/usr/sbin/runc"), "/run/"+n.name+"/runc")
}

// podNetworkConfig connects pods to a bridge of the node.
func (n *Node) podNetworkConfig() string {
	return fmt.Sprintf(`{
  "cniVersion": "0.4.0", "name": "pods",
  "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
  "ipam": {
    "type": "host-local", "dataDir": %q,
    "ranges": [[{"subnet": %q}]], "routes": [{"dst": "0.0.0.0/0"}]
  }
}
`, n.path("addresses"), n.podRange())
}

// ctr runs containerd's own client.
func (n *Node) ctr(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, n.programs.packages.Path("/usr/bin/ctr"), append([]string{"--address=" + n.socket()}, args...)...)
	command.Env = n.programs.packages.Environment()
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %q: %w\n%s", args, err, out)
	}
	return nil
}
