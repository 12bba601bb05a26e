package cli

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

const heldForUpgrade = "hold manual/upgrade renewed 5s ago\nzone-a rev=1\n zone-a-0 ready@1\n"

func TestReleaseKeepsUnreadableRecords(t *testing.T) {
	for key, text := range map[string]string{contract.IntentsAnnotation: `{"version":2}`, contract.DownscalesAnnotation: "zone-a=yesterday"} {
		t.Run(key, func(t *testing.T) {
			inScene(t, []string{heldForUpgrade}, func(s *scene) {
				before := s.server.get(leasePath + "lockstep-group-store")
				notes, _ := at(before, "metadata", "annotations").(object)
				notes[key] = text
				s.server.put(leasePath+"lockstep-group-store", before)
				before = s.server.get(leasePath + "lockstep-group-store")
				for _, line := range []string{"release store", "release store --force"} {
					if code, _, errs := s.types(strings.Fields(line)...); code != exitFailed || !strings.Contains(errs, "HoldUnreadable") {
						s.Errorf("%s: exit code %d: %s", line, code, errs)
					}
				}
				if diff := cmp.Diff(before, s.server.get(leasePath+"lockstep-group-store")); diff != "" {
					s.Errorf("the Lease was written (-before +after):\n%s", diff)
				}
			})
		})
	}
}

func TestSecondHoldWithTheSameReasonIsRefused(t *testing.T) {
	inScene(t, []string{settled}, func(s *scene) {
		until := time.Now().Add(4 * time.Hour).UTC().Format(time.RFC3339)
		s.succeeds("hold", "calm", "--reason", "backup", "--for", "4h")
		if out := s.ends(exitWaits, "hold", "calm", "--reason", "backup"); !strings.Contains(out, "GroupHeld (manual/backup) until "+until) || !strings.Contains(out, "--renew") {
			s.Errorf("it says:\n%s", out)
		}
		if out := s.succeeds("hold", "calm", "--reason", "backup", "--renew"); !strings.Contains(out, "until "+until) {
			s.Errorf("it ends sooner:\n%s", out)
		}
		time.Sleep(5 * time.Hour)
		s.succeeds("hold", "calm", "--reason", "backup")
		if got, want := at(s.server.get(leasePath+"lockstep-group-calm"), "spec", "acquireTime"), time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"); got != want {
			s.Errorf("taken at %v, want %v", got, want)
		}
	})
}

func TestReleaseIsRefusedIfTheHolderChanges(t *testing.T) {
	for sentence, next := range map[string]object{
		"another one took it":        {"holderIdentity": "manual/other", "leaseTransitions": 1.0},
		"the same one took it again": {"holderIdentity": "manual/upgrade", "leaseTransitions": 2.0},
		"a rollout took it":          {"holderIdentity": "rollout/zone-a", "leaseTransitions": 1.0},
	} {
		t.Run(sentence, func(t *testing.T) {
			inScene(t, []string{heldForUpgrade}, func(s *scene) {
				s.server.refuse = func(r *http.Request) *http.Response {
					if r.Method == http.MethodPut {
						s.server.refuse = nil
						held := s.server.get(leasePath + "lockstep-group-store")
						merge(held, object{"spec": next})
						s.server.put(leasePath+"lockstep-group-store", held)
					}
					return nil
				}
				if out := s.ends(exitFailed, "release", "store"); !strings.Contains(out, "meanwhile") {
					s.Errorf("it says %q", out)
				}
				if got := at(s.server.get(leasePath+"lockstep-group-store"), "spec", "holderIdentity"); got != next["holderIdentity"] {
					s.Errorf("held by %v, want %v", got, next["holderIdentity"])
				}
			})
		})
	}
}

func TestReleaseEndsAHoldThatWasRenewedMeanwhile(t *testing.T) {
	inScene(t, []string{heldForUpgrade}, func(s *scene) {
		s.server.refuse = func(r *http.Request) *http.Response {
			if r.Method == http.MethodPut {
				s.server.refuse = nil
				s.server.put(leasePath+"lockstep-group-store", s.server.get(leasePath+"lockstep-group-store"))
			}
			return nil
		}
		s.succeeds("release", "store")
	})
}

func TestReleaseWithAReasonKeepsOtherHolds(t *testing.T) {
	inScene(t, []string{heldForUpgrade}, func(s *scene) {
		if out := s.ends(exitFailed, "release", "store", "--reason", "Backup"); !strings.Contains(out, "manual/upgrade has the hold, not manual/backup") {
			s.Errorf("it says %q", out)
		}
		s.ends(exitFailed, "release", "store", "--reason", "upgrade", "--force")
		s.ends(exitFailed, "release", "store", "--reason", "…")
		if requested := s.server.written(); len(requested) > 0 {
			s.Errorf("written: %q", requested)
		}
		if out := s.succeeds("release", "store", "--reason", "Upgrade!"); out != "team/store released from manual/upgrade\n" {
			s.Errorf("it says %q", out)
		}
		if out := s.succeeds("release", "store", "--reason", "upgrade"); out != "team/store is not held\n" {
			s.Errorf("it says %q", out)
		}
	})
}
