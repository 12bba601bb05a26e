package record

import (
	"encoding/json"
	"strconv"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// pools is the codec of StatefulClusters.
type pools struct{}

func (pools) encode(part plan.Part) (annotations map[string]string, inIntents json.RawMessage) {
	replicas := ""
	if p := pool.PartOf(part); p.Recorded {
		replicas = strconv.Itoa(p.Replicas)
	}
	return map[string]string{contract.ReplicasAnnotation: replicas}, nil
}

// decode returns the number of replicas if it is one that an object can ask for. Without it, no claim is deleted because fewer pods
// are asked for.
func (pools) decode(annotations map[string]string, _ json.RawMessage) (plan.Part, error) {
	n, err := strconv.ParseInt(annotations[contract.ReplicasAnnotation], 10, 32)
	recorded := err == nil && n >= 0
	if !recorded {
		n = 0
	}
	return pool.Part{Replicas: int(n), Recorded: recorded}, nil
}
