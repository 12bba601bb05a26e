package lease

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/hold"
)

// trackedTimes returns when zones of a namespace shrank last as the zone tracker
// of the predecessor has recorded it. A group that has no Lease yet takes its
// times from there; from then on the Lease keeps them. An entry that cannot be read
// counts as a downscale just now, which is the latest that it can mean.
func (s *Store) trackedTimes(ctx context.Context, namespace string) (map[string]time.Time, error) {
	ctx, stop := context.WithTimeout(ctx, hold.RequestTimeout)
	defer stop()
	tracker, err := s.client.CoreV1().ConfigMaps(namespace).Get(ctx, contract.ZoneTrackerName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s/%s: %w", namespace, contract.ZoneTrackerName, err)
	}
	times := map[string]time.Time{}
	for zone, text := range tracker.Data {
		var tracked struct{ LastDownscaled time.Time }
		if json.Unmarshal([]byte(text), &tracked) != nil || tracked.LastDownscaled.IsZero() || tracked.LastDownscaled.After(time.Now()) {
			tracked.LastDownscaled = time.Now()
		}
		times[zone] = hold.Written(tracked.LastDownscaled)
	}
	return times, nil
}
