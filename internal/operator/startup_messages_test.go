package operator_test

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/operator"
)

// The flag -version is false in every running process. It must not hide the version.
func TestTheFirstLineNamesTheVersion(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var out log
	ended := make(chan error, 1)
	go func() {
		ended <- operator.Main(ctx, parse(t, "-server.port=0", "-kubernetes.config-file="+kubeconfig(t)), nil, &out, "v1.2.3")
	}()
	port(t, &out)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	first, _, _ := strings.Cut(out.String(), "\n")
	if !strings.Contains(first, "v1.2.3") {
		t.Errorf("got %s", first)
	}
}

func TestAMissingKubeconfigIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "missing")
	err := operator.Main(t.Context(), parse(t, "-server.port=0", "-kubernetes.config-file="+file), nil, io.Discard, "test")
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v", err)
	}
}
