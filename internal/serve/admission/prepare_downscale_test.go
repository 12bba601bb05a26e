package admission_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lockstep-dev/lockstep/internal/cluster/clock"
	"github.com/lockstep-dev/lockstep/internal/cluster/observe"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
	"github.com/lockstep-dev/lockstep/internal/proof/fixture"
	"github.com/lockstep-dev/lockstep/internal/serve/admission"
)

// slow stores holds, and returns at the deadline of the write.
type slow struct {
	mu     sync.Mutex
	record group.Hold
	writes int
}

func (s *slow) Cached(plan.Key) plan.Record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.Record()
}

func (s *slow) Read(_ context.Context, key plan.Key) (plan.Record, error) { return s.Cached(key), nil }

func (*slow) Label(context.Context, plan.Key, plan.Record) error { return nil }

func (s *slow) Write(ctx context.Context, _ plan.Key, record plan.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = group.HoldOf(record)
	if s.writes++; s.writes == 1 {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// downscaleOfZoneA is a downscale of zone-a as the API server sends it.
func downscaleOfZoneA() admission.Change {
	zone := admission.Object{UID: "uid-a", Version: "7"}
	return admission.Change{
		Group: "apps", Resource: "statefulsets", Namespace: "team", Name: "zone-a", Old: zone, New: zone, From: new(int32(3)), To: new(int32(2)),
	}
}

// lateAboutItsLabel is a group whose zone-a has just got its label. The caches do not show that.
type lateAboutItsLabel struct{ onlyGroup }

func (lateAboutItsLabel) Set(string, string) (observe.Set, bool) {
	return observe.Set{UID: "uid-a", Version: 6}, true
}

func (o lateAboutItsLabel) LiveSet(context.Context, string, string) (observe.Set, error) {
	set, _ := o.onlyGroup.Set("", "")
	return set, nil
}

func TestDownscaleIsJudgedByTheGroupThatItsStatefulSetHasJustJoined(t *testing.T) {
	webhook := &admission.PrepareDownscale{Observer: lateAboutItsLabel{onlyGroup{rolling()}}, Holds: kept(staleHolds{rolling().Hold}), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
	says(t, webhook.Judge(t.Context(), downscaleOfZoneA()), http.StatusTooManyRequests, reason.GroupHeld)
}

func TestRecordOfAnUnansweredWriteIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holds := &slow{}
		webhook := &admission.PrepareDownscale{Observer: onlyGroup{atRest()}, Holds: kept(holds), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if v := webhook.Judge(ctx, downscaleOfZoneA()); v.Allowed || v.Code != http.StatusTooManyRequests {
			t.Errorf("got %+v, want a refusal for now", v)
		}
		webhook.Wait()
		if held := holds.Cached(plan.Key{}); !group.HoldOf(held).Downscale.None() || holds.writes != 2 {
			t.Errorf("after %d writes the hold contains %+v", holds.writes, group.HoldOf(held).Downscale)
		}
	})
}

func TestRefusalDoesNotWaitForTheWriteOfItsQueuePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		group := rolling()
		group.Hold.Exists = true
		holds := &slow{record: group.Hold}
		webhook := &admission.PrepareDownscale{Observer: onlyGroup{group}, Holds: kept(holds), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
		began := time.Now()
		if v := webhook.Judge(t.Context(), downscaleOfZoneA()); v.Allowed || v.Code != http.StatusTooManyRequests {
			t.Errorf("got %+v, want a refusal for now", v)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("the refusal took %s", took)
		}
		if holds.writes != 1 {
			t.Errorf("%d writes, want the record", holds.writes)
		}
	})
}

// silentPods receive the call and do not answer.
type silentPods struct{}

func (silentPods) Prepare(ctx context.Context, _ plan.Key, _ group.Zone, _ []plan.Pod) (bool, error) {
	<-ctx.Done()
	return true, ctx.Err()
}

// strict stores holds unless the context has ended.
type strict struct{ slow }

func (s *strict) Write(ctx context.Context, _ plan.Key, record plan.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	s.record = group.HoldOf(record)
	return nil
}

// A preparation is undone even if its request has ended.
func TestPodsAreNotifiedToStayIfPreparationTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		snapshot := preparedAtRest()
		holds := &strict{}
		webhook := &admission.PrepareDownscale{Observer: onlyGroup{snapshot}, Holds: kept(holds), Pods: silentPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if v := webhook.Judge(ctx, downscaleOfZoneA()); v.Allowed {
			t.Errorf("got %+v, want a refusal", v)
		}
		synctest.Wait()
		if d := group.HoldOf(holds.Cached(plan.Key{})).Downscale; d.Stage != group.Undoing {
			t.Errorf("the hold contains %s at the stage %q, want %q", d, d.Stage, group.Undoing)
		}
	})
}

