package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
	"github.com/lockstep-dev/lockstep/integration-tests/images"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
	"github.com/lockstep-dev/lockstep/integration-tests/realnode"
)

const (
	repository   = "../.."
	imagesFolder = "images" // in the folder of the enclosure
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	switch {
	case yours() != "" && !attended():
		code, err := attend()
		if err != nil {
			fmt.Fprintln(os.Stderr, "--- FAIL:", err)
			return 1
		}
		return code
	case !requested() || yours() != "" || missing() != nil:
		return m.Run()
	}
	return enclosure.Main(m, prepare)
}

// requested reports whether the tests are to run on any cluster.
func requested() bool { return os.Getenv("LOCKSTEP_E2E") != "" || yours() != "" }

// missing returns the reason why the suite cannot have a cluster of its own.
func missing() error { return realnode.Missing() }

// prepare does the work that needs the network of the machine.
func prepare(dir string) error {
	ctx := context.Background()
	if err := localcluster.Build(ctx, clusterOptions()); err != nil {
		return err
	}
	if _, err := localcluster.Program(ctx, "kubectl", os.Stderr); err != nil {
		return err
	}
	if _, err := realnode.Fetch(ctx, os.Stderr); err != nil {
		return err
	}
	if _, err := localcluster.DNSProgram(ctx, os.Stderr); err != nil {
		return err
	}
	if err := buildDemo(ctx, dir); err != nil {
		return err
	}
	if err := buildPlugin(ctx, dir); err != nil {
		return err
	}
	return images.Write(ctx, repository, filepath.Join(dir, imagesFolder), images.All...)
}
