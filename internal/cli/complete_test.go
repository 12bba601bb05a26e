package cli

import (
	"strings"
	"testing"
)

func TestGroupNamesAreCompleted(t *testing.T) {
	for line, want := range map[string]string{
		"status ":           "calm\nstore\n:4\n",
		"why st":            "calm\nstore\n:4\n", // the shell filters these
		"status store ":     ":4\n",
		"explain PodF":      "PodFailing\n",
		"status -o ":        "json\nyaml\n:4\n",
		"pause ":            "calm\nstore\n:4\n",
		"sta":               "status\tShow the state of groups, zone by zone, of all StatefulClusters, or of one, pod by pod\n",
		"hold calm --reas":  "--reason\tthe reason",
		"release ":          "calm\n",
		"snapshot ":         "calm\n",
		"restart store --z": "--zone\tonly this zone\n",
	} {
		t.Run(line, func(t *testing.T) {
			inScene(t, []string{rolling, settled}, func(s *scene) {
				out := s.completes(strings.Split(line, " ")...)
				if !strings.Contains(out, want) {
					s.Errorf("offered:\n%swant\n%s", out, want)
				}
			})
		})
	}
}

func TestStatefulClustersAreCompletedAfterTheirKind(t *testing.T) {
	withPool(t, func(s *scene) {
		s.server.showStatefulCluster("db2")
		for line, want := range map[string]string{"why stc/d": "stc/db\nstc/db2\n", "hold statefulcluster/": "statefulcluster/db\nstatefulcluster/db2\n", "claims ": "stc/db\nstc/db2\n"} {
			command, typed, _ := strings.Cut(line, " ")
			if out, _, _ := strings.Cut(s.completes(command, typed), ":"); out != want {
				s.Errorf("%s: got %q, want %q", line, out, want)
			}
		}
	})
}

// completes returns the completions of the last argument.
func (s *scene) completes(args ...string) string {
	s.Helper()
	_, out, _ := s.types(append([]string{"__complete"}, args...)...)
	return out
}
