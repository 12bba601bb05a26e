package realnode

import (
	"context"
	"fmt"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
)

// Disconnect cuts the node and its pods off from the network. Everything on it continues to run.
func (n *Node) Disconnect(ctx context.Context) error {
	return ip(ctx, "link set "+n.port()+" down")
}

// Reconnect ends what Disconnect began.
func (n *Node) Reconnect(ctx context.Context) error { return ip(ctx, "link set "+n.port()+" up") }

// SwitchOff ends all programs and containers of the node at once, like the loss of its power. The
// node cannot be started again.
func (n *Node) SwitchOff(ctx context.Context) error {
	n.off = true
	if err := n.Disconnect(ctx); err != nil {
		return fmt.Errorf("switch off %s: %w", n.name, err)
	}
	for _, p := range n.processes {
		p.kill()
	}
	if err := enclosure.EndControlGroup(ctx, n.name); err != nil {
		return fmt.Errorf("switch off %s: %w", n.name, err)
	}
	return nil
}
