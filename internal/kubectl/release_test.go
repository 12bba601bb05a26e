package kubectl

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

const heldForUpgrade = "hold manual/upgrade renewed 5s ago\nzone-a rev=1\n zone-a-0 ready@1\n"

func TestNotesThatCannotBeReadAreNotLostByARelease(t *testing.T) {
	for key, text := range map[string]string{contract.IntentsAnnotation: `{"version":2}`, contract.DownscalesAnnotation: "zone-a=yesterday"} {
		t.Run(key, func(t *testing.T) {
			inScene(t, []string{heldForUpgrade}, func(s *scene) {
				before := s.server.get(leasePath + "lockstep-group-store")
				notes, _ := at(before, "metadata", "annotations").(object)
				notes[key] = text
				s.server.put(leasePath+"lockstep-group-store", before)
				before = s.server.get(leasePath + "lockstep-group-store")
				for _, line := range []string{"release store", "release store --force"} {
					if code, _, errs := s.types(strings.Fields(line)...); code != exitFailed || !strings.Contains(errs, "HoldUnreadable") {
						s.Errorf("%s: exit code %d: %s", line, code, errs)
					}
				}
				if diff := cmp.Diff(before, s.server.get(leasePath+"lockstep-group-store")); diff != "" {
					s.Errorf("the Lease was written (-before +after):\n%s", diff)
				}
			})
		})
	}
}
