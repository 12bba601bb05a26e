package admission_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/observe"
	"github.com/lockstep-dev/lockstep/internal/reason"
)

// Caches that show no hold for a pod may be late, so the API server is asked for the holds.
func TestAPodThatNoHoldCoversInTheCachesIsEvictedByWhatTheAPIServerShows(t *testing.T) {
	const pod = "zone-x-0"
	unclaimed := observe.Pod{UID: "u", Version: 9, Up: true, Unclaimed: true}
	for shown, place := range map[string]func(*evictable){
		"the caches show the pod":      func(c *evictable) { c.cached[pod] = unclaimed },
		"only the API server shows it": func(c *evictable) { c.hidden[pod], c.there[pod] = true, unclaimed },
	} {
		t.Run(shown, func(t *testing.T) {
			for sentence, tc := range map[string]struct {
				holds func(*evictable)
				code  int
				why   reason.Code
				says  string
			}{
				"no hold remembers its StatefulSet":     {func(*evictable) {}, http.StatusOK, reason.NotGuarded, ""},
				"a hold remembers its StatefulSet":      {func(c *evictable) { c.remembered = map[string]bool{pod: true} }, http.StatusTooManyRequests, reason.CacheBehind, ""},
				"the API server does not show any hold": {func(c *evictable) { c.unshown = errors.New("forbidden") }, http.StatusTooManyRequests, reason.ParentUnknown, "did not show the holds of groups: forbidden"},
			} {
				t.Run(sentence, func(t *testing.T) {
					c := threeOfThree()
					place(c)
					tc.holds(c)
					v := c.webhook().Judge(t.Context(), admission.Eviction{Namespace: "team", Pod: pod, UID: unclaimed.UID})
					says(t, v, tc.code, tc.why)
					if !strings.Contains(v.Message, tc.says) {
						t.Errorf("it says %q, want %q", v.Message, tc.says)
					}
				})
			}
		})
	}
}
