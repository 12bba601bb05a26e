package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// storm is many concurrent evictions of pods of three zones, during a rollout and a downscale.
type storm struct {
	evictions, pods, clients int
	limit                    int                                 // pods of a zone that may be down
	late                     bool                                // both operators observe pods and StatefulSets late
	kills                    func(*drainable) (victim *operator) // returns the operator that is killed midway; nil if none is
}

// storms lists storms by the fault that occurs meanwhile.
var storms = map[string]storm{
	"no further fault":            {},
	"the leader is killed":        {kills: (*drainable).leader},
	"the other replica is killed": {kills: (*drainable).follower},
	"caches are late":             {late: true},
}

func TestARolloutADownscaleAndAStormOfEvictionsAllFinish(t *testing.T) {
	t.Parallel()
	random, seed := seeded(t)
	for _, name := range someOf(random, 1, slices.Sorted(maps.Keys(storms))) {
		t.Run(name, func(t *testing.T) {
			o := storms[name]
			o.evictions, o.pods, o.clients, o.limit = 300, 30, 20, 2
			switch {
			case everyFault(): // such storms run one after the other
				o.evictions, o.pods, o.clients, o.limit = 10000, 300, 50, 5
			case o.late: // every step takes seconds
				o.pods, o.clients = o.pods/3, o.clients/2
			}
			if !everyFault() {
				t.Parallel()
			}
			o.isSurvived(t, seed)
		})
	}
}

func (o storm) isSurvived(t *testing.T, seed uint64) {
	t.Helper()
	e := newDrainable(t)
	e.limits(judge.Budget{Limit: o.limit})
	if o.late {
		e.rules.grace = defaultGrace + behind
		proxy, kubeconfig := e.proxied()
		proxy.DelayWatches("pods", behind)
		proxy.DelayWatches("statefulsets", behind)
		e.kubeconfig = kubeconfig
	}
	e.guard()
	if everyFault() {
		e.scene.patience = stormPatience
	}
	for _, name := range []string{"zone-a", "zone-b", "zone-c"} {
		e.begin(zone(name, int32(o.pods/3), inBudget, maxUnavailable(strconv.Itoa(o.limit))))
	}
	e.settled()
	before := e.allPods()
	e.changeAll(version(2))
	e.awaitDeletions(1)

	blows := newBlows(e, o, seed, before)
	shrunk := make(chan error, 1)
	go func() { shrunk <- blows.downscale("zone-b") }()
	if o.kills != nil {
		<-blows.midway
		e.replaces(o.kills(e))
	}
	blows.end()
	if err := <-shrunk; err != nil {
		t.Error(err)
	}
	e.settled()
	if got, want := len(e.allPods()), len(before)-1; got != want {
		t.Errorf("%d pods are wanted in the end, %d expected after a downscale by one", got, want)
	}
	blows.judge()
	e.wantFewConflicts()
}

// stormPatience is the patience of the long form.
const stormPatience = 8 * time.Minute

// leader returns the operator that is the leader.
func (e *drainable) leader() *operator {
	e.t.Helper()
	i := -1
	e.eventually("a replica leads", func(present) error {
		if i = slices.IndexFunc(e.replicas, leads); i < 0 {
			return errors.New("no replica")
		}
		return nil
	})
	return e.replicas[i]
}

func (e *drainable) follower() *operator {
	e.t.Helper()
	leader := e.leader()
	return e.replicas[slices.IndexFunc(e.replicas, func(o *operator) bool { return o != leader })]
}

// replaces kills an operator and starts another one in its place.
func (e *drainable) replaces(o *operator) {
	e.t.Helper()
	o.Kill()
	e.replicas[slices.Index(e.replicas, o)] = e.startReplica()
	e.leads()
}

// blows records the requests of a storm and their answers.
type blows struct {
	e        *drainable
	evicting sync.WaitGroup
	left     atomic.Int64
	midway   chan struct{} // closed when half of the evictions are answered
	began    time.Time
	killed   bool // whether an operator is killed midway
	clients  int

	mu      sync.Mutex
	answers map[int]int // number of answers by code
	odd     []string
	cut     int // calls to an operator that was killed meanwhile
	slowest time.Duration
}

