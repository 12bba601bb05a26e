package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Moment returns a time as the API server stores it, or nil for a zero time and for a time that it cannot store.
func Moment(t time.Time) *metav1.Time {
	t = t.Truncate(time.Second)
	if year := t.UTC().Year(); t.IsZero() || year < 0 || year > 9999 {
		return nil
	}
	return &metav1.Time{Time: t}
}