// changing are pods that accept their preparation. Their group changes in the meantime.
type changing struct {
	onlyGroup

	requests bool
	later    group.Snapshot
}

func (c *changing) Prepare(context.Context, plan.Key, group.Zone, []plan.Pod) (bool, error) {
	c.requests = true
	return true, nil
}

// Cached implements admission.Observer.
func (c *changing) Cached(key plan.Key) group.Snapshot {
	if c.requests {
		return fixture.Clone(c.later)
	}
	return c.onlyGroup.Cached(key)
}

func TestDownscaleIsRefusedIfTheGroupChangesDuringPreparation(t *testing.T) {
	for sentence, tc := range map[string]struct {
		change func(*group.Snapshot)
		want   reason.Code
	}{
		"no change":                          {func(*group.Snapshot) {}, reason.DownscaleAdmitted},
		"a pod of another zone breaks":       {func(s *group.Snapshot) { s.Zones[1].Pods[1].Phase = plan.Failing }, reason.OtherZoneUnavailable},
		"another zone was scaled down":       {func(s *group.Snapshot) { shrankJustNow(&s.Zones[1]) }, reason.DownscaleTooSoon},
		"a pod is added that was not called": {func(s *group.Snapshot) { s.Zones[0].Pods[2].UID = "another" }, reason.PreparationFailed},
		"another operation takes the hold":   {func(s *group.Snapshot) { *s = heldByRollout(*s) }, reason.GroupHeld},
		"the StatefulSet is created again":   {func(s *group.Snapshot) { s.Zones[0].UID = "another" }, reason.ObjectChanged},
		"the caches are behind the record":   {func(s *group.Snapshot) { s.Zones[0].Version = 6 }, reason.CacheStale},
	} {
		t.Run(sentence, func(t *testing.T) {
			later := preparedAtRest()
			tc.change(&later)
			pods, holds := &changing{onlyGroup: onlyGroup{preparedAtRest()}, later: later}, &holdStore{}
			webhook := &admission.PrepareDownscale{Observer: pods, Holds: kept(holds), Pods: pods, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
			v := webhook.Judge(t.Context(), downscaleOfZoneA())
			if v.Allowed != (tc.want == reason.DownscaleAdmitted) || string(v.Reason) != string(tc.want) {
				t.Errorf("got %+v, want %s", v, tc.want)
			}
			if stage := group.HoldOf(holds.Cached(plan.Key{})).Downscale.Stage; (stage == group.Admitted) != v.Allowed || (stage == group.Undoing) == v.Allowed {
				t.Errorf("the hold contains the stage %q", stage)
			}
		})
	}
}

// conflicts are pods that accept their preparation. Another writer changes the Lease before
// that is recorded, and this replica notices that only by the conflict.
type conflicts struct {
	onlyGroup

	holds *holdStore
	later group.Snapshot
}

func (o *conflicts) Prepare(context.Context, plan.Key, group.Zone, []plan.Pod) (bool, error) {
	o.holds.mu.Lock()
	defer o.holds.mu.Unlock()
	o.holds.conflicts = 1
	return true, nil
}

// Cached implements admission.Observer.
func (o *conflicts) Cached(key plan.Key) group.Snapshot {
	o.holds.mu.Lock()
	defer o.holds.mu.Unlock()
	if attempts := len(o.holds.written); attempts > 1 {
		return fixture.Clone(o.later)
	}
	return o.onlyGroup.Cached(key)
}

// Another replica has dated a downscale in the Lease that this replica is about to overwrite.
func TestDownscaleIsRefusedIfTheLeaseChangesBeforeItIsAdmitted(t *testing.T) {
	later := preparedAtRest()
	shrankJustNow(&later.Zones[1])
	holds := &holdStore{}
	pods := &conflicts{onlyGroup: onlyGroup{preparedAtRest()}, holds: holds, later: later}
	webhook := &admission.PrepareDownscale{Observer: pods, Holds: kept(holds), Pods: pods, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
	says(t, webhook.Judge(t.Context(), downscaleOfZoneA()), http.StatusTooManyRequests, reason.DownscaleTooSoon)
	if stage := group.HoldOf(holds.Cached(plan.Key{})).Downscale.Stage; stage != group.Undoing {
		t.Errorf("the hold contains the stage %q", stage)
	}
}

// recordedAgain are pods that accept their preparation. In the meantime the record of the
// downscale ends, and a second request records the same downscale a second later.
type recordedAgain struct{ holds *holdStore }

func (n recordedAgain) Prepare(context.Context, plan.Key, group.Zone, []plan.Pod) (bool, error) {
	n.holds.mu.Lock()
	defer n.holds.mu.Unlock()
	n.holds.record.Downscale.Since = n.holds.record.Downscale.Since.Add(time.Second)
	return true, nil
}

func TestEarlierRequestDoesNotAdmitTheRecordOfALaterRequest(t *testing.T) {
	holds := &holdStore{}
	webhook := webhookFor(preparedAtRest(), holds)
	webhook.Pods = recordedAgain{holds}
	says(t, webhook.Judge(t.Context(), downscaleOfZoneA()), http.StatusTooManyRequests, reason.PreparationCancelled)
	if d := group.HoldOf(holds.Cached(plan.Key{})).Downscale; d.Stage != group.Preparing {
		t.Errorf("the hold contains %s at the stage %q, want %q", d, d.Stage, group.Preparing)
	}
}

// cancelled are pods that accept their preparation. In the meantime another process cancels
// the downscale, and then a rollout of another zone takes the hold.
type cancelled struct{ holds *holdStore }

func (c cancelled) Prepare(context.Context, plan.Key, group.Zone, []plan.Pod) (bool, error) {
	c.holds.mu.Lock()
	defer c.holds.mu.Unlock()
	c.holds.record.Downscale, c.holds.record.Holder = group.Downscale{}, "rollout/zone-b"
	return true, nil
}

func TestARefusedDownscaleDoesNotTakeTheHoldOfAnotherZone(t *testing.T) {
	holds := &holdStore{}
	webhook := webhookFor(preparedAtRest(), holds)
	webhook.Pods = cancelled{holds}
	says(t, webhook.Judge(t.Context(), downscaleOfZoneA()), http.StatusTooManyRequests, reason.PreparationCancelled)
	if h := group.HoldOf(holds.Cached(plan.Key{})); h.Holder != "rollout/zone-b" || !h.Downscale.None() {
		t.Errorf("the hold is %s with the downscale %q", h.Holder, h.Downscale)
	}
}

// hindered pods accept their preparation. After that, other writers write the Lease first.
type hindered struct{ holds *holdStore }

func (h hindered) Prepare(context.Context, plan.Key, group.Zone, []plan.Pod) (bool, error) {
	h.holds.mu.Lock()
	defer h.holds.mu.Unlock()
	h.holds.conflicts = 100
	return true, nil
}

func TestFailedAdmissionWriteIsNotReportedAsFailedPreparation(t *testing.T) {
	holds := &holdStore{}
	for sentence, tc := range map[string]struct {
		store admission.Store
		pods  admission.Pods
		want  reason.Code
	}{
		"others write the Lease":     {holds, hindered{holds}, reason.GroupHeld},
		"the Lease takes no writing": {&stuck{}, agreeingPods{}, reason.RequestFailing},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				webhook := &admission.PrepareDownscale{
					Observer: onlyGroup{preparedAtRest()}, Holds: kept(tc.store), Pods: tc.pods, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
				}
				ctx, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				says(t, webhook.Judge(ctx, downscaleOfZoneA()), http.StatusTooManyRequests, tc.want)
				time.Sleep(time.Minute) // the record is cancelled, too
			})
		})
	}
}

