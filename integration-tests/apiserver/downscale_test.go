package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// guarded returns a scene whose downscales the shared operator guards.
func guarded(t *testing.T) *scene {
	t.Helper()
	s := managed(t)
	if err := s.world.guard(t); err != nil {
		t.Fatal(err)
	}
	s.rules.guarded = true
	s.label(guardedLabel, "true")
	s.awaitGuard()
	return s
}

// guardedByTwo returns a scene with two operators of its own that guard its downscales.
func guardedByTwo(t *testing.T) *scene {
	t.Helper()
	s, _ := guardedByBoth(t)
	return s
}

// guardedByBoth returns that scene and its operators. An API server reuses its connections, so the
// test determines which operator it calls: one about StatefulSets, the other about their scales.
func guardedByBoth(t *testing.T) (*scene, []*operator) {
	t.Helper()
	s := unmanaged(t)
	s.rules.guarded = true
	s.withRole()
	s.withCertificate()
	operators := s.startWithWebhooks(2, "-webhooks.update-ca-bundle=false")
	s.wantOneCA(operators)
	c := s.preparedAt(webhookAddress(t, operators[0]), s.secret().Data["ca"])
	other := s.preparedAt(webhookAddress(t, operators[1]), s.secret().Data["ca"]).Webhooks[0]
	other.Name = "scale." + other.Name
	c.Webhooks[0].Rules[0].Resources, other.Rules[0].Resources = []string{"statefulsets"}, []string{"statefulsets/scale"}
	c.Webhooks = append(c.Webhooks, other)
	s.guardedBy(c)
	return s, operators
}

// withCertificate grants the scene the role for the webhooks' certificate.
func (s *scene) withCertificate() {
	s.t.Helper()
	if err := s.world.cluster.ApplyIn(s.t.Context(), s.name, manifest+"webhooks/certificate/role.yaml"); err != nil {
		s.t.Fatal(err)
	}
}

// guardedLabel is on namespaces in which the shared operator guards downscales.
const guardedLabel = "example.com/guarded"

// guard registers the webhook of the shared operator, once.
func (w *world) guard(t *testing.T) error {
	t.Helper()
	w.guarding.Do(func() {
		c := prepareDownscale(t, "shared", webhookAddress(t, w.operator), w.ca(t), map[string]string{guardedLabel: "true"})
		_, w.unguarded = w.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Create(t.Context(), c, createOptions)
	})
	return w.unguarded
}

// guardedAt registers the webhook for this scene only.
func (s *scene) guardedAt(address string, ca []byte) {
	s.t.Helper()
	s.guardedBy(s.preparedAt(address, ca))
}

// preparedAt returns the webhook for this scene only.
func (s *scene) preparedAt(address string, ca []byte) *admissionregistrationv1.MutatingWebhookConfiguration {
	s.t.Helper()
	return prepareDownscale(s.t, s.name, address, ca, map[string]string{"kubernetes.io/metadata.name": s.name})
}

func (s *scene) guardedBy(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	s.t.Helper()
	hooks := s.world.admin.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := hooks.Create(s.t.Context(), c, createOptions); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := hooks.Delete(context.WithoutCancel(s.t.Context()), s.name, deleteOptions); err != nil {
			s.t.Error(err)
		}
	})
	s.awaitGuard()
}

// prepareDownscale returns the webhook of the manifests, with another address and for other
// namespaces.
func prepareDownscale(t *testing.T, name, address string, ca []byte, namespaces map[string]string) *admissionregistrationv1.MutatingWebhookConfiguration {
	t.Helper()
	var c admissionregistrationv1.MutatingWebhookConfiguration
	readManifest(t, "prepare-downscale.yaml", &c)
	c.ObjectMeta = metav1.ObjectMeta{Name: name}
	for i := range c.Webhooks {
		hook := &c.Webhooks[i]
		where := url.URL{Scheme: "https", Host: address, Path: *hook.ClientConfig.Service.Path}
		hook.ClientConfig = admissionregistrationv1.WebhookClientConfig{URL: new(where.String()), CABundle: ca}
		hook.NamespaceSelector = &metav1.LabelSelector{MatchLabels: namespaces}
	}
	return &c
}

// awaitGuard waits until the API server calls the webhook. It repeatedly scales a probe whose pods
// never become ready, so that no other pod is affected.
func (s *scene) awaitGuard() {
	s.t.Helper()
	s.begin(zone("probe", 1, inGroup("probe"), readyAfter(time.Hour)))
	s.eventually("the API server calls the webhook", func(present) error {
		before, err := s.world.admin.AppsV1().StatefulSets(s.name).Get(s.t.Context(), "probe", getOptions)
		if err != nil {
			return err
		}
		if before.Annotations[downscaledAnnotation] != "" {
			return nil
		}
		by := int32(-1)
		if *before.Spec.Replicas == 0 {
			by = 1
		}
		return errors.Join(errors.New("a downscale of the probe is not refused in time"), s.scaleBy(patched, "probe", by))
	})
	s.remove("probe")
}

