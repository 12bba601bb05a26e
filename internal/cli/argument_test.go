package cli

import (
	"strings"
	"testing"
)

// A group with the name of one of its zones, and of a pod.
const namesakes = "group team twin\ntwin rev=1\n twin-0 ready@1\nother rev=1\n other-0 ready@1\n"

func TestArgumentKindSelectsTheObject(t *testing.T) {
	for line, accepted := range map[string]string{
		"status":          "group statefulcluster",
		"plan":            "group statefulcluster",
		"history":         "group statefulcluster",
		"snapshot":        "group statefulcluster",
		"restart":         "group statefulcluster",
		"hold --reason x": "group statefulcluster",
		"release":         "group statefulcluster",
		"why":             "group pod statefulcluster",
		"pause":           "group zone statefulcluster",
		"resume":          "group zone statefulcluster",
	} {
		for word, kind := range kinds {
			t.Run(line+" "+word, func(t *testing.T) {
				inScene(t, []string{namesakes}, func(s *scene) {
					s.server.showStatefulCluster("twin")
					name := map[string]string{groupKind: "twin", zoneKind: "twin", podKind: "twin-0", statefulClusterKind: "twin"}[kind]
					code, _, errs := s.types(append(strings.Fields(line), word+"/"+name)...)
					fits := strings.Contains(accepted, kind)
					if refused := strings.Contains(errs, "accepted: a name, or group/NAME"); refused == fits || refused != (code == exitFailed) && line != "release" {
						s.Errorf("exit code %d: %s", code, errs)
					}
					if !fits && len(s.server.written()) > 0 {
						s.Errorf("written: %q", s.server.written())
					}
				})
			})
		}
	}
}

func TestKindDistinguishesObjectsWithTheSameName(t *testing.T) {
	inScene(t, []string{namesakes}, func(s *scene) {
		s.succeeds("pause", "zone/twin")
		if requested := s.server.written(); len(requested) != 1 || requested[0] != "PATCH "+zonePath+"twin" {
			s.Errorf("pause of the zone alone wrote %q", requested)
		}
		if out := s.succeeds("status", "group/twin"); !strings.Contains(out, "team/twin") {
			s.Errorf("it says %q", out)
		}
		if code, _, errs := s.types("pause", "sotre/twin"); code != exitFailed || !strings.Contains(errs, "zone/NAME") {
			s.Errorf("exit code %d: %s", code, errs)
		}
	})
}
