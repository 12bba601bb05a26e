package lease

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/lock/hold"
	"github.com/lockstep-dev/lockstep/internal/lock/record"
)

// trackedTimes returns the last downscale of each zone in a namespace, as the predecessor's zone tracker
// recorded it. A group without a Lease takes its times from there; afterwards its Lease keeps them. If an
// entry cannot be parsed, or its time is impossible, trackedTimes uses the time of the ConfigMap's last
// write, which is the latest time that the entry can mean.
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
	times, written := map[string]time.Time{}, writtenAt(tracker)
	for zone, text := range tracker.Data {
		var tracked struct{ LastDownscaled time.Time }
		at := &tracked.LastDownscaled
		if json.Unmarshal([]byte(text), &tracked) != nil || at.Before(time.Unix(0, 0)) || at.After(written) {
			*at = written
		}
		times[zone] = record.Written(*at)
	}
	return times, nil
}

// writtenAt returns when the API server stored the last change of an object.
func writtenAt(object metav1.Object) time.Time {
	last := object.GetCreationTimestamp().Time
	for _, by := range object.GetManagedFields() {
		if by.Time != nil && by.Time.After(last) {
			last = by.Time.Time
		}
	}
	return last
}
