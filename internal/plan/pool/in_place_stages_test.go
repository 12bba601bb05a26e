package pool_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

func TestAnUpdateThatBeginsAgainKeepsTheFormerResources(t *testing.T) {
	s, err := parse(`# An update whose record is lost, after its pod was resized.
pool web replicas=1
revision 1
revision 2
change 1 inplace from=db:1 cpu=2
live
pod a ready rev=1 image=db:1 cpu=2 version=12 begun=10 before=1
then
`)
	if err != nil {
		t.Fatal(err)
	}
	begun := plan.Only[pool.BeginUpdate](pool.Plan(s.snapshot))
	if len(begun) != 1 {
		t.Fatalf("%d updates begin", len(begun))
	}
	if diff := cmp.Diff(map[string]pool.Resources{"db": {CPURequest: "1"}}, begun[0].Before); diff != "" {
		t.Errorf("former resources (-want +got):\n%s", diff)
	}
}
