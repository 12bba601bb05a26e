package realnode

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

const (
	// Gateway is the address at which nodes and pods reach the process that made the network. The
	// API server and the DNS server listen there.
	Gateway = "172.30.0.1"

	podNetwork = "10.244.0.0/16"
	lan        = "lan"
)

// address returns the address of a node, podRange the range of its pods.
func (n *Node) address() string  { return fmt.Sprintf("172.30.0.%d", n.Number+10) }
func (n *Node) podRange() string { return fmt.Sprintf("10.244.%d.0/24", n.Number) }

// port returns the name of the node's port at the bridge.
func (n *Node) port() string { return "port-" + n.name }

// OpenNetwork creates the network that connects nodes.
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

// connect creates the network of a node.
func (n *Node) connect(ctx context.Context) error {
	port := n.port()
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
