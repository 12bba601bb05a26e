package apiserver_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestKubectlPausesResumesAndRestartsAStatefulCluster(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	names, uids := identities(p.settles(2))
	user := p.person()
	user.ends(0, "pause", "stc/db")
	p.updates(withContainer("db:2", ""))
	p.eventually("why says that updates are paused", func(present) error {
		if _, out, errs := user.types("why", "stc/db"); !strings.Contains(out, "UpdatesPaused") {
			return errors.New(out + errs)
		}
		return nil
	})
	user.ends(0, "resume", "stc/db")
	p.hasImage(2, "db:2")
	if _, after := identities(p.pods()); !slices.Equal(after, uids) {
		t.Errorf("the image was not updated in place: %v became %v", uids, after)
	}
	user.ends(0, "restart", "stc/db")
	p.handsOver(names, uids, "db:2")
	if out := user.ends(0, "plan", "stc/db"); !strings.Contains(out, "nothing: the goal is reached") {
		t.Errorf("plan shows\n%s", out)
	}
	user.ends(0, "history", "stc/db")
	if report := user.ends(0, "snapshot", "stc/db", "--hash-names"); strings.Contains(report, "db-") || strings.Contains(report, p.scene.name) || !strings.Contains(report, `"nothing"`) {
		t.Errorf("the report of a StatefulCluster at its goal:\n%s", report)
	}
}

// The pause ends although no object changes then.
func TestKubectlPausesAStatefulClusterForAWhile(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before := p.settles(2)
	user := p.person()
	user.ends(0, "pause", "stc/db", "--for", "12s", "--reason", "disk")
	p.updates(withContainer("db:2", ""))
	p.eventually("status says until when updates are paused, and why", func(present) error {
		_, out, errs := user.types("status", "stc/db")
		if !strings.Contains(out, "db is paused until ") || !strings.Contains(out, ": disk") || !strings.Contains(out, "UpdatesPaused until ") {
			return errors.New(out + errs)
		}
		return nil
	})
	for _, pod := range p.pods() {
		if pod.Spec.Containers[0].Image != before[0].Spec.Containers[0].Image {
			t.Errorf("%s was updated during the pause", pod.Name)
		}
	}
	p.hasImage(2, "db:2")
	p.eventually("status says that the pause is over", func(present) error {
		if _, out, errs := user.types("status", "stc/db"); !strings.Contains(out, "PauseExpired") {
			return errors.New(out + errs)
		}
		return nil
	})
	user.ends(0, "resume", "stc/db")
	p.hasConditions("nothing is to be corrected", nil)
}

func TestKubectlHoldsAStatefulCluster(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before := p.settles(2)
	user := p.person()
	user.ends(0, "hold", "stc/db", "--reason", "backup")
	p.updates(`{"spec": {"replicas": 1}}`)
	p.stays("both pods stay", aWhile, func(present) error {
		if now := p.pods(); len(now) != len(before) {
			return fmt.Errorf("%d pods", len(now))
		}
		return nil
	})
	if out := user.ends(2, "why", before[0].Name); !strings.Contains(out, "of StatefulCluster db, identity "+strings.TrimPrefix(before[0].Name, "db-")) || !strings.Contains(out, "An eviction would be refused: GroupHeld") {
		t.Errorf("why shows\n%s", out)
	}
	user.ends(2, "hold", "stc/db", "--reason", "another one")
	user.ends(0, "release", "stc/db", "--reason", "backup")
	p.settles(1)
}

func TestKubectlReplacesAPodAndDeletesTheClaimsOfItsIdentity(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before := p.settles(2)
	user := p.person()
	gone, id := before[0].Name, strings.TrimPrefix(before[0].Name, "db-")
	user.ends(0, "replace", gone)
	p.eventually("a new identity takes the place", func(present) error {
		if slices.ContainsFunc(p.settles(2), func(pod corev1.Pod) bool { return pod.Name == gone }) {
			return errors.New("not yet")
		}
		return nil
	})
	p.eventually("its claims are spent", func(present) error {
		if out := user.ends(0, "claims", "stc/db", "--spent"); strings.Count(out, "Spent") != 2 || strings.Count(out, "ReplacementAsked") != 2 {
			return errors.New(out)
		}
		return nil
	})
	living := strings.TrimPrefix(before[1].Name, "db-")
	user.in = living + "\n"
	if code, out, errs := user.types("claims", "stc/db", "--delete", living); code != 1 || !strings.Contains(errs, "accepted: "+id) {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
	user.in = id + "\n"
	if out := user.ends(0, "claims", "stc/db", "--delete", id); strings.Count(out, " deleted\n") != 2 {
		t.Errorf("claims --delete shows\n%s", out)
	}
	p.eventually("only the claims of the ended identity are gone", func(present) error {
		if kept, ended := p.claims(id); len(kept)+len(ended) > 0 {
			return fmt.Errorf("%v and %v", kept, ended)
		}
		return nil
	})
	for _, pod := range p.settles(2) {
		if kept, _ := p.claims(strings.TrimPrefix(pod.Name, "db-")); len(kept) != 2 {
			t.Errorf("pod %s has the claims %v", pod.Name, kept)
		}
	}
}

func TestKubectlReplacesAPodAndKeepsItsIdentity(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before := p.settles(2)
	user := p.person()
	name := before[0].Name
	if out := user.ends(0, "replace", name, "--keep"); !strings.Contains(out, "kubectl delete pod "+name+" -n "+p.scene.name) {
		t.Errorf("replace shows\n%s", out)
	}
	if out := user.ends(0, "why", name); !strings.Contains(out, "However it ends, another pod gets its name and its claims") {
		t.Errorf("why shows\n%s", out)
	}
	p.deletes(name)
	p.keptIdentity(before, name)
}
