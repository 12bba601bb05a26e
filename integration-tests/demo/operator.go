package main

import (
	"context"
	"fmt"
	"io"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// operator is the running process of the operator.
type operator struct {
	url    string
	pid    int
	log    string // path
	exited <-chan struct{}
	stop   func(context.Context) error
}

// startOperator builds the operator and starts it with a kubeconfig. If keep is set, it outlives this
// process.
func startOperator(ctx context.Context, out io.Writer, dir, kubeconfig string, env []string, keep bool) (*operator, error) {
	program, err := localcluster.BuildOperator(ctx, out)
	if err != nil {
		return nil, err
	}
	if keep {
		return startKeptOperator(ctx, program, dir, kubeconfig, env)
	}
	started, err := localcluster.StartOperator(ctx, localcluster.OperatorOptions{Kubeconfig: kubeconfig, Program: program, Env: env})
	if err != nil {
		return nil, err
	}
	return &operator{
		url: started.URL(), pid: started.PID(), log: started.LogPath(), exited: started.Exited(),
		stop: func(ctx context.Context) error {
			code, err := started.Stop(ctx)
			if err == nil && code != 0 {
				err = fmt.Errorf("stop operator: exit code %d, 0 was expected; %s", code, logTail(started.LogPath()))
			}
			return err
		},
	}, nil
}
