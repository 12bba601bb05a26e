package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// cluster is one that the demo may use until it stops it.
type cluster interface {
	AdminConfig() *rest.Config
	AdminKubeconfig() string
	Apply(ctx context.Context, manifests ...string) error
	ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (path string, err error)
	AuditLog() string // empty: it is not at hand
	Dir() string      // gone when it is stopped
	Stop() error
}

// place is a cluster with the pods that can run there.
type place struct {
	cluster
	actors
	name string
}

// Variables that name a cluster of the user's, and what to run there.
const (
	kubeconfigVariable = "KUBECONFIG_E2E"
	imageVariable      = "DEMO_IMAGE"
)

var errNoImage = errors.New(`KUBECONFIG_E2E wants the demo on a cluster of yours, where its pods are real: set DEMO_IMAGE to an image of
integration-tests/member that the nodes have or can pull; docs/e2e.md says how to make one`)

// openPlace starts a local cluster, or looks at the one that the user names.
func openPlace(ctx context.Context, out io.Writer, keep bool) (place, error) {
	kubeconfig, image := os.Getenv(kubeconfigVariable), os.Getenv(imageVariable)
	switch {
	case kubeconfig == "":
		return openLocal(ctx, out, keep)
	case image == "":
		return place{}, errNoImage
	case keep:
		return place{}, errors.New("DEMO_KEEP=1 is for the local cluster: on one of yours, nothing is left behind")
	}
	yours, err := openYours(ctx, out, kubeconfig)
	if err != nil {
		return place{}, fmt.Errorf("use the cluster of %s: %w", kubeconfig, err)
	}
	return place{yours, realActors(image), "the cluster of " + kubeconfig}, nil
}

func openLocal(ctx context.Context, out io.Writer, keep bool) (place, error) {
	local, err := localcluster.Start(ctx, localcluster.Options{Progress: out, Detached: keep})
	if err != nil {
		return place{}, err
	}
	return place{local, simulatedActors(), "a local cluster"}, nil
}
