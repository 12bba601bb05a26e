package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

// groups is the codec of rollout groups.
type groups struct{}

func (groups) encode(part plan.Part) (annotations map[string]string, inIntents json.RawMessage) {
	p := group.PartOf(part)
	return map[string]string{
		contract.ZonesAnnotation:        FormatMembers(p.Members),
		contract.DownscalesAnnotation:   FormatTimes(p.Downscaled),
		contract.GivenUpAnnotation:      FormatTimes(p.GivenUp),
		contract.AcknowledgedAnnotation: FormatAcknowledged(p.Acknowledged),
	}, FormatDownscale(p.Downscale)
}

func (groups) decode(annotations map[string]string, inIntents json.RawMessage) (plan.Part, error) {
	var p group.Part
	var part, times, zones error
	p.Downscale, part = ParseDownscale(inIntents)
	p.Downscaled, times = ParseTimes(annotations[contract.DownscalesAnnotation])
	p.Members, zones = ParseMembers(annotations[contract.ZonesAnnotation])
	p.GivenUp, _ = ParseTimes(annotations[contract.GivenUpAnnotation]) // zones without a time are tried again
	p.Acknowledged = ParseAcknowledged(annotations[contract.AcknowledgedAnnotation])
	maps.DeleteFunc(p.Acknowledged, func(_ string, a group.DelayRecord) bool { return !contract.CallOf(a.Call).Valid() })
	return p, cmp.Or(part, times, zones, wrongCall(p.Downscale.Call))
}

// OfPredecessor returns the part of a group without a Lease, for which the predecessor of lockstep recorded these times
// of downscales.
func OfPredecessor(times map[string]time.Time) plan.Part { return group.Part{Downscaled: times} }

// wrongCall returns an error if no annotation can have requested the call.
func wrongCall(c group.Call) error {
	if c == (group.Call{}) || contract.CallOf(c).Valid() {
		return nil
	}
	return errors.New("read intents: the decrease records a call that no annotation can ask for")
}