func newBlows(e *drainable, o storm, seed uint64, pods []string) *blows {
	b := &blows{e: e, midway: make(chan struct{}), began: time.Now(), killed: o.kills != nil, clients: o.clients, answers: map[int]int{}}
	b.left.Store(int64(o.evictions))
	for n := range o.clients {
		random := rand.New(rand.NewPCG(seed, uint64(n)))
		b.evicting.Go(func() { b.evict(random, pods, int64(o.evictions/2)) })
	}
	return b
}

// evict is the work of one client. It is like a drain without pauses: it requests the eviction of
// one pod until the request is granted, then of another pod, until the storm is over.
func (b *blows) evict(random *rand.Rand, pods []string, half int64) {
	for b.left.Load() > 0 {
		pod := pods[random.IntN(len(pods))]
		for again := true; again; again = b.request(pod) {
			if time.Since(b.began) > b.e.patience {
				b.update(func() { b.odd = append(b.odd, pod+" was never evicted") })
				return
			}
			left := b.left.Add(-1)
			if left == half {
				close(b.midway)
			}
			if left < 0 { // the storm is over, and the remaining clients slow down
				time.Sleep(100 * time.Millisecond)
			}
		}
	}
}

// expected are the valid answers to evictions: granted, refused for now, not found, and changed
// since it was judged.
var expected = []int{http.StatusCreated, http.StatusTooManyRequests, http.StatusNotFound, http.StatusConflict}

// request evicts a pod once and reports whether to repeat the request.
func (b *blows) request(pod string) bool {
	began := time.Now()
	err := b.e.evicts(b.e.t.Context(), pod, nil)
	took, code := time.Since(began), codeOf(err)
	known := slices.Contains(expected, code)
	b.update(func() {
		b.answers[code]++
		b.slowest = max(b.slowest, took)
		switch {
		case known:
		case b.killed && strings.Contains(err.Error(), "failed to call webhook"):
			b.cut++
		default:
			b.odd = append(b.odd, err.Error())
		}
	})
	return code == http.StatusTooManyRequests || !known
}

func codeOf(err error) int {
	if err == nil {
		return http.StatusCreated
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return int(status.Status().Code)
	}
	return 0
}

func (b *blows) update(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

// downscale requests one replica less every quarter of a second until the request is admitted.
func (b *blows) downscale(zone string) error {
	for {
		err := b.e.scaleBy(scaled, zone, -1)
		switch {
		case err == nil:
			b.e.t.Logf("the downscale was had after %s", time.Since(b.began).Round(time.Millisecond))
			return nil
		case time.Since(b.began) > b.e.patience, errors.Is(err, context.Canceled):
			return fmt.Errorf("the downscale was never had: %w", err)
		}
		time.Sleep(250 * time.Millisecond)
	}
}

// end waits until all requests are answered.
func (b *blows) end() {
	b.evicting.Wait()
	b.e.t.Logf("answers by code after %s: %v, the slowest after %s", time.Since(b.began).Round(time.Millisecond), b.answers, b.slowest.Round(time.Millisecond))
}

// judge fails the test if a client got an invalid answer.
func (b *blows) judge() {
	t := b.e.t
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, text := range b.odd {
		t.Errorf("an odd answer: %s", text)
	}
	if b.cut > b.clients {
		t.Errorf("%d calls were cut, more than there were under way when an operator was killed", b.cut)
	}
	if b.slowest >= webhookTimeout {
		t.Errorf("the slowest answer came after %s", b.slowest)
	}
	if evicted := b.e.evicted(); len(evicted) == 0 || b.answers[http.StatusTooManyRequests] == 0 {
		t.Errorf("%d serving pods were evicted, and %d evictions were refused: no decision was required", len(evicted), b.answers[http.StatusTooManyRequests])
	}
}

// wantFewConflicts fails the test if more writes of the hold failed than succeeded. Each replica
// sends one write at a time, however many evictions wait.
func (e *drainable) wantFewConflicts() {
	e.t.Helper()
	written, conflicts := 0, 0
	for _, r := range e.requests() {
		switch {
		case r.Resource != "leases" || !strings.HasPrefix(r.Name, "lockstep-group-") || r.Verb != "update":
		case r.Code == http.StatusConflict:
			conflicts++
		case r.Code == http.StatusOK:
			written++
		}
	}
	e.t.Logf("%d serving pods were evicted, %d were deleted; the Lease was written %d times, and %d writes conflicted",
		len(e.evicted()), len(e.deletions()), written, conflicts)
	if conflicts > written {
		e.t.Error("more than half of its writes conflicted")
	}
}
