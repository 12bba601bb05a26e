package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
)

// rollsByItself sets the update strategy RollingUpdate.
func (s *scene) rollsByItself(zone string) {
	set := s.server.get(zonePath + zone)
	spec, _ := set["spec"].(object)
	spec["updateStrategy"] = object{"type": string(appsv1.RollingUpdateStatefulSetStrategyType)}
	s.server.put(zonePath+zone, set)
}

func TestRestartIsRefusedUnlessTheUpdateStrategyIsOnDelete(t *testing.T) {
	inScene(t, []string{rolling}, func(s *scene) {
		s.rollsByItself("zone-b")
		s.rollsByItself("zone-c")
		for line, named := range map[string]string{"restart store": "zone-b, zone-c", "restart store --zone zone-c": "roll out zone-c at once"} {
			if code, _, errs := s.types(strings.Fields(line)...); code != exitFailed || !strings.Contains(errs, named) || !strings.Contains(errs, "OnDelete") {
				s.Errorf("%s: exit code %d: %s", line, code, errs)
			}
		}
		if requested := s.server.written(); len(requested) > 0 {
			s.Errorf("written: %q", requested)
		}
		s.succeeds("restart", "store", "--zone", "zone-a")
	})
}

func TestRestartRechecksAZoneAfterAConflict(t *testing.T) {
	inScene(t, []string{rolling}, func(s *scene) {
		s.server.refuse = func(r *http.Request) *http.Response {
			if r.Method == http.MethodPatch {
				s.server.refuse = nil
				s.rollsByItself("zone-a")
			}
			return nil
		}
		if code, _, errs := s.types("restart", "store"); code != exitFailed || !strings.Contains(errs, "roll out zone-a at once") {
			s.Errorf("exit code %d: %s", code, errs)
		}
	})
}

func TestSecondRestartChangesTheTemplateAgain(t *testing.T) {
	inScene(t, []string{rolling}, func(s *scene) {
		s.succeeds("restart", "store", "--zone", "zone-b")
		time.Sleep(100 * time.Millisecond)
		if changed := s.changes("restart store"); len(changed) != 3 {
			s.Errorf("changed: %q", changed)
		}
	})
}
