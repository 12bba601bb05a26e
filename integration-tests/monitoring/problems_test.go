package monitoring_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// causeProblems causes states in the group that a person should see: an annotation that cannot be read, a
// zone whose pods are called before a downscale, a budget, and an invalid budget.
func (s *scene) causeProblems() {
	s.Helper()
	for zone, metadata := range map[string]string{
		zones[0]: `{"annotations": {"rollout-max-unavailable": "0%"}}`,
		zones[1]: `{"labels": {"grafana.com/prepare-downscale": "true"},
			"annotations": {"grafana.com/prepare-downscale-http-path": "prepare", "grafana.com/prepare-downscale-http-port": "80"}}`,
	} {
		_, err := s.admin.AppsV1().StatefulSets(namespace).Patch(s.Context(), zone, types.MergePatchType, []byte(`{"metadata": `+metadata+`}`), metav1.PatchOptions{})
		s.must(err)
	}
	file := filepath.Join(s.TempDir(), "budgets.yaml")
	for name, spec := range map[string]string{
		"useful":  `{selector: {matchLabels: {rollout-group: ` + group + `}}, maxUnavailable: 1}`,
		"useless": `{selector: {matchLabels: {nobody: has}}, maxUnavailable: 1, podNamePartitionRegex: "("}`,
	} {
		writeFile(s.T, file, "apiVersion: rollout-operator.grafana.com/v1\nkind: ZoneAwarePodDisruptionBudget\nmetadata: {name: "+name+", namespace: "+namespace+"}\nspec: "+spec+"\n")
		s.must(s.cluster.Apply(s.Context(), file))
	}
}

// sendInvalidReview sends an invalid review to a webhook.
func (c *caller) sendInvalidReview() {
	c.Helper()
	q, err := http.NewRequestWithContext(c.Context(), http.MethodPost, c.address+"/admission/zpdb-validation", strings.NewReader("{}"))
	c.must(err)
	q.Header.Set("Content-Type", "application/json")
	answer, err := c.client.Do(q)
	c.must(err)
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		c.Fatalf("an invalid review is answered with %s", answer.Status)
	}
}

// scaleDownForGood requests a downscale that is not a dry run. It is refused, because the last pod has
// an address that lockstep never calls.
func (c *caller) scaleDownForGood(zone string) {
	c.Helper()
	last := fmt.Sprintf("%s-%d", zone, podsEach-1)
	const nowhere = `{"status": {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}}`
	_, err := c.admin.CoreV1().Pods(namespace).Patch(c.Context(), last, types.MergePatchType, []byte(nowhere), metav1.PatchOptions{}, "status")
	if err != nil {
		c.Logf("%s cannot be given an address now: %v", last, err)
		return
	}
	before, after := c.scaledDown(zone)
	if why := c.send("prepare-downscale", inEarnest(updateOf(zone, before, after))); why == "" {
		c.Errorf("%s may be scaled down", zone)
	}
}

// evict evicts a pod: the webhook grants the eviction, and evict carries it out once seen returns
// nil.
func (c *caller) evict(pod string, seen func() error) {
	c.Helper()
	var evicted *corev1.Pod
	c.await("a yes to the eviction", func() error {
		var err error
		if evicted, err = c.admin.CoreV1().Pods(namespace).Get(c.Context(), pod, metav1.GetOptions{}); err != nil {
			return err
		}
		if why := c.send("pod-eviction", inEarnest(evictionOf(pod, string(evicted.UID)))); why != "" {
			return fmt.Errorf("refused: %s", why)
		}
		return nil
	})
	c.await("the eviction that is granted", seen)
	c.must(c.admin.PolicyV1().Evictions(namespace).Evict(c.Context(), &policyv1.Eviction{
		ObjectMeta:    metav1.ObjectMeta{Name: pod, Namespace: namespace},
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &evicted.UID}},
	}))
	c.rolled()
}

// inEarnest removes the dry run from a request.
func inEarnest(request object) object {
	request["dryRun"] = false
	return request
}
