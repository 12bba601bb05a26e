package apiserver_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"testing"
	"time"
)

func TestThePredecessorCanTakeOverAgain(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	p, admin := s.predecessor(), s.shell()
	s.create(zone("zone-a", 3, formerly, apartByLabel("1s")), zone("zone-b", 3, formerly, apartByLabel("1s")))
	p.tracks(map[string]time.Time{"zone-a": time.Now().Add(-time.Hour)})
	before := p.tracked().Data
	secret := p.certificate()
	p.registers()
	admin.types(guided(t, "Take over", "sh"))
	p.isForgotten()
	began := time.Now().Truncate(time.Second)
	s.changeAll(version(2))
	s.scalesDownAtLast(scaled, "zone-b")
	s.settled()
	s.eventually("the time is on the zone", func(now present) error {
		if now.sets["zone-b"].Annotations[downscaledAnnotation] == "" {
			return errors.New("not yet")
		}
		return nil
	})

	admin.types(guided(t, "Go back to the predecessor", "sh"))
	back := time.Now()
	after := p.tracked().Data
	if after["zone-a"] != before["zone-a"] {
		t.Errorf("of zone-a it knew %s, and knows %s", before["zone-a"], after["zone-a"])
	}
	var tracked struct{ LastDownscaled time.Time }
	if err := json.Unmarshal([]byte(after["zone-b"]), &tracked); err != nil || tracked.LastDownscaled.Before(began) || tracked.LastDownscaled.After(back) {
		t.Errorf("for zone-b it knows %s (%v), which was scaled down after %s", after["zone-b"], err, began)
	}
	if !maps.EqualFunc(p.certificate(), secret, bytes.Equal) {
		t.Error("its Secret was changed")
	}
	p.hasItsWebhooks()
	deployment, err := s.world.admin.AppsV1().Deployments(s.name).Get(t.Context(), former, getOptions)
	if err != nil || *deployment.Spec.Replicas != 1 {
		t.Errorf("its Deployment has %d replicas: %v", *deployment.Spec.Replicas, err)
	}
	s.hasNoRolloutGroup()
	s.hasNoLease()
	for name, set := range s.witness.now().sets {
		if set.Labels[groupLabel] != defaultGroup || set.Spec.Template.Labels["name"] != name {
			t.Errorf("%s has the labels %v and %v", name, set.Labels, set.Spec.Template.Labels)
		}
	}
	s.stays("lockstep writes nothing", aWhile, func(present) error {
		if late := s.writesOf(s.operator.user, back); len(late) > 0 {
			return errors.New(late[0].String())
		}
		return nil
	})
}

// hasItsWebhooks fails the test unless the predecessor's webhook configurations exist with its own
// CA.
func (p *predecessor) hasItsWebhooks() {
	p.t.Helper()
	bundles := p.bundles()
	if len(bundles) != 4 {
		p.t.Errorf("it has %d webhook configurations", len(bundles))
	}
	for name, bundle := range bundles {
		if !bytes.Equal(bundle, p.ca) {
			p.t.Errorf("%s has another CA", name)
		}
	}
}

// hasNoLease waits until no group has a Lease.
func (s *scene) hasNoLease() {
	s.t.Helper()
	s.eventually("no Lease remains", func(now present) error {
		if left := sortedKeys(now.leases); len(left) > 0 {
			return errors.New(left[0])
		}
		return nil
	})
}

// certificate returns the data of the predecessor's Secret.
func (p *predecessor) certificate() map[string][]byte {
	p.t.Helper()
	secret, err := p.world.admin.CoreV1().Secrets(p.name).Get(p.t.Context(), formerCertificate, getOptions)
	if err != nil {
		p.t.Fatal(err)
	}
	return secret.Data
}