// The API server would also refuse such an update, because the stored object is not the judged
// one.
func TestDownscaleOfARecreatedStatefulSetIsAConflict(t *testing.T) {
	change := downscaleOfZoneA()
	change.Old.UID, change.Old.Version, change.New.Version = "former", "6", "6"
	holds := &holdStore{}
	says(t, webhookFor(atRest(), holds).Judge(t.Context(), change), http.StatusConflict, reason.ObjectChanged)
	if len(holds.written) > 0 {
		t.Errorf("the hold contains %+v", holds.written)
	}
}

func shrankJustNow(z *group.Zone) {
	z.Downscaled.Time, z.MinBetween.Duration = fixture.Now(), time.Hour
}

func heldByRollout(s group.Snapshot) group.Snapshot {
	fixture.Held(plan.RolloutOperation.For("zone-b"), fixture.IntentOf("zone-b-0"))(&s)
	return s
}

func TestDownscaleOfAnUnavailablePodIsDatedWhicheverZoneHoldsTheGroup(t *testing.T) {
	for _, between := range []time.Duration{0, time.Hour} {
		snapshot := unavailableDuringARollout(between)
		holds := &holdStore{}
		says(t, webhookFor(snapshot, holds).Judge(t.Context(), downscaleOfZoneA()), http.StatusOK, reason.DownscaleAdmitted)
		held := holds.Cached(plan.Key{})
		if at := group.HoldOf(held).Downscaled["zone-a"]; !at.Equal(snapshot.Now.Add(plan.RequestLimit)) || held.Holder != snapshot.Hold.Holder || len(held.Intents) != 1 {
			t.Errorf("%s between downscales: the hold is %+v", between, held)
		}
	}
}

