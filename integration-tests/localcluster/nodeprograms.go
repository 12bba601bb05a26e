package localcluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// NodePrograms returns the paths of the programs of a real node, kubelet and kube-proxy, in the
// user's cache, by name. Missing programs are built, which takes minutes. Progress may be nil.
func NodePrograms(ctx context.Context, progress io.Writer) (map[string]string, error) {
	const kubernetes = "k8s.io/kubernetes"
	programs := map[string]string{"kubelet": kubernetes + "/cmd/kubelet", "kube-proxy": kubernetes + "/cmd/kube-proxy"}
	shelf, err := openShelf("node", kubernetes, programs, "integration-tests", "node")
	if err != nil {
		return nil, err
	}
	shelf.title = fmt.Sprintf("building the node programs of Kubernetes %s (once, 1 to 5 minutes on 2 cores)", shelf.versions[kubernetes])
	shelf.nameVersion(shelf.versions[kubernetes])
	return shelf.paths(ctx, progress)
}

// DNSProgram returns the path of CoreDNS in the user's cache. If it is missing, it is built, which
// takes minutes. Progress may be nil.
func DNSProgram(ctx context.Context, progress io.Writer) (string, error) {
	const name, module = "coredns", "github.com/coredns/coredns"
	programs := map[string]string{name: "github.com/lockstep-dev/lockstep/integration-tests/dns"}
	shelf, err := openShelf("dns", module, programs, "integration-tests", "dns")
	if err != nil {
		return "", err
	}
	shelf.title = fmt.Sprintf("building CoreDNS %s (once, 1 to 2 minutes on 2 cores)", shelf.versions[module])
	paths, err := shelf.paths(ctx, progress)
	return paths[name], err
}

// paths builds missing programs and returns the paths of all programs by name.
func (s *shelf) paths(ctx context.Context, progress io.Writer) (map[string]string, error) {
	if progress == nil {
		progress = io.Discard
	}
	names := slices.Sorted(maps.Keys(s.packages))
	if err := s.fill(ctx, names, progress); err != nil {
		return nil, fmt.Errorf("build %s: %w", strings.Join(names, ", "), err)
	}
	paths := map[string]string{}
	for _, name := range names {
		paths[name] = s.path(name)
	}
	return paths, nil
}
