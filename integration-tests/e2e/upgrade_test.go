package e2e_test

import (
	"path/filepath"
	"testing"

	"github.com/lockstep-dev/lockstep/integration-tests/images"
)

func (w *world) upgrades(t *testing.T) {
	before := w.requests(t)
	source := t.TempDir()
	if err := images.FormerManifests(t.Context(), repository, source); err != nil {
		t.Fatal(err)
	}
	w.install(t, filepath.Join(source, "manifests"), images.Former)
	s := w.scene(t, "upgrades", 12)
	s.create(zone("a", 2), zone("b", 2), zone("c", 2))
	s.change(revision("2"), variable("MEMBER_START", "15s"))
	s.awaitDepartures(1)
	w.install(t, manifests, images.Operator)
	s.wantUnderway(6)
	s.settled()
	s.wantDepartures(6)
	s.change(revision("3"), variable("MEMBER_START", "0s"))
	s.settled()
	s.wantDepartures(12)
	w.wantAllowed(t, before)
}
