package apiserver_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
	"github.com/lockstep-dev/lockstep/integration-tests/localcluster"
)

// ends deletes one of two pods, waits for another one in its place, and returns the identity that has ended.
func (p pool) ends(pod string) (id string) {
	p.t.Helper()
	p.deletes(pod)
	p.settles(2)
	return strings.TrimPrefix(pod, p.name+"-")
}

// keepsClaims waits until an identity has so many claims that say that it has ended.
func (p pool) keepsClaims(id string, want int) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("%d claims say that identity %s has ended", want, id), func(present) error {
		if living, retired := p.claims(id); len(living) > 0 || len(retired) != want {
			return fmt.Errorf("living %v, retired %v", living, retired)
		}
		return nil
	})
}

// annotates sets annotations of a claim of an identity.
func (p pool) annotates(id, claim, annotations string) {
	p.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": %s}}`, annotations)
	if _, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).Patch(p.t.Context(), p.name+"-"+claim+"-"+id, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

func TestStatefulClusterDeletesSpentClaimsByNumberAndAge(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"retiredLimit": int64(1)}})
	before, _ := identities(p.settles(2))
	kept := strings.TrimPrefix(before[0], "db-")
	p.annotates(kept, "data", `{"lockstep.dev/keep": "true"}`)
	p.ends(before[0])
	p.keepsClaims(kept, 2)
	p.pauses() // times have whole seconds
	earlier := p.ends(before[1])
	p.keepsClaims(earlier, 2)
	p.pauses()
	later := p.ends(p.pods()[0].Name)
	p.keepsClaims(earlier, 0)
	p.keepsClaims(later, 2)
	const age = 3 * time.Second
	p.updates(fmt.Sprintf(`{"spec": {"persistentVolumeClaimRetentionPolicy": {"retiredLimit": null, "retiredTTLSeconds": %d}}}`, int(age.Seconds())))
	p.keepsClaims(later, 0)
	last := p.ends(p.pods()[0].Name)
	p.keepsClaims(last, 0)
	if old := p.ageWhenDeleted(last); old < age {
		t.Errorf("claims were deleted %s after the end of their identity, want at least %s", old, age)
	}
	running := p.pods()[0]
	living := strings.TrimPrefix(running.Name, "db-")
	claims := p.uidsOfClaims(living)
	for _, claim := range []string{"data", "logs"} {
		p.annotates(living, claim, `{"lockstep.dev/retired-at": "2026-01-01T00:00:00Z", "lockstep.dev/retired-reason": "ScaledDown"}`)
	}
	p.eventually("the claims of a pod that runs lose marks that are false", func(present) error {
		if living, retired := p.claims(living); len(living) != 2 || len(retired) > 0 {
			return fmt.Errorf("living %v, retired %v", living, retired)
		}
		return nil
	})
	if after := p.uidsOfClaims(living); !maps.Equal(claims, after) || !slices.ContainsFunc(p.settles(2), func(pod corev1.Pod) bool { return pod.UID == running.UID }) {
		t.Errorf("the claims were %v and are %v, or the pod %s is gone", claims, after, running.Name)
	}
	p.keepsClaims(kept, 2)
}

// ageWhenDeleted returns how long after the end of an identity lockstep first asked for the deletion of a claim of it.
func (p pool) ageWhenDeleted(id string) time.Duration {
	p.t.Helper()
	history, err := p.witness.Events()
	if err != nil {
		p.t.Fatal(err)
	}
	i := slices.IndexFunc(history, func(e judge.Event) bool { return e.Claim != nil && e.Claim.ID == id && e.Claim.Retired })
	requests := p.requests()
	j := slices.IndexFunc(requests, func(r judge.Request) bool {
		return r.Verb == "delete" && r.Resource == "persistentvolumeclaims" && strings.HasSuffix(r.Name, "-"+id)
	})
	if i < 0 || j < 0 {
		p.t.Fatalf("identity %s: its end is event %d, and the deletion of a claim is request %d", id, i, j)
	}
	return requests[j].At.Sub(history[i].Claim.RetiredAt)
}

// pauses waits until the next identity that ends does so in another second.
func (p pool) pauses() {
	p.t.Helper()
	from := time.Now().Truncate(time.Second)
	p.eventually("another second begins", func(present) error {
		if time.Now().Truncate(time.Second).Equal(from) {
			return errors.New("not yet")
		}
		return nil
	})
}

// uidsOfClaims returns the UIDs of the claims with the label of an identity, without those that are being deleted. Without an
// identity it returns those of all identities.
func (p pool) uidsOfClaims(id string) map[string]types.UID {
	p.t.Helper()
	selector := "lockstep.dev/instance-id"
	if id != "" {
		selector += "=" + id
	}
	list, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(p.t.Context(), metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		p.t.Fatal(err)
	}
	uids := map[string]types.UID{}
	for _, c := range list.Items {
		if c.DeletionTimestamp == nil {
			uids[c.Name] = c.UID
		}
	}
	return uids
}

