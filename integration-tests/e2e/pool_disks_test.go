package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/integration-tests/enclosure"
)

// addDisks adds an empty disk to each of these nodes. A member without a disk needs one of them, so
// it runs there.
func (p *pool) addDisks(nodes ...string) {
	p.t.Helper()
	for _, node := range nodes {
		p.disks++
		name := fmt.Sprintf("%s-%d", p.name, p.disks)
		path := filepath.Join(enclosure.Dir(), node, "disks", name)
		if err := os.MkdirAll(path, 0o755); err != nil {
			p.t.Fatal(err)
		}
		disk := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{maker: p.name}},
			Spec: corev1.PersistentVolumeSpec{
				StorageClassName: p.name, Capacity: storage, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
				NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
				}}}},
			},
		}
		if _, err := p.admin.CoreV1().PersistentVolumes().Create(p.t.Context(), disk, metav1.CreateOptions{}); err != nil {
			p.t.Fatal(err)
		}
	}
}

var storage = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}

func (p *pool) removeDisks() {
	if p.scene == nil {
		return
	}
	ctx := context.WithoutCancel(p.t.Context())
	err := p.admin.CoreV1().PersistentVolumes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: maker + "=" + p.name})
	if err := errors.Join(err, p.admin.StorageV1().StorageClasses().Delete(ctx, p.name, metav1.DeleteOptions{})); err != nil {
		p.t.Error(err)
	}
}

// claimOf returns the name of the claim of a member.
func claimOf(pod *corev1.Pod) string {
	for _, volume := range pod.Spec.Volumes {
		if volume.PersistentVolumeClaim != nil {
			return volume.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}

// wantOnDisks fails the test unless each member has a claim named after it, bound to a disk of its node.
func (p *pool) wantOnDisks(members []corev1.Pod) {
	p.t.Helper()
	for i := range members {
		pod := &members[i]
		if want := strings.Replace(pod.Name, group, group+"-"+diskName, 1); claimOf(pod) != want {
			p.t.Errorf("%s has the claim %q, %s wanted", pod.Name, claimOf(pod), want)
		}
		disk := p.diskOf(pod)
		if node := disk.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Values[0]; disk.Status.Phase != corev1.VolumeBound || node != pod.Spec.NodeName {
			p.t.Errorf("%s is on %s; its disk is on %s and is %s", pod.Name, pod.Spec.NodeName, node, disk.Status.Phase)
		}
	}
}

// diskOf returns the disk to which the claim of a member is bound.
func (p *pool) diskOf(pod *corev1.Pod) *corev1.PersistentVolume {
	p.t.Helper()
	claim, err := p.admin.CoreV1().PersistentVolumeClaims(p.name).Get(p.t.Context(), claimOf(pod), metav1.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	disk, err := p.admin.CoreV1().PersistentVolumes().Get(p.t.Context(), claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	if of := disk.Spec.ClaimRef; claim.Status.Phase != corev1.ClaimBound || of == nil || of.UID != claim.UID {
		p.t.Fatalf("claim %s is %s, and disk %s belongs to %v", claim.Name, claim.Status.Phase, disk.Name, of)
	}
	return disk
}
