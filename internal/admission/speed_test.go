package admission_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/admission"
	"github.com/lockstep-dev/lockstep/internal/fixture"
	"github.com/lockstep-dev/lockstep/internal/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// grown makes a StatefulSet as large as those of a database are.
func grown(s *appsv1.StatefulSet) {
	barred(s)
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
		"StatefulSet": update(b, set(3, grown), set(2, grown)),
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
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// An eviction in a group with 300 pods in three zones.
func BenchmarkPodEviction(b *testing.B) {
	zones := func(hold fixture.Part) *evictable {
		pods := fixture.Pods(slices.Repeat([]string{"1"}, 100)...)
		return cluster(fixture.Zone("zone-a", "1", pods), fixture.Zone("zone-b", "1", pods), fixture.Zone("zone-c", "1", pods), hold)
	}
	for name, c := range map[string]*evictable{
		"refused": zones(func(s *plan.Snapshot) {
			fixture.Held(plan.Rollout.For("zone-b"), fixture.Noted("zone-b-0"))(s)
			s.Hold.Waiting = []plan.Waiting{{Operation: plan.Eviction, Zone: "zone-a", Since: s.Now, LastSeen: s.Now}}
		}),
		"granted": zones(fixture.Held(plan.Eviction.For("zone-a"))),
	} {
		b.Run(name, func(b *testing.B) {
			h, told := evicting(c)
			review := eviction(b, "zone-a-7", bound("zone-a-7", ""))
			free := c.record
			var took []time.Duration
			for b.Loop() {
				c.record, c.written, *told = free, nil, nil
				began := time.Now()
				w := post(b, h, evictionPath, review)
				took = append(took, time.Since(began))
				if w.Code != http.StatusOK || (len(c.written) == 1) != (name == "granted") {
					b.Fatal(w.Body)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		})
	}
}

// What a decision takes of memory is in proportion to the review: a large object
// is skipped, not kept.
func TestADecisionTakesLittleMemory(t *testing.T) {
	review := update(t, set(3, grown), set(2, grown))
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
