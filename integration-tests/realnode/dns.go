package realnode

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
)

// DNS is a running CoreDNS.
type DNS struct{ process *process }

// StartDNS starts CoreDNS (localcluster.DNSProgram) at the Gateway and returns when it answers.
func StartDNS(ctx context.Context, program, kubeconfig string) (*DNS, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("not up after %s", startTimeout))
	defer cancel()
	dir := filepath.Join(enclosure.Dir(), "dns")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, fmt.Errorf("start DNS: %w", err)
	}
	file := filepath.Join(dir, "Corefile")
	content := fmt.Sprintf(".:53 {\n bind %s\n errors\n kubernetes cluster.local {\n kubeconfig %s\n }\n}\n", Gateway, kubeconfig)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		return nil, fmt.Errorf("start DNS: %w", err)
	}
	p, err := start("", dir, nil, program, "-conf="+file)
	if err != nil {
		return nil, err
	}
	if err := p.await(ctx, "CoreDNS", func() error {
		_, err := resolver.LookupHost(ctx, "kubernetes.default.svc.cluster.local")
		return err
	}); err != nil {
		return nil, fmt.Errorf("start DNS: %w", err)
	}
	return &DNS{process: p}, nil
}

// Alive returns an error if it has ended.
func (d *DNS) Alive() error { return d.process.alive() }

// resolver looks up names as pods do.
var resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, network, net.JoinHostPort(Gateway, "53"))
}}
