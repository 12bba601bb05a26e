package operator

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// identity names this process: its host and something random, since a host
// name may come back.
func identity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("read host name: %w", err)
	}
	return host + "_" + rand.Text()[:8], nil
}

func scheme() *runtime.Scheme { return clientgoscheme.Scheme }

// filesOf splits a list of kubeconfig files as $KUBECONFIG has it.
func filesOf(list string) []string { return filepath.SplitList(list) }