// isDeleted deletes the object, as users do, and waits until its pods are gone. Until then each of them has its claims.
func (p pool) isDeleted() {
	p.t.Helper()
	if err := p.resources(statefulClusters).Delete(p.t.Context(), p.name, deleteOptions); err != nil {
		p.t.Fatal(err)
	}
	p.eventually("the object and its pods are gone", func(present) error {
		claims, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(p.t.Context(), listOptions)
		if err != nil {
			return err
		}
		pods, err := p.world.admin.CoreV1().Pods(p.scene.name).List(p.t.Context(), listOptions)
		if err != nil {
			return err
		}
		for i := range pods.Items {
			id := pods.Items[i].Labels["lockstep.dev/instance-id"]
			if !slices.ContainsFunc(claims.Items, func(c corev1.PersistentVolumeClaim) bool { return c.Labels["lockstep.dev/instance-id"] == id }) {
				p.t.Fatalf("pod %s exists without its claims", pods.Items[i].Name)
			}
		}
		if _, err := p.resources(statefulClusters).Get(p.t.Context(), p.name, getOptions); !apierrors.IsNotFound(err) || len(pods.Items) > 0 {
			return fmt.Errorf("%d pods exist, and the object: %w", len(pods.Items), err)
		}
		return nil
	})
}

// An object of the same name is another one. Claims follow whenDeleted as it is when the object is deleted.
func TestStatefulClusterOfAFormerNameHasNewIdentitiesAndLeavesTheClaimsOfTheFormerOne(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenDeleted": "Delete"}})
	before, _ := identities(p.settles(2))
	p.keepsClaims(p.ends(before[0]), 2)
	p.areOwned(6)
	p.updates(`{"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}}}`)
	p.areOwned(0)
	retained := p.uidsOfClaims("")
	p.isDeleted()
	p.stays("the claims stay", aWhile, func(present) error { return sameClaims(retained, p.uidsOfClaims("")) })
	p.createPool(2, map[string]any{
		"persistentVolumeClaimRetentionPolicy": map[string]any{"whenDeleted": "Delete", "retiredTTLSeconds": int64(1)},
		"template":                             podTemplate(map[string]any{localcluster.GoneAfter: "2s"}),
	})
	now, _ := identities(p.settles(2))
	for _, name := range now {
		if _, former := retained["db-data-"+strings.TrimPrefix(name, "db-")]; former {
			t.Errorf("the name %s was used again", name)
		}
	}
	p.keepsClaims(p.ends(now[0]), 0)
	p.areOwned(4)
	p.isDeleted()
	p.eventually("the claims of the second object are deleted, those of the first one stay", func(present) error {
		return sameClaims(retained, p.uidsOfClaims(""))
	})
}

// sameClaims returns an error if there are other claims than before.
func sameClaims(before, after map[string]types.UID) error {
	if !maps.Equal(before, after) {
		return fmt.Errorf("the claims were %v and are %v", sortedKeys(before), sortedKeys(after))
	}
	return nil
}

// areOwned waits until that many claims belong to the object.
func (p pool) areOwned(want int) {
	p.t.Helper()
	p.eventually(fmt.Sprintf("%d claims belong to the object", want), func(present) error {
		list, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(p.t.Context(), listOptions)
		if err != nil {
			return err
		}
		owned := 0
		for _, c := range list.Items {
			if len(c.OwnerReferences) > 0 && c.DeletionTimestamp == nil {
				owned++
			}
		}
		if owned != want {
			return fmt.Errorf("%d of %d do", owned, len(list.Items))
		}
		return nil
	})
}

// No pod mounts a claim for a while, and then each one mounts those of its identity again.
func TestStatefulClusterHandsClaimsOverWhileItsTemplateAsksForNone(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 2, map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenReplaced": "Delete"}})
	names, _ := identities(p.settles(2))
	before := p.uidsOfClaims("")
	mounting := func(volumes int) {
		p.eventually(fmt.Sprintf("each pod has %d volumes with claims", volumes), func(present) error {
			for _, pod := range p.settles(2) {
				if n := len(volumesOf(&pod)); n != volumes {
					return fmt.Errorf("pod %s has %d", pod.Name, n)
				}
			}
			return nil
		})
	}
	p.updates(`{"spec": {"volumeClaimTemplates": null, "template": {"spec": {"containers": [{"name": "db", "image": "db:1"}]}}}}`)
	mounting(0)
	template, err := json.Marshal(map[string]any{"spec": map[string]any{"template": podTemplate(nil)}})
	if err != nil {
		t.Fatal(err)
	}
	with := strings.TrimSuffix(claimTemplates("data", "logs"), "}}") + "," + strings.TrimPrefix(string(template), `{"spec":{`)
	p.updates(with)
	mounting(2)
	after, _ := identities(p.pods())
	if err := sameClaims(before, p.uidsOfClaims("")); err != nil || !slices.Equal(names, after) {
		t.Errorf("the identities were %v and are %v: %v", names, after, err)
	}
}

