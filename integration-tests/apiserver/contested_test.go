package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// gitOps is the field manager of a tool that applies a manifest repeatedly.
const gitOps = "a-gitops-tool"

// keepsApplying applies a number of replicas to a zone every second by server-side apply, until
// stop is called. A webhook may refuse an update, as it may refuse the update of any client.
func (s *scene) keepsApplying(zone string, replicas int) (stop func()) {
	s.t.Helper()
	manifest := fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":%q},"spec":{"replicas":%d}}`, zone, replicas)
	ctx, cancel := context.WithCancel(s.t.Context())
	var working sync.WaitGroup
	working.Go(func() {
		for ctx.Err() == nil {
			_, _ = s.world.admin.AppsV1().StatefulSets(s.name).Patch(ctx, zone, types.ApplyPatchType, manifest, metav1.PatchOptions{FieldManager: gitOps, Force: new(true)})
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	stop = func() { cancel(); working.Wait() }
	s.t.Cleanup(stop)
	return stop
}

// editsOf returns the generation of a zone, which counts the changes of its spec.
func (s *scene) editsOf(zone string) int64 { return s.witness.now().sets[zone].Generation }

// TestAnotherWriterOfReplicasIsNamedAndOverwrittenMoreSlowly runs a tool that applies its own
// number of replicas to a follower.
func TestAnotherWriterOfReplicasIsNamedAndOverwrittenMoreSlowly(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*testing.T) *scene{"with webhooks": guarded, "without webhooks": managed} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			s.patience = longPatience
			s.create(zone("zone-a", 4), zone("zone-b", 4, follows("zone-a")), zone("zone-c", 4, follows("zone-b")))
			stop := s.keepsApplying("zone-b", 2)
			event := s.awaitEvent("Warning", "ReplicasContested", "zone-b")
			for _, want := range []string{gitOps, "remove replicas from the manifest that the client applies"} {
				if !strings.Contains(event.Note, want) {
					t.Errorf("the Event does not contain %q: %s", want, event.Note)
				}
			}
			s.awaitRemark("ReplicasContested", "zone-b", true)
			if _, metrics := s.operator.get("/metrics"); !hasSeries(metrics, "lockstep_group_replicas_overwritten_total", s.name, `zone="zone-b"`) {
				t.Error("overwrites are not counted")
			}
			s.answersRarely("zone-b")
			s.change("zone-a", forced("5"))
			s.eventually("zone-b follows its leader, which is scaled up", func(now present) error {
				if n := *now.sets["zone-b"].Spec.Replicas; n != 5 {
					return fmt.Errorf("it has %d replicas", n)
				}
				return nil
			})
			stop()
			s.change("zone-a", forced("3"))
			s.sized(map[string]int32{"zone-a": 3, "zone-b": 3, "zone-c": 3})
		})
	}
}

// answersRarely fails the test if lockstep and a tool that applies every second each write to a
// zone more than twice in 15 seconds, or if zone-c, which follows the zone, changes.
func (s *scene) answersRarely(zone string) {
	s.t.Helper()
	edits := s.editsOf(zone)
	s.stays("lockstep answers rarely", 15*time.Second, func(now present) error {
		if n := now.sets[zone].Generation - edits; n > 2*2 {
			return fmt.Errorf("%d edits of %s", n, zone)
		}
		if n := *now.sets["zone-c"].Spec.Replicas; n != 4 {
			return errors.New("zone-c takes part in the contest")
		}
		return nil
	})
}
