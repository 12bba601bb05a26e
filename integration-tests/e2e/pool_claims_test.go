package e2e_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// deletesClaims ends identities under one policy for claims after the other. Then it asks for larger claims.
func (w *world) deletesClaims(t *testing.T) {
	t.Parallel()
	p := w.pool(t, "pool-claims", 1, slices.Repeat(w.nodes, 3)...)
	before := p.begins(3, deletesClaimsIf("whenScaled"), variable("MEMBER_STOP", "3s"))
	p.scales(2)
	p.losesClaim(p.leftOf(before, 2))

	lost := p.losesMember()
	p.wantEnded(lost, "IdentityLost") // it left for another reason
	p.changesFields(deletesClaimsIf("whenReplaced"))
	p.losesClaim(lost)
	p.losesClaim(p.losesMember())

	p.changesFields(claimPolicy("retiredLimit", int64(1)))
	earlier, later := p.losesMember(), p.losesMember()
	p.losesClaim(earlier)
	p.wantEnded(later, "IdentityLost")

	const age = 4 * time.Second
	p.changesFields(claimPolicy("retiredTTLSeconds", int64(age.Seconds())))
	p.losesClaim(later)
	last := p.losesMember()
	p.losesClaim(last)
	p.wantAge(last, age)
	p.wantIdentities(8)
	p.growsClaims("2Gi")
}

// claimPolicy is a policy for claims with only this field.
func claimPolicy(field string, value any) map[string]any {
	return map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{field: value}}
}

func deletesClaimsIf(field string) map[string]any { return claimPolicy(field, "Delete") }

// changesFields replaces fields of the spec.
func (p *pool) changesFields(fields map[string]any) {
	p.t.Helper()
	p.changesObject(func(o *unstructured.Unstructured) error {
		for name, value := range fields {
			if err := unstructured.SetNestedField(o.Object, value, "spec", name); err != nil {
				return err
			}
		}
		return nil
	})
}

// leftOf waits until only so many of the members are left, and returns the one that is not.
func (p *pool) leftOf(before []corev1.Pod, stay int) (gone *corev1.Pod) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("%d members are left", stay), func() error {
		now, err := p.members(p.t.Context())
		if err == nil && len(now) != stay {
			err = fmt.Errorf("%d are", len(now))
		}
		for i := range before {
			if !slices.ContainsFunc(now, func(pod corev1.Pod) bool { return pod.UID == before[i].UID }) {
				gone = &before[i]
			}
		}
		return err
	})
	return gone
}

// losesMember deletes a member as a user does, and waits until a new identity serves in its place.
func (p *pool) losesMember() *corev1.Pod {
	p.t.Helper()
	members := p.settles()
	p.deletes(&members[0])
	p.serves(len(members), members[0].Name)
	return &members[0]
}

// losesClaim waits until the claim of a member is deleted, and fails the test if that was before its pod had ended.
func (p *pool) losesClaim(pod *corev1.Pod) {
	p.t.Helper()
	ended, deleted := uint64(0), uint64(0)
	eventually(p.t, "the claim of "+pod.Name+" is deleted", func() error {
		for _, e := range p.history() {
			switch {
			case e.Pod != nil && e.Pod.UID == string(pod.UID) && e.Pod.Deleted:
				ended = e.Version
			case e.Claim != nil && e.Claim.Name == claimOf(pod) && e.Claim.Ending && deleted == 0:
				deleted = e.Version
			}
		}
		if ended == 0 || deleted == 0 {
			return fmt.Errorf("the pod ended at version %d, the claim at %d", ended, deleted)
		}
		return nil
	})
	if deleted < ended {
		p.t.Errorf("the claim of %s was deleted at version %d, and its pod ended at %d", pod.Name, deleted, ended)
	}
}

// wantAge fails the test if the claim of a member was deleted before its identity had ended for so long.
func (p *pool) wantAge(pod *corev1.Pod, age time.Duration) {
	p.t.Helper()
	of := func(e judge.Event) bool { return e.Claim != nil && e.Claim.Name == claimOf(pod) }
	history := p.history()
	retired := slices.IndexFunc(history, func(e judge.Event) bool { return of(e) && e.Claim.Retired })
	deleted := slices.IndexFunc(history, func(e judge.Event) bool { return of(e) && e.Claim.Ending })
	if retired < 0 || deleted < 0 {
		p.t.Fatalf("of %s, the end is event %d, and the deletion of the claim is event %d", pod.Name, retired, deleted)
	}
	if old := history[deleted].At.Sub(history[retired].Claim.RetiredAt); old < age {
		p.t.Errorf("the claim of %s was deleted %s after the end of its identity, %s wanted", pod.Name, old, age)
	}
}

// growsClaims asks for more storage in the claim template, and waits until the claims of all members ask for it. No member
// is touched. The disks stay as they are: only a driver could make them larger.
func (p *pool) growsClaims(to string) {
	p.t.Helper()
	before, since := p.settles(), len(p.history())
	p.changesObject(func(o *unstructured.Unstructured) error {
		templates, _, err := unstructured.NestedSlice(o.Object, "spec", "volumeClaimTemplates")
		if err != nil {
			return err
		}
		template, is := templates[0].(map[string]any)
		if !is {
			return fmt.Errorf("the claim template is %v", templates[0])
		}
		if err := unstructured.SetNestedField(template, to, "spec", "resources", "requests", "storage"); err != nil {
			return err
		}
		return unstructured.SetNestedSlice(o.Object, templates, "spec", "volumeClaimTemplates")
	})
	eventually(p.t, "the claims of all members ask for "+to, func() error {
		for i := range before {
			claim, err := p.admin.CoreV1().PersistentVolumeClaims(p.name).Get(p.t.Context(), claimOf(&before[i]), metav1.GetOptions{})
			if err != nil {
				return err
			}
			if asked := claim.Spec.Resources.Requests.Storage().String(); asked != to {
				return fmt.Errorf("claim %s asks for %s", claim.Name, asked)
			}
		}
		return nil
	})
	p.wantKept(before, p.settles(), 0)
	p.wantNoneDown(since)
}
