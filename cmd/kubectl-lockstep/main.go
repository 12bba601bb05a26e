// Command kubectl-lockstep is a plugin of kubectl: kubectl lockstep status, why, plan and so on.
// kubectl finds it in the PATH by its name.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/lockstep-dev/lockstep/internal/cli"
)

// version is set at build time.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	code := cli.Run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, version)
	stop()
	os.Exit(code)
}
