package observe

import (
	"fmt"
	"maps"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/lockstep-dev/lockstep/internal/contract"
)

var records = cmp.AllowUnexported(podRecord{}, strangerRecord{}, zoneRecord{}, namespaceRecord{})

// A cache transforms objects that arrive, and sometimes objects that were transformed before.
func TestTrimmingTwiceChangesNothing(t *testing.T) {
	for sentence, tc := range map[string]struct {
		object any
		trim   cache.TransformFunc
	}{
		"a pod of a StatefulSet":        {newPod("zone-a", 0), trimPod},
		"a pod without an owner":        {newPod("zone-a", 0, ownedBy()), trimPod},
		"a pod that has no name":        {&corev1.Pod{}, trimPod},
		"a StatefulSet":                 {newSet("zone-a"), trimZone},
		"a StatefulSet without a group": {newSet("zone-a", ungrouped), trimZone},
		"a namespace":                   {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", ResourceVersion: "5"}}, trimNamespace},
	} {
		t.Run(sentence, func(t *testing.T) {
			once := must(tc.trim(tc.object))
			if diff := cmp.Diff(once, must(tc.trim(once)), records); diff != "" {
				t.Errorf("-once +twice:\n%s", diff)
			}
			unknown := cache.DeletedFinalStateUnknown{Key: "team/x", Obj: once}
			if diff := cmp.Diff(unknown, must(tc.trim(unknown)), records); diff != "" {
				t.Errorf("a deletion that was missed (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(once, final(unknown), records); diff != "" {
				t.Errorf("the state before a deletion that was missed (-want +got):\n%s", diff)
			}
			if _, err := tc.trim(&appsv1.Deployment{}); err == nil || !strings.Contains(err.Error(), "unexpected *v1.Deployment") {
				t.Errorf("a Deployment: got %v", err)
			}
		})
	}
}

func TestTrimmedObjectsKeepTheFieldsThatCachesNeed(t *testing.T) {
	for _, tc := range []struct {
		object metav1.Object
		trim   cache.TransformFunc
	}{
		{newPod("zone-a", 0), trimPod},
		{newSet("zone-a"), trimZone},
		{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", ResourceVersion: "5"}}, trimNamespace},
	} {
		trimmed := must(tc.trim(tc.object))
		accessor, ok := trimmed.(metav1.ObjectMetaAccessor)
		if !ok {
			t.Fatalf("%T has no metadata", trimmed)
		}
		got := accessor.GetObjectMeta()
		if got.GetName() != tc.object.GetName() || got.GetNamespace() != tc.object.GetNamespace() || got.GetResourceVersion() != tc.object.GetResourceVersion() {
			t.Errorf("%T: got %s/%s at %s", trimmed, got.GetNamespace(), got.GetName(), got.GetResourceVersion())
		}
		want, _ := cache.MetaNamespaceKeyFunc(tc.object)
		if key, err := cache.MetaNamespaceKeyFunc(trimmed); err != nil || key != want {
			t.Errorf("%T: key %q, %v, want %q", trimmed, key, err, want)
		}
	}
}

func TestThatAPodCanBeCalledIsNewsAndWhereIsNot(t *testing.T) {
	at := func(ip string) keptPod {
		return as[keptPod](must(trimPod(newPod("zone-a", 0, func(p *corev1.Pod) { p.Status.PodIP = ip }))))
	}
	if !samePod(at("10.0.0.1"), at("10.0.0.2")) {
		t.Error("another address is news")
	}
	if samePod(at(""), at("10.0.0.1")) || samePod(at("10.0.0.1"), at("")) {
		t.Error("no event when a pod gets or loses its address")
	}
}

func TestOnlyTheVersionDiffers(t *testing.T) {
	for sentence, tc := range map[string]struct {
		change change[*corev1.Pod]
		want   bool
	}{
		"another version":   {func(p *corev1.Pod) { version10(p) }, true},
		"the first pod IP":  {func(p *corev1.Pod) { version10(p); p.Status.PodIP = "10.0.0.1" }, false},
		"a label":           {func(p *corev1.Pod) { p.Labels["zone"] = "a" }, false},
		"its ordinal":       {func(p *corev1.Pod) { p.Labels["apps.kubernetes.io/pod-index"] = "0" }, true},
		"an annotation":     {func(p *corev1.Pod) { version10(p); p.Annotations = map[string]string{"a": "b"} }, true},
		"it is terminating": {func(p *corev1.Pod) { version10(p); terminating(p) }, false},
		"Ready once more":   {func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(noon.Add(time.Second)) }, false},
		"another revision":  {func(p *corev1.Pod) { p.Labels[contract.RevisionLabel] = "new" }, false},
		"another pod":       {func(p *corev1.Pod) { p.UID = "other" }, false},
		"orphaned":          {ownedBy(), false},
		"it fails":          {notReady(waits("CrashLoopBackOff")), false},
	} {
		t.Run("pod: "+sentence, func(t *testing.T) {
			was, is := as[keptPod](must(trimPod(newPod("zone-a", 0)))), as[keptPod](must(trimPod(newPod("zone-a", 0, tc.change))))
			if got := samePod(was, is); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
	for sentence, tc := range map[string]struct {
		change change[*appsv1.StatefulSet]
		want   bool
	}{
		"another version":     {func(s *appsv1.StatefulSet) { version10(s) }, true},
		"pods counted again":  {func(s *appsv1.StatefulSet) { version10(s); s.Status.CurrentReplicas = 1 }, true},
		"the last one is due": {func(s *appsv1.StatefulSet) { version10(s); s.Status.ReadyReplicas = 1 }, false},
		"another group":       {inGroup("other"), false},
		"no group":            {ungrouped, false},
		"a group, unnamed":    {inGroup(""), false},
		"scaled":              {func(s *appsv1.StatefulSet) { s.Spec.Replicas = new(int32(5)) }, false},
		"paused":              {annotated(contract.PausedAnnotation, "true"), false},
		"a revision adopted":  {func(s *appsv1.StatefulSet) { s.Status.CurrentRevision = "new" }, false},
		"another observation": {func(s *appsv1.StatefulSet) { s.Generation++ }, false},
	} {
		t.Run("StatefulSet: "+sentence, func(t *testing.T) {
			was, is := as[*zoneRecord](must(trimZone(newSet("zone-a")))), as[*zoneRecord](must(trimZone(newSet("zone-a", tc.change))))
			if got := was.sameBut(is); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

// design.md, section 9, limits the memory of the caches. This test limits what one pod adds to
// them, decoded from the API server's response. The process uses about twice as much, because
// garbage is collected when there is as much of it as live memory.
func TestMemoryPerPod(t *testing.T) {
	const pods = 1000
	for sentence, tc := range map[string]struct {
		change change[*corev1.Pod]
		most   uint64 // bytes
	}{
		"a pod of a StatefulSet": {func(*corev1.Pod) {}, 480},
		"any other pod":          {ownedBy(metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-1", UID: "uid-of-web", Controller: new(true)}), 250},
	} {
		t.Run(sentence, func(t *testing.T) {
			store := cache.NewIndexer(cache.DeletionHandlingMetaNamespaceKeyFunc, cache.Indexers{byParent: indexPods})
			before := heap()
			for i := range pods {
				sent, err := realistic(i, tc.change).Marshal()
				if err != nil {
					t.Fatal(err)
				}
				var arrived corev1.Pod
				if err := arrived.Unmarshal(sent); err != nil {
					t.Fatal(err)
				}
				if err := store.Add(must(trimPod(&arrived))); err != nil {
					t.Fatal(err)
				}
			}
			each := (heap() - before) / pods
			t.Logf("%d bytes each", each)
			if each > tc.most {
				t.Errorf("%d bytes each, want at most %d", each, tc.most)
			}
			if n := len(store.ListKeys()); n != pods {
				t.Errorf("%d pods are kept, want %d", n, pods)
			}
		})
	}
}

// A single live string keeps a page of garbage allocated.
func TestTextsOfARecordAreOnePieceOfMemory(t *testing.T) {
	pod := keep(realistic(0)).view()
	zone := recordOf(newSet("zone-a")).zone
	for sentence, texts := range map[string][]string{
		"of a pod":         {pod.Name, pod.UID},
		"of a StatefulSet": {zone.Name, zone.UID, zone.UpdateRevision, zone.CurrentRevision},
	} {
		for i, text := range texts[1:] {
			if before := texts[i]; unsafe.Add(unsafe.Pointer(unsafe.StringData(before)), len(before)) != unsafe.Pointer(unsafe.StringData(text)) {
				t.Errorf("%s: %q does not lie behind %q", sentence, text, before)
			}
		}
	}
}

// realistic returns a pod of a realistic size.
func realistic(i int, changes ...change[*corev1.Pod]) *corev1.Pod {
	pod := newPod(fmt.Sprintf("ingester-zone-%c", 'a'+i%3), i/3, changes...)
	pod.UID = types.UID(fmt.Sprintf("7a1f6c9e-1f0b-4a55-9d3e-%012d", i))
	if len(pod.OwnerReferences) > 0 {
		pod.OwnerReferences[0].UID = types.UID(fmt.Sprintf("0c57c2b4-4f0e-4a6e-8f8e-%012d", i%3))
	}
	maps.Copy(pod.Labels, map[string]string{
		contract.RevisionLabel: pod.Name[:15] + "-6f9c4d7b8d", "statefulset.kubernetes.io/pod-name": pod.Name,
		"apps.kubernetes.io/pod-index": strconv.Itoa(i / 3), "name": pod.Name[:15], contract.GroupLabel: "ingester",
		"app.kubernetes.io/part-of": strings.Repeat("p", 60), "app.kubernetes.io/instance": strings.Repeat("i", 60),
	})
	for n := range 10 {
		pod.Annotations = map[string]string{fmt.Sprint("example.com/note-", n): strings.Repeat("x", 200)}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "c", Image: strings.Repeat("i", 100)})
	}
	pod.ManagedFields = []metav1.ManagedFieldsEntry{{FieldsV1: metav1.NewFieldsV1(strings.Repeat("f", 3000))}}
	return pod
}

// A tenant may write 256 KB into the annotations of every StatefulSet.
func TestLittleIsKeptOfLongAnnotations(t *testing.T) {
	const sets, long, most = 20, 200 << 10, 10 << 10 // bytes each, at most
	for _, word := range contract.Words() {
		if !strings.Contains(word.On, "StatefulSet") || !strings.HasPrefix(word.As, "annotation") {
			continue
		}
		for _, beginning := range []string{"", "example.com/", "http://pod:80/"} {
			t.Run(word.Name+" "+beginning, func(t *testing.T) {
				var kept [sets]any
				before := heap()
				for i := range kept {
					set := newSet("zone-a", mirrors("web"), annotated(contract.DelayAnnotation, "1h"), annotated(contract.DelayURLAnnotation, "http://pod:80/"))
					set.Annotations[word.Name] = beginning + strings.Repeat("x", long)
					kept[i] = must(trimZone(set))
				}
				if each := (int64(heap()) - int64(before)) / sets; each > most {
					t.Errorf("%d bytes each, want at most %d", each, most)
				}
				runtime.KeepAlive(kept)
			})
		}
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
