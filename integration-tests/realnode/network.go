package realnode

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const (
	// Gateway is the address at which nodes and pods reach whoever made the network:
	// the API server and the DNS server belong there.
	Gateway = "172.30.0.1"

	podNetwork = "10.244.0.0/16"
	lan        = "lan"
)

// address is that of a node, podRange that of its pods.
func (n *Node) address() string  { return fmt.Sprintf("172.30.0.%d", n.Number+10) }
func (n *Node) podRange() string { return fmt.Sprintf("10.244.%d.0/24", n.Number) }

// OpenNetwork makes the network that nodes are connected to.
func OpenNetwork(ctx context.Context) error {
	if err := os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0o644); err != nil { // from node to node
		return fmt.Errorf("open network: %w", err)
	}
	return ip(ctx,
		"link set lo up",
		"link add "+lan+" type bridge",
		"address add "+Gateway+"/24 dev "+lan,
		"link set "+lan+" up",
	)
}

// connect makes the network of a node.
func (n *Node) connect(ctx context.Context) error {
	port := "port-" + n.name
	return ip(ctx,
		"netns add "+n.name,
		"link add "+port+" type veth peer name eth0 netns "+n.name,
		"link set "+port+" master "+lan+" up",
		"-n "+n.name+" link set lo up",
		"-n "+n.name+" link set eth0 up",
		"-n "+n.name+" address add "+n.address()+"/24 dev eth0",
		"-n "+n.name+" route add default via "+Gateway,
		"route add "+n.podRange()+" via "+n.address(),
	)
}

// ip runs commands of iproute2 one after the other.
func ip(ctx context.Context, commands ...string) error {
	for _, c := range commands {
		command := exec.CommandContext(ctx, "ip", strings.Fields(c)...)
		if out, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("ip %s: %w\n%s", c, err, out)
		}
	}
	return nil
}
