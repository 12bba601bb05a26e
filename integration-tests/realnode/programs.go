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

// packages are those of Debian that a node is made of, with the libraries they need.
var packages = []string{
	"containerd", "runc", "containernetworking-plugins", "nftables",
	"libedit2", "libbsd0", "libmd0", "libgmp10", "libjansson4", "libmnl0", "libnftables1", "libnftnl11", "libseccomp2", "libxtables12",
}

// Programs are what nodes are made of.
type Programs struct {
	packages   debian.Root
	kubernetes map[string]string // by name
}

// Missing says why no node can run here; nil if one can. It fetches packages to see,
// unless they are there already or something else is missing.
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

// missingOf says why packages cannot be had here. Any other failure is one of Fetch.
func missingOf(ctx context.Context, progress io.Writer, packages ...string) error {
	_, err := debian.Unpack(ctx, progress, packages...)
	if errors.Is(err, debian.ErrUnreachable) || errors.Is(err, debian.ErrLacking) {
		return err
	}
	return nil
}

// Fetch returns the programs, from the user's cache where they are there already. It
// needs a network the first time, and some minutes. Progress may be nil.
func Fetch(ctx context.Context, progress io.Writer) (p Programs, err error) {
	if p.packages, err = debian.Unpack(ctx, progress, packages...); err != nil {
		return p, fmt.Errorf("fetch the programs of a node: %w", err)
	}
	p.kubernetes, err = localcluster.NodePrograms(ctx, progress)
	return p, err
}