func TestDownscaleOfAnUnavailablePodIsRefusedIfItsTimeCannotBeRecorded(t *testing.T) {
	for _, between := range []time.Duration{0, time.Hour} {
		holds := &holdStore{broken: errors.New("the API server is away")}
		says(t, webhookFor(unavailableDuringARollout(between), holds).Judge(t.Context(), downscaleOfZoneA()), http.StatusTooManyRequests, reason.ParentUnknown)
	}
}

// unavailableDuringARollout is a group whose zone-a loses an unavailable pod while another zone is rolled.
func unavailableDuringARollout(between time.Duration) group.Snapshot {
	group := rolling()
	group.Hold.Exists = true
	group.Zones[0].Pods[2].Phase, group.Zones[0].MinBetween.Duration = plan.Failing, between
	return group
}

// stuck stores the first hold at once. Later writes do not return in time.
type stuck struct{ strict }

func (s *stuck) Write(ctx context.Context, key plan.Key, record plan.Record) error {
	if !group.HoldOf(s.Cached(key)).Downscale.None() {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.strict.Write(ctx, key, record)
}

// The API server stops waiting for a webhook after its timeout.
func TestRefusalDoesNotOutlastItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		webhook := &admission.PrepareDownscale{
			Observer: onlyGroup{preparedAtRest()}, Holds: kept(&stuck{}), Pods: silentPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent(),
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		began := time.Now()
		says(t, webhook.Judge(ctx, downscaleOfZoneA()), http.StatusTooManyRequests, reason.PreparationFailed)
		if took := time.Since(began); took > time.Second {
			t.Errorf("the refusal took %s", took)
		}
		time.Sleep(time.Minute) // the record is cancelled, too
	})
}

// webhookFor judges downscales in a group whose hold is in the holdStore.
func webhookFor(group group.Snapshot, holds *holdStore) *admission.PrepareDownscale {
	holds.record = group.Hold
	return &admission.PrepareDownscale{Observer: onlyGroup{group}, Holds: kept(holds), Pods: agreeingPods{}, Locks: &admission.GroupLocks{}, Clock: clock.New(), Log: silent()}
}

func TestOnlyTemporaryRefusalsSayForNow(t *testing.T) {
	labelled := atRest()
	labelled.Zones[0].Barred = true
	for sentence, tc := range map[string]struct {
		group group.Snapshot
		want  string
	}{
		"a rollout is in progress": {rolling(), "It is refused for now ("},
		"a label bars it":          {labelled, "It is refused (DownscaleNotAllowed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			observed := answerTo(t, post(t, preparing(tc.group), preparePath, update(t, set(3), set(2)))).Response.Result
			if observed == nil || !strings.Contains(observed.Message, tc.want) {
				t.Errorf("got %+v, want %q", observed, tc.want)
			}
		})
	}
}

func TestStaleHoldRefusesForNow(t *testing.T) {
	group := atRest()
	fixture.Held(plan.EvictionOperation.For("zone-b"), fixture.IntentOf("zone-b-0"))(&group)
	fixture.Later(time.Hour)(&group)
	says(t, webhookFor(group, &holdStore{}).Judge(t.Context(), downscaleOfZoneA()), http.StatusTooManyRequests, reason.StaleHold)
}

func TestDownscaleIsRefusedForNowIfTheGroupLockIsNotFreeInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		webhook := webhookFor(atRest(), &holdStore{slow: func() { time.Sleep(time.Minute) }})
		admitted := make(chan admission.Verdict, 1)
		go func() { admitted <- webhook.Judge(t.Context(), downscaleOfZoneA()) }()
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		v := webhook.Judge(ctx, downscaleOfZoneA())
		says(t, v, http.StatusTooManyRequests, reason.GroupHeld)
		if !strings.Contains(v.Message, "too many requests") {
			t.Errorf("the message is %q", v.Message)
		}
		says(t, <-admitted, http.StatusOK, reason.DownscaleAdmitted)
	})
}

func TestDownscaleIsRefusedForNowIfItsWritesKeepConflicting(t *testing.T) {
	v := webhookFor(atRest(), &holdStore{conflicts: 100}).Judge(t.Context(), downscaleOfZoneA())
	says(t, v, http.StatusTooManyRequests, reason.GroupHeld)
	if !strings.Contains(v.Message, "other writers keep changing") {
		t.Errorf("the message is %q", v.Message)
	}
}
