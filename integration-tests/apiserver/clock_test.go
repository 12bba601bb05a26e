package apiserver_test

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
	"github.com/lockstep-dev/lockstep/integration-tests/wrongclock"
)

// programWithWrongClocks builds the program once.
var programWithWrongClocks = sync.OnceValues(func() (string, error) {
	return localcluster.BuildOperatorWithWrongClocks(context.Background(), os.Stderr)
})

// See ADR 18.
func TestAMachineWithAWrongDateKeepsAllTimes(t *testing.T) {
	t.Parallel()
	const wrong = 20 * time.Minute
	for date, offset := range map[string]time.Duration{"fast": wrong, "slow": -wrong} {
		for what, keeps := range map[string]func(*scene){
			"hold": (*scene).respectsAHoldByHand, "minready": func(s *scene) { s.waitsForMinReadySeconds(1300 * time.Millisecond) }, // a date has whole seconds
		} {
			t.Run(date+"-"+what, func(t *testing.T) {
				t.Parallel()
				s := unmanaged(t)
				s.withRole()
				s.startOperatorByClock(wrongclock.Clock{From: time.Now(), Offset: offset, WallPace: 1000, SteadyPace: 1000})
				keeps(s)
			})
		}
	}
}

func (s *scene) startOperatorByClock(c wrongclock.Clock) {
	s.t.Helper()
	program, err := programWithWrongClocks()
	if err != nil {
		s.t.Fatal(err)
	}
	ctx := s.t.Context()
	if err := s.world.awaitAllowed(ctx, s.own.User, s.name); err != nil {
		s.t.Fatal(err)
	}
	process, err := localcluster.StartOperator(ctx, localcluster.OperatorOptions{
		Kubeconfig: s.kubeconfig(), Program: program, Env: []string{c.Variable()},
		Args: []string{"-log.level=debug", "-kubernetes.namespace=" + s.name, "-operator.namespace=" + s.name},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	s.operator = &operator{Operator: process, user: s.own.User}
	s.t.Cleanup(s.operator.Kill)
}
