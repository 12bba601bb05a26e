package apiserver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// hasImages waits until the pods have these images.
func (p pool) hasImages(want ...string) {
	p.t.Helper()
	p.eventually("the images are "+strings.Join(want, " "), func(present) error {
		var images []string
		for _, pod := range p.pods() {
			images = append(images, pod.Spec.Containers[0].Image)
		}
		slices.Sort(images)
		if !slices.Equal(images, want) {
			return fmt.Errorf("the images are %s", images)
		}
		return nil
	})
}

// One of three pods has the newest image, and the others are held back. If replicas are lowered, it leaves, and if they are raised
// again, the missing pods get the images that they had.
func TestStatefulClusterKeepsPodsThatAreHeldBackWhenItIsScaled(t *testing.T) {
	t.Parallel()
	for sentence, held := range map[string]struct {
		by    string   // how the others are held back
		three []string // the images of three pods again
	}{
		"by the partition": {`{"spec": {"updateStrategy": {"rollingUpdate": {"partition": 2}}}}`, []string{"db:1", "db:1", "db:2"}},
		"by a pause":       {`{"spec": {"paused": true, "updateStrategy": {"rollingUpdate": {"partition": 0}}}}`, []string{"db:1", "db:1", "db:1"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := sharedPool(t, 3, map[string]any{
				"updateStrategy":                       map[string]any{"rollingUpdate": map[string]any{"partition": int64(2)}},
				"persistentVolumeClaimRetentionPolicy": map[string]any{"whenScaled": "Delete"},
			})
			p.hasImages("db:1", "db:1", "db:1")
			p.updates(withContainer("db:2", ""))
			p.hasImages("db:1", "db:1", "db:2")
			p.updates(held.by)
			p.updates(`{"spec": {"replicas": 1}}`)
			p.eventually("one pod is left", func(present) error { return p.hasPods(1) })
			if image := p.pods()[0].Spec.Containers[0].Image; image != "db:1" {
				t.Errorf("the pod that is left has %s", image)
			}
			p.updates(`{"spec": {"replicas": 3}}`)
			p.hasImages(held.three...)
		})
	}
}
