package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/lockstep-dev/lockstep/integration-tests/faultproxy"
)

// lateWrites kills an operator at a write that arrives long afterwards. Then another process is at
// work, which knows only the recorded intents.
func lateWrites(random *rand.Rand) fault {
	return lateWriteOf(random, []string{"pods", "leases", "statefulsets", ""}[random.IntN(4)])
}

// lateWriteOf is lateWrites for one resource, or for any if it is empty.
func lateWriteOf(random *rand.Rand, resource string) fault {
	nth, late := 1+random.IntN(4), between(random, time.Second, maxHold)
	what := "write"
	if resource != "" {
		what += " of " + resource
	}
	f := fault{replica: -1, description: fmt.Sprintf("operators are killed at their %s number %d, which arrives %s late", what, nth, late)}
	f.script = func(r *replica) faultproxy.Script {
		seen := 0
		return func(q faultproxy.Request) faultproxy.Fault {
			if q.Kind != faultproxy.Write || resource != "" && q.Resource != resource || !r.isRunning() {
				return faultproxy.Fault{}
			}
			if seen++; seen != nth {
				return faultproxy.Fault{}
			}
			return faultproxy.LateWrite(late, func() { r.kill() })
		}
	}
	return f
}
