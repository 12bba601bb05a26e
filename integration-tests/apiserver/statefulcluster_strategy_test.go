package apiserver_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The same pods are updated in place only, then only above the partition, and then only once they are deleted.
func TestStatefulClusterUpdatesNoMorePodsThanItsStrategyAllows(t *testing.T) {
	t.Parallel()
	p := sharedPool(t, 3, map[string]any{"updateStrategy": map[string]any{"rollingUpdate": map[string]any{"podUpdatePolicy": "InPlaceOnly"}}})
	before := p.settles(3)
	p.updates(withContainer("db:2", `, "env": [{"name": "MODE", "value": "fast"}]`))
	p.eventually("the status says that the change is impossible in place", func(present) error { return p.progresses("False", "InPlaceImpossible") })
	p.staysAt(before, "db:1 db:1 db:1")
	p.updates(withContainer("db:2", ""))
	p.hasStayed(before, p.hasImage(3, "db:2"))

	p.updates(`{"spec": {"updateStrategy": {"rollingUpdate": {"partition": 2}}}}`)
	p.updates(withContainer("db:3", ""))
	p.runs("db:2 db:2 db:3")
	p.replacesAlike("db:3")
	p.replacesAlike("db:2")
	p.runs("db:2 db:2 db:3")

	p.updates(`{"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": null}}}`)
	p.updates(withContainer("db:4", ""))
	p.eventually("the status says that pods are updated once they are deleted", func(present) error {
		o, err := p.resources(statefulClusters).Get(t.Context(), p.name, getOptions)
		if why, _, _ := unstructured.NestedString(o.Object, "status", "waiting", "reason"); err == nil && why != "UpdatesByDeletion" {
			err = fmt.Errorf("it says %s", why)
		}
		return err
	})
	all := p.pods()
	p.staysAt(all, "db:2 db:2 db:3")
	old := slices.IndexFunc(all, func(pod corev1.Pod) bool { return imageOf(&pod) == "db:3" })
	p.deletes(all[old].Name)
	p.runs("db:2 db:2 db:4")
	p.staysAt(p.pods(), "db:2 db:2 db:4")
}

// replacesAlike deletes a pod with an image, and waits until a new identity has that image from its beginning.
func (p pool) replacesAlike(image string) {
	p.t.Helper()
	before := p.pods()
	deleted := slices.IndexFunc(before, func(pod corev1.Pod) bool { return imageOf(&pod) == image })
	p.deletes(before[deleted].Name)
	_, uids := identities(before)
	p.eventually("a new identity has image "+image, func(present) error {
		for _, pod := range p.pods() {
			if !slices.Contains(uids, string(pod.UID)) && isReady(&pod) {
				if imageOf(&pod) != image || pod.Annotations["lockstep.dev/inplace-update"] != "" {
					p.t.Fatalf("pod %s has image %s, and the update %q", pod.Name, imageOf(&pod), pod.Annotations["lockstep.dev/inplace-update"])
				}
				return nil
			}
		}
		return fmt.Errorf("there is none")
	})
}

// runs waits until all pods are Ready and have these images.
func (p pool) runs(images string) {
	p.t.Helper()
	p.eventually("the pods run "+images, func(present) error {
		pods := p.pods()
		if got := imagesOf(pods); got != images || slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !isReady(&pod) }) {
			return fmt.Errorf("they have %s", got)
		}
		return nil
	})
}

// staysAt checks that the pods have these images, and are neither replaced nor restarted.
func (p pool) staysAt(pods []corev1.Pod, images string) {
	p.t.Helper()
	containers := len(containersOf(pods))
	p.stays("no pod changes", aWhile, func(present) error {
		now := p.pods()
		p.hasStayed(pods, now)
		if got := imagesOf(now); got != images || len(containersOf(append(now, pods...))) != containers {
			return fmt.Errorf("they have %s", got)
		}
		return nil
	})
}

func imageOf(pod *corev1.Pod) string { return pod.Spec.Containers[0].Image }

// imagesOf returns the images of pods, sorted.
func imagesOf(pods []corev1.Pod) string {
	var images []string
	for i := range pods {
		images = append(images, imageOf(&pods[i]))
	}
	slices.Sort(images)
	return strings.Join(images, " ")
}
