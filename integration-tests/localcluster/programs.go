package localcluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The programs of a cluster by name, and the packages from which they are built. All belong to the
// module in the folder controlplane.
var packages = map[string]string{
	"etcd":                    "go.etcd.io/etcd/server/v3",
	"kube-apiserver":          "k8s.io/kubernetes/cmd/kube-apiserver",
	"kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
	"kube-scheduler":          "k8s.io/kubernetes/cmd/kube-scheduler",
	"kubectl":                 "k8s.io/kubernetes/cmd/kubectl",
	"kwok":                    "sigs.k8s.io/kwok/cmd/kwok",
}

// static is the environment for building programs that need no C library.
var static = []string{"CGO_ENABLED=0"}

// assetsVariable names a folder with built programs, as in other Kubernetes test harnesses.
const assetsVariable = "KUBEBUILDER_ASSETS"

// Program returns the path of a program of the control plane, for example "kubectl". It is in the
// folder that KUBEBUILDER_ASSETS names, or in the user's cache. If it is missing there, it is
// built, which takes minutes. Progress may be nil.
func Program(ctx context.Context, name string, progress io.Writer) (string, error) {
	if _, known := packages[name]; !known {
		names := slices.Sorted(maps.Keys(packages))
		return "", fmt.Errorf("find program %q: unknown, there are %s", name, strings.Join(names, ", "))
	}
	if progress == nil {
		progress = io.Discard
	}
	paths, err := findPrograms(ctx, []string{name}, progress)
	if err != nil {
		return "", err
	}
	return paths[name], nil
}

// findPrograms returns the path of each of these programs. Missing programs are built together,
// because they share most packages.
func findPrograms(ctx context.Context, names []string, out io.Writer) (map[string]string, error) {
	paths, missing := map[string]string{}, []string{}
	assets := os.Getenv(assetsVariable)
	for _, name := range names {
		if ready := filepath.Join(assets, name); assets != "" && executable(ready) {
			paths[name] = ready
			continue
		}
		missing = append(missing, name)
	}
	if len(missing) == 0 {
		return paths, nil
	}

	shelf, err := controlPlane(len(missing))
	if err != nil {
		return nil, err
	}
	if err := shelf.fill(ctx, missing, out); err != nil {
		return nil, fmt.Errorf("build control plane: %w", err)
	}
	for _, name := range missing {
		paths[name] = shelf.path(name)
	}
	return paths, nil
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// controlPlane returns the shelf of the programs of a cluster. programs is the number of programs
// to build, for the title.
func controlPlane(programs int) (*shelf, error) {
	s, err := openShelf("controlplane", "k8s.io/kubernetes", packages, "integration-tests", "controlplane")
	if err != nil {
		return nil, err
	}
	version := s.versions["k8s.io/kubernetes"]
	s.title = fmt.Sprintf("building %d programs of Kubernetes %s (once, 5 to 10 minutes on 2 cores)", programs, version)
	s.nameVersion(version)
	s.linker = append(s.linker, "-X", "sigs.k8s.io/kwok/pkg/consts.Version="+s.versions["sigs.k8s.io/kwok"])
	return s, nil
}

// nameVersion sets the version that the programs of Kubernetes report.
func (s *shelf) nameVersion(version string) {
	const names = "k8s.io/component-base/version"
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	s.linker = append(s.linker,
		"-X", names+".gitVersion="+version,
		"-X", names+".gitMajor="+major,
		"-X", names+".gitMinor="+minor,
	)
}
