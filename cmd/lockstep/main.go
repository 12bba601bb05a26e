// Command lockstep is the operator. Its exit code is 0 after a clean stop, 2 for an invalid
// configuration, and 1 for any other failure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/lockstep-dev/lockstep/internal/operator"
	"github.com/lockstep-dev/lockstep/internal/operator/config"
)

// version is set at build time.
var version = "devel"

const (
	exitOK       = 0
	exitFailed   = 1
	exitUnusable = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	c, warnings, err := config.Parse(args, environment())
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, config.Help())
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "%v\n\nlockstep -help lists every flag.\n", err)
		return exitUnusable
	case c.Version:
		fmt.Fprintln(stdout, "lockstep", version)
		return exitOK
	case c.PrintAdmissionPolicy:
		return printPolicy(c, stdout, stderr)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := operator.Main(ctx, c, warnings, stderr, version); err != nil {
		fmt.Fprintln(stderr, "lockstep:", err)
		return exitFailed
	}
	return exitOK
}

func printPolicy(c config.Config, stdout, stderr io.Writer) int {
	policy, err := operator.AdmissionPolicy(c)
	if err != nil {
		fmt.Fprintln(stderr, "lockstep:", err)
		return exitFailed
	}
	fmt.Fprint(stdout, policy)
	return exitOK
}

func environment() config.Environment {
	namespace, err := os.ReadFile(config.ServiceAccountNamespaceFile)
	if err != nil {
		namespace = nil // this file exists only in a cluster
	}
	return config.Environment{
		Variables:               os.Environ(),
		ServiceAccountNamespace: strings.TrimSpace(string(namespace)),
	}
}