// accepts passes connections to an address of this machine to a function, and returns the address.
func (s *scene) accepts(connected func(net.Conn)) string {
	s.t.Helper()
	listener, err := new(net.ListenConfig).Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go connected(in)
		}
	}()
	return listener.Addr().String()
}

func pass(in net.Conn, address string) {
	defer func() { _ = in.Close() }()
	out, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		return
	}
	defer func() { _ = out.Close() }()
	go func() {
		_, _ = io.Copy(out, in)
		_ = out.Close()
	}()
	_, _ = io.Copy(in, out)
}

// The ways to scale a StatefulSet.
const (
	updated = "update"
	patched = "patch"
	scaled  = "scale"
)

var waysToScale = []string{updated, patched, scaled}

// scaleBy requests another number of replicas once.
func (s *scene) scaleBy(way, zone string, by int32) error {
	s.t.Helper()
	ctx, sets := s.t.Context(), s.world.admin.AppsV1().StatefulSets(s.name)
	set, err := sets.Get(ctx, zone, getOptions)
	if err != nil {
		return err
	}
	to := *set.Spec.Replicas + by
	switch way {
	case updated:
		set.Spec.Replicas = &to
		_, err = sets.Update(ctx, set, updateOptions)
	case patched:
		_, err = sets.Patch(ctx, zone, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, to), metav1.PatchOptions{})
	case scaled:
		scale := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: zone, Namespace: s.name}, Spec: autoscalingv1.ScaleSpec{Replicas: to}}
		_, err = sets.UpdateScale(ctx, zone, scale, updateOptions)
	}
	return err
}

// scalesDownAtLast requests one replica less until the request is admitted.
func (s *scene) scalesDownAtLast(way, zone string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%s of %s by one", way, zone), func(present) error { return s.scaleBy(way, zone, -1) })
}

// awaitScalable waits until the called operator sees that a zone may be scaled down, which
// the observer may have seen earlier. Its requests are dry runs.
func (s *scene) awaitScalable(zone string) {
	s.t.Helper()
	s.eventually("the operator sees that "+zone+" may be scaled down", func(present) error { return s.tryDownscale(zone) })
}

// tryDownscale requests one replica less once, as a dry run.
func (s *scene) tryDownscale(zone string) error {
	s.t.Helper()
	ctx, sets := s.t.Context(), s.world.admin.AppsV1().StatefulSets(s.name)
	set, err := sets.Get(ctx, zone, getOptions)
	if err != nil {
		return err
	}
	body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, *set.Spec.Replicas-1)
	_, err = sets.Patch(ctx, zone, types.MergePatchType, body, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// observed waits until the status of a zone shows that the StatefulSet controller has observed the
// latest spec. A request about a zone while its status is being written has to be repeated.
func (s *scene) observed(zone string) {
	s.t.Helper()
	s.eventually("the StatefulSet controller has seen "+zone, func(now present) error {
		if set := now.sets[zone]; set.Status.ObservedGeneration < set.Generation {
			return fmt.Errorf("generation %d, observed %d", set.Generation, set.Status.ObservedGeneration)
		}
		return nil
	})
}

func TestADownscaleIsAdmittedUnderTheHoldAndRecordsItsTime(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	s.create(zone("zone-a", 4), zone("zone-b", 2))
	for _, way := range waysToScale {
		began := aNewSecond()
		s.scalesDownAtLast(way, "zone-a") // a write of the status at the same time is a reason to repeat the request
		s.settled()
		s.recordsItsTime("zone-a", began)
	}
}

// aNewSecond waits until all new dates are later than all earlier dates. Times of downscales are
// whole seconds of a clock that may be a second slow (ADR 18). It returns the earliest of the new
// times.
func aNewSecond() time.Time {
	next := time.Now().Truncate(time.Second).Add(2 * time.Second)
	time.Sleep(time.Until(next))
	return next.Add(-time.Second)
}

// recordsItsTime waits until a zone has the time of its downscale, which must not be before began.
func (s *scene) recordsItsTime(zone string, began time.Time) {
	s.t.Helper()
	s.eventually("the time is on the zone", func(now present) error {
		text := now.sets[zone].Annotations[downscaledAnnotation]
		at, err := time.Parse(time.RFC3339, text)
		if err == nil && at.Before(began) {
			err = fmt.Errorf("the recorded time is %s, the downscale began at %s", text, began)
		}
		return err
	})
}

// lockstep would judge a different change from the change of the pods.
func TestAChangeThatRemovesPodsOtherThanByADownscaleIsRefused(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	s.create(zone("zone-a", 3), zone("zone-b", 2), zone("lonely", 2, alone))
	s.awaitScalable("zone-a")
	for _, refused := range []struct{ zone, change, why string }{
		{"zone-a", `{"metadata":{"labels":{"rollout-group":"another"}},"spec":{"replicas":2}}`, "GroupChanged"},
		{"zone-a", `{"metadata":{"labels":{"rollout-group":null}},"spec":{"replicas":2}}`, "GroupChanged"},
		{"lonely", `{"metadata":{"labels":{"rollout-group":"` + defaultGroup + `"}},"spec":{"replicas":1}}`, "GroupChanged"},
		{"zone-a", `{"spec":{"ordinals":{"start":1}}}`, "OrdinalsChanged"},
	} {
		_, err := s.world.admin.AppsV1().StatefulSets(s.name).Patch(t.Context(), refused.zone, types.MergePatchType, []byte(refused.change), metav1.PatchOptions{})
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "("+refused.why+" "+refused.zone) {
			t.Errorf("%s: got %v, want 403 with %s", refused.change, err, refused.why)
		}
	}
	s.settled()
}

