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

// cluster is a cluster that the demo may use until it calls Stop.
type cluster interface {
	AdminConfig() *rest.Config
	AdminKubeconfig() string
	Apply(ctx context.Context, manifests ...string) error
	ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (path string, err error)
	AuditLog() string // empty: not available
	Dir() string      // removed by Stop
	Stop() error
}

// target is a cluster and the pods that can run there.
type target struct {
	cluster
	podTemplates
	name  string
	local *localcluster.Cluster // nil: the user's cluster, whose Nodes are not the demo's
}

// These environment variables name the user's cluster and the image to run there.
const (
	kubeconfigVariable = "KUBECONFIG_E2E"
	imageVariable      = "DEMO_IMAGE"
)

var errNoImage = errors.New(`KUBECONFIG_E2E wants the demo on a cluster of yours, where its pods are real: set DEMO_IMAGE to an image of
integration-tests/member that the nodes have or can pull; docs/e2e.md says how to make one`)

// openTarget starts a local cluster, or opens the user's cluster if one is named.
func openTarget(ctx context.Context, out io.Writer, keep bool) (target, error) {
	kubeconfig, image := os.Getenv(kubeconfigVariable), os.Getenv(imageVariable)
	switch {
	case kubeconfig == "":
		return openLocalTarget(ctx, out, keep)
	case image == "":
		return target{}, errNoImage
	case keep:
		return target{}, errors.New("DEMO_KEEP=1 is for the local cluster: on one of yours, nothing is left behind")
	}
	cluster, err := openUserCluster(ctx, out, kubeconfig)
	if err != nil {
		return target{}, fmt.Errorf("use the cluster of %s: %w", kubeconfig, err)
	}
	return target{cluster: cluster, podTemplates: realPods(image), name: "the cluster of " + kubeconfig}, nil
}

func openLocalTarget(ctx context.Context, out io.Writer, keep bool) (target, error) {
	local, err := localcluster.Start(ctx, localcluster.Options{Progress: out, Detached: keep})
	if err != nil {
		return target{}, err
	}
	return target{cluster: local, podTemplates: simulatedPods(), name: "a local cluster", local: local}, nil
}
