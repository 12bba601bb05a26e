package admission_test

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// withLargeMetadata makes a StatefulSet as large as a database's.
func withLargeMetadata(s *appsv1.StatefulSet) {
	labelled(s)
	container := corev1.Container{Name: "ingester", Image: "registry.example/ingester:1.2.3"}
	for i := range 100 {
		container.Args = append(container.Args, fmt.Sprintf("-ingester.some-option-%d=some-value", i))
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: "value"})
	}
	s.Spec.Template.Spec.Containers = []corev1.Container{container, container}
	for i := range 4 {
		s.ManagedFields = append(s.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: fmt.Sprint("manager-", i), Operation: metav1.ManagedFieldsOperationApply,
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"ingester\"}":{".":{},"f:args":{},"f:env":{},"f:image":{}}}}}}}`),
		})
	}
}

func BenchmarkNoDownscale(b *testing.B) {
	cached := func(string, string, string) (observe.Scaled, bool) {
		return observe.Scaled{UID: "uid-a", Version: 7, NoDownscale: true}, true
	}
	h := noDownscale(admission.NoDownscale{Parents: admission.ScaleParents{Cached: cached}})
	for name, review := range map[string][]byte{
		"Scale":       update(b, scale(3), scale(2)),
		"StatefulSet": update(b, set(3, withLargeMetadata), set(2, withLargeMetadata)),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(review)))
			b.ReportAllocs()
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				if w := post(b, h, noDownscalePath, review); w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
				took = append(took, time.Since(began))
			}
			reportP99(b, took)
		})
	}
}

func reportP99(b *testing.B, took []time.Duration) {
	b.Helper()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkPrepareDownscale refuses to scale down a zone of a group of that many pods, one of
// which is missing in another zone.
func BenchmarkPrepareDownscale(b *testing.B) {
	for _, pods := range []int{30, 300} {
		group := withPodMissing(pods).group
		group.Zones[0].UID, group.Zones[0].Version = "uid-a", 7
		h := preparing(group)
		for name, review := range map[string][]byte{
			"Scale":       update(b, scale(3), scale(2)),
			"StatefulSet": update(b, set(3, withLargeMetadata), set(2, withLargeMetadata)),
		} {
			b.Run(fmt.Sprintf("%s, %d pods", name, pods), func(b *testing.B) {
				refuse(b, preparePath, review, func() http.Handler { return h })
			})
		}
	}
}

// BenchmarkPodEviction refuses evictions from a group of that many pods, one of which is down in
// another zone. The first of many concurrent requests counts the group; the others use the
// result.
func BenchmarkPodEviction(b *testing.B) {
	for _, pods := range []int{300, 5000} {
		c := withPodMissing(pods)
		review := eviction(b, "zone-a-0", bound("zone-a-0", ""))
		b.Run(fmt.Sprintf("%d pods, the first request", pods), func(b *testing.B) {
			refuse(b, evictionPath, review, func() http.Handler {
				h, _ := evictionHandler(c)
				return h
			})
		})
		b.Run(fmt.Sprintf("%d pods, a request in the meantime", pods), func(b *testing.B) {
			h, _ := evictionHandler(c)
			refuse(b, evictionPath, review, func() http.Handler { return h })
		})
	}
}

// refuse measures refusals. It calls handler for each request.
func refuse(b *testing.B, path string, review []byte, handler func() http.Handler) {
	b.Helper()
	b.ReportAllocs()
	var took []time.Duration
	for b.Loop() {
		h := handler()
		began := time.Now()
		w := post(b, h, path, review)
		took = append(took, time.Since(began))
		if !bytes.Contains(w.Body.Bytes(), []byte("OtherZoneUnavailable")) {
			b.Fatal(w.Body)
		}
	}
	reportP99(b, took)
}

// withPodMissing returns a cluster with a group of three zones, one of which lacks its
// first pod.
func withPodMissing(pods int) *evictable {
	var zones []fixture.Part
	for _, zone := range []string{"zone-a", "zone-b", "zone-c"} {
		parts := []fixture.ZonePart{fixture.Replicas(pods / 3)}
		for ordinal := range pods / 3 {
			if zone != "zone-c" || ordinal > 0 {
				parts = append(parts, fixture.Pod(ordinal, plan.Ready, "1"))
			}
		}
		zones = append(zones, fixture.Zone(zone, "1", parts...))
	}
	return cluster(zones...)
}

// The memory of a decision is proportional to the review: a large object is skipped,
// not stored.
func TestDecisionUsesLittleMemory(t *testing.T) {
	review := update(t, set(3, withLargeMetadata), set(2, withLargeMetadata))
	h := noDownscale(admission.NoDownscale{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const reviews = 20
	for range reviews {
		post(t, h, noDownscalePath, review)
	}
	runtime.ReadMemStats(&after)
	if taken := int(after.TotalAlloc-before.TotalAlloc) / reviews; taken > 3*len(review) {
		t.Errorf("a review of %d bytes takes %d bytes", len(review), taken)
	}
}
