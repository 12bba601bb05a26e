package plan_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

func TestLabelsAreKeptButForThoseThatEveryPodHasOfItsOwn(t *testing.T) {
	own := map[string]string{
		"statefulset.kubernetes.io/pod-name": "zone-a-0", "apps.kubernetes.io/pod-index": "0", "controller-revision-hash": "1",
	}
	shared := map[string]string{"name": "ingester", "example.com/empty": "", "zone": "a"}
	all := maps.Clone(own)
	maps.Copy(all, shared)
	labels := plan.LabelsOf(all)
	if diff := cmp.Diff(shared, labels.Map()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if labels != plan.LabelsOf(shared) || !labels.Equal(plan.LabelsOf(shared)) {
		t.Error("pods with the same labels do not share them")
	}
	if none := plan.LabelsOf(own); none != (plan.Labels{}) || len(none.Map()) != 0 {
		t.Errorf("none are kept as %v", none.Map())
	}
	text, err := labels.MarshalText()
	if want := "example.com/empty=,name=ingester,zone=a"; string(text) != want || err != nil {
		t.Errorf("written as %s, %v, want %s", text, err, want)
	}
	var again plan.Labels
	if err := again.UnmarshalText(text); err != nil || again != labels {
		t.Errorf("read back as %v, %v", again.Map(), err)
	}
	if err := again.UnmarshalText(nil); err != nil || again != (plan.Labels{}) {
		t.Errorf("none are read back as %v, %v", again.Map(), err)
	}
	if text, err := (plan.Labels{}).MarshalText(); len(text) > 0 || err != nil {
		t.Errorf("none are written as %s, %v", text, err)
	}
}

func TestPodsDifferByTheirLabels(t *testing.T) {
	a, b := plan.Pod{Labels: plan.LabelsOf(map[string]string{"a": "1"})}, plan.Pod{Labels: plan.LabelsOf(map[string]string{"a": "2"})}
	if diff := cmp.Diff(a, b); !strings.Contains(diff, "Labels") {
		t.Errorf("got %s", fmt.Sprint(diff))
	}
}
