package pool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// planned returns the only action of a type in the plan of a scenario, after a change.
func planned[A plan.Action](t *testing.T, text string, change func(*pool.Snapshot)) A {
	t.Helper()
	s, err := parse(text)
	if err != nil {
		t.Fatal(err)
	}
	change(&s.snapshot)
	steps := pool.Plan(s.snapshot)
	only := plan.Only[A](steps)
	if len(only) != 1 {
		t.Fatalf("the plan is %v", steps)
	}
	return only[0]
}

// withLog adds a second container to each pod.
func withLog(s *pool.Snapshot) {
	for i := range s.Pods {
		s.Pods[i].Containers = append(s.Pods[i].Containers, pool.Container{Name: "log", Image: "log:1", ID: "of log", Running: true, Resources: pool.Resources{CPURequest: "3"}})
	}
	s.Changes["1"].From["log"] = "log:1"
}

// The template asks for other resources of a second container since.
func TestAnUpdateThatBeginsAgainKeepsTheFormerResources(t *testing.T) {
	begun := planned[pool.BeginUpdate](t, `# An update whose record is lost, after its pod was resized.
pool web replicas=1
revision 1
revision 2
change 1 inplace from=db:1 cpu=2
live
pod a ready rev=1 image=db:1 cpu=2 version=12 begun=10 before=1
then
`, func(s *pool.Snapshot) {
		withLog(s)
		s.Changes["1"].Resources["log"] = pool.Resources{CPURequest: "4"}
	})
	if diff := cmp.Diff(map[string]pool.Resources{"db": {CPURequest: "1"}, "log": {CPURequest: "3"}}, begun.Before); diff != "" {
		t.Errorf("former resources (-want +got):\n%s", diff)
	}
}

// A container that is waited for although it does not restart would make the update last without end.
func TestAnUpdateInPlaceRestartsOnlyTheContainersWhoseImageChanges(t *testing.T) {
	update := planned[pool.UpdateInPlace](t, `# One of two images changes.
pool web replicas=1
revision 1
revision 2
change 1 inplace from=db:1 images=db:2
live
pod a ready rev=1 image=db:1
then
`, withLog)
	if diff := cmp.Diff(map[string]string{"db": "db:2"}, update.Change.Images); diff != "" {
		t.Errorf("images (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"db": "first"}, update.Restarts); diff != "" {
		t.Errorf("containers that restart (-want +got):\n%s", diff)
	}
}
