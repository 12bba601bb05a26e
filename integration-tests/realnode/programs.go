package realnode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/lockstep-dev/lockstep/integration-tests/debian"
	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// packages are the Debian packages of a node, with the libraries that they need.
var packages = []string{
	"containerd", "runc", "containernetworking-plugins", "nftables",
	"libedit2", "libbsd0", "libmd0", "libgmp10", "libjansson4", "libmnl0", "libnftables1", "libnftnl11", "libseccomp2", "libxtables12",
}

// Programs are the programs of a node.
type Programs struct {
	packages   debian.Root
	kubernetes map[string]string // by name
}

// Missing returns the reason why no node can run here, or nil. To check, it fetches packages,
// unless they are already available or something else is missing.
func Missing() error { return missing() }

var missing = sync.OnceValue(func() error {
	problems := []error{enclosure.Missing(), debian.Missing()}
	for _, program := range []string{"ip", "nsenter"} {
		_, err := exec.LookPath(program)
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	return missingOf(context.Background(), os.Stderr, packages...)
})

// missingOf returns the reason why packages cannot be fetched here. Fetch returns all other errors.
func missingOf(ctx context.Context, progress io.Writer, packages ...string) error {
	_, err := debian.Unpack(ctx, progress, packages...)
	if errors.Is(err, debian.ErrUnreachable) || errors.Is(err, debian.ErrLacking) {
		return err
	}
	return nil
}

// Fetch returns the programs, from the user's cache if it has them. The first call needs a network
// and some minutes. Progress may be nil.
func Fetch(ctx context.Context, progress io.Writer) (p Programs, err error) {
	if p.packages, err = debian.Unpack(ctx, progress, packages...); err != nil {
		return p, fmt.Errorf("fetch the programs of a node: %w", err)
	}
	p.kubernetes, err = localcluster.NodePrograms(ctx, progress)
	return p, err
}