func TestADownscaleDuringARolloutIsRefusedAndGetsTheNextTurn(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	s.create(zone("zone-a", 3), zone("zone-b", 3), zone("zone-c", 3))
	s.lingers("zone-c-2", never) // so that zone-c has the group until the status has been observed
	s.changeAll(version(2), gated())
	s.awaitDeletion("zone-a-0")
	s.observed("zone-c")
	err := s.scaleBy(scaled, "zone-c", -1)
	if !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), "rollout/zone-a") {
		t.Errorf("got %v, want a 429 that names the holder", err)
	}
	if _, wait := apierrors.SuggestsClientDelay(err); wait {
		t.Error("the refusal suggests a delay, so clients repeat it by themselves")
	}
	s.opensGates("zone-a-0", "zone-a-1", "zone-a-2")
	s.scalesDownAtLast(scaled, "zone-c")
	s.wantDeletions("zone-a-0", "zone-a-1", "zone-a-2")
	s.endsLingering("zone-c-2")
	s.opensGatesAsTheyClose()
	s.settled()
}

// A downscale of a pod that is down needs no hold. The zones get a minimum time only after
// it.
func TestAMinimumTimeCountsFromADownscaleBeforeItWasSet(t *testing.T) {
	t.Parallel()
	s := guarded(t)
	evictorOf(s).createOpen(zone("zone-a", 2, gated()), zone("zone-b", 2, gated()))
	s.change("zone-b", version(2), gated())
	s.awaitDeletion("zone-b-0")
	s.gate("zone-a-1", corev1.ConditionFalse)
	s.isBroken("zone-a-1")
	s.scalesDownAtLast(scaled, "zone-a")
	s.opensGates("zone-b-0", "zone-b-1")
	for _, name := range []string{"zone-a", "zone-b"} {
		s.change(name, setAnnotated(apartAnnotation, "10m"))
	}
	s.settled()
	var err error
	s.eventually("the downscale of zone-b is admitted or comes too soon", func(present) error {
		if err = s.scaleBy(scaled, "zone-b", -1); err != nil && !strings.Contains(err.Error(), "DownscaleTooSoon zone-a") {
			return err
		}
		return nil
	})
	if err == nil {
		t.Error("zone-b is scaled down right after zone-a")
	}
}

func TestConcurrentDownscalesOfDifferentZonesAreSerialized(t *testing.T) {
	t.Parallel()
	s, operators := guardedByBoth(t)
	zones := []string{"zone-a", "zone-b", "zone-c"}
	for _, name := range zones {
		s.begin(zone(name, 12, removedAfter(300*time.Millisecond)))
	}
	s.settled()
	var requests sync.WaitGroup
	var passed, refused atomic.Int32 // a request for the number that is already set passes as well
	began := time.Now()
	for n := range 100 {
		requests.Go(func() {
			switch err := s.scaleBy(waysToScale[n%3], zones[rand.IntN(3)], -1-rand.Int32N(2)); {
			case err == nil:
				passed.Add(1)
			case apierrors.IsTooManyRequests(err) || apierrors.IsConflict(err):
				refused.Add(1)
			default:
				t.Errorf("an odd answer: %v", err)
			}
		})
	}
	requests.Wait()
	t.Logf("%d passed, %d were refused in %s", passed.Load(), refused.Load(), time.Since(began))
	if passed.Load() == 0 || refused.Load() == 0 {
		t.Error("no decision")
	}
	for _, o := range operators {
		if !strings.Contains(o.Logs(), `"object":"statefulsets`) {
			t.Error("one of the two operators refused no downscale")
		}
	}
	s.settled()
}