func TestStatefulClusterReplacesAPodThatLostItsClaim(t *testing.T) {
	t.Parallel()
	p := unmanaged(t).withPool(2)
	before, _ := identities(p.settles(2))
	id := strings.TrimPrefix(before[0], "db-")
	claims := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name)
	removed := []byte(`{"metadata": {"labels": {"lockstep.dev/statefulcluster": null}}}`)
	if _, err := claims.Patch(t.Context(), "db-logs-"+strings.TrimPrefix(before[1], "db-"), types.MergePatchType, removed, metav1.PatchOptions{}); err != nil {
		t.Fatal(err) // a claim that only lost its label is not lost
	}
	if err := claims.Delete(t.Context(), "db-data-"+id, deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.eventually("a new identity takes the place of the pod", func(present) error {
		if names, _ := identities(p.settles(2)); slices.Contains(names, before[0]) || !slices.Contains(names, before[1]) {
			return fmt.Errorf("the pods are %v, were %v", names, before)
		}
		return nil
	})
	p.stays("the claim is not created again", aWhile, func(present) error {
		if n := p.creationsOf("db-data-" + id); n != 1 {
			return fmt.Errorf("it was created %d times", n)
		}
		return nil
	})
}

// creationsOf returns how often operators have created a claim.
func (p pool) creationsOf(claim string) (n int) {
	p.t.Helper()
	for _, r := range p.requests() {
		if r.Verb == "create" && r.Resource == "persistentvolumeclaims" && r.User == p.own.User && r.Name == claim {
			n++
		}
	}
	return n
}

func TestStatefulClusterDeletesTheClaimsThatItsPolicyGivesUp(t *testing.T) {
	t.Parallel()
	for sentence, start := range map[string]func(*testing.T, map[string]any) pool{
		"by the operator of the namespace": func(t *testing.T, more map[string]any) pool {
			t.Helper()
			s := unmanaged(t)
			s.withRoleForPools()
			return s.createPool(3, more)
		},
		"by the operator of the cluster": func(t *testing.T, more map[string]any) pool { t.Helper(); p, _ := onNodes(t, more); return p },
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			givesUpClaims(t, start(t, map[string]any{"persistentVolumeClaimRetentionPolicy": map[string]any{"whenScaled": "Delete", "whenDeleted": "Delete"}}))
		})
	}
}

func givesUpClaims(t *testing.T, p pool) {
	t.Helper()
	before := p.settles(3)
	lost := strings.TrimPrefix(before[0].Name, "db-")
	if err := p.world.admin.CoreV1().Pods(p.scene.name).Delete(t.Context(), before[0].Name, deleteOptions); err != nil {
		t.Fatal(err)
	}
	p.eventually("the claims of the lost pod are marked", func(present) error {
		if living, retired := p.claims(lost); len(living) > 0 || len(retired) != 2 {
			return fmt.Errorf("living %v, retired %v", living, retired)
		}
		return nil
	})
	p.settles(3)
	p.updates(`{"spec": {"replicas": 1}}`)
	kept := strings.TrimPrefix(p.settles(1)[0].Name, "db-")
	claims := func() (names []string) {
		list, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).List(t.Context(), listOptions)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp == nil {
				names = append(names, list.Items[i].Name)
			}
		}
		return names
	}
	want := []string{"db-data-" + kept, "db-data-" + lost, "db-logs-" + kept, "db-logs-" + lost}
	slices.Sort(want)
	p.eventually("only the claims of the lost pod and of the one that stays exist", func(present) error {
		if got := claims(); !slices.Equal(got, want) {
			return fmt.Errorf("the claims are %v, want %v", got, want)
		}
		return nil
	})
	p.updates(`{"spec": {"persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain"}}}`)
	p.eventually("the claims do not belong to the object any more", func(present) error {
		for _, name := range want {
			claim, err := p.world.admin.CoreV1().PersistentVolumeClaims(p.scene.name).Get(t.Context(), name, getOptions)
			if err != nil || len(claim.OwnerReferences) > 0 {
				return errors.Join(fmt.Errorf("%s has %d owners", name, len(claim.OwnerReferences)), err)
			}
		}
		return nil
	})
}
