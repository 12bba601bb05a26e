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
		"sta":               "status\tShow the state of groups, zone by zone, or of a StatefulCluster, pod by pod\n",
		"hold calm --reas":  "--reason\tthe reason",
		"release ":          "calm\n",
		"snapshot ":         "calm\n",
		"restart store --z": "--zone\tonly this zone\n",
	} {
		t.Run(line, func(t *testing.T) {
			inScene(t, []string{rolling, settled}, func(s *scene) {
				_, out, _ := s.types(append([]string{"__complete"}, strings.Split(line, " ")...)...)
				if !strings.Contains(out, want) {
					s.Errorf("offered:\n%swant\n%s", out, want)
				}
			})
		})
	}
}
