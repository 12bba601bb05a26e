package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestOpenLoopMeasuresFromDueTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var under, most atomic.Int32
		got, err := openLoop(t.Context(), 10, time.Second, func(_ context.Context, i int) error {
			if n := under.Add(1); n > most.Load() {
				most.Store(n)
			}
			if due := began.Add(time.Duration(i) * 100 * time.Millisecond); !time.Now().Equal(due) {
				t.Errorf("request %d is %s late", i, time.Since(due))
			}
			time.Sleep(350 * time.Millisecond)
			under.Add(-1)
			return nil
		})
		if err != nil || len(got) != 10 || slices.Max(got) != 350*time.Millisecond || slices.Min(got) != slices.Max(got) {
			t.Errorf("got %v, %v", got, err)
		}
		if most.Load() != 4 {
			t.Errorf("%d requests at a time at most, want 4", most.Load())
		}
	})
}

func TestOpenLoopEndsAtFirstError(t *testing.T) {
	planted := errors.New("planted")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := openLoop(t.Context(), 10, time.Hour, func(_ context.Context, i int) error {
			if i == 3 {
				return planted
			}
			return nil
		})
		if !errors.Is(err, planted) || !strings.HasPrefix(err.Error(), "request 4 of 36000: ") || time.Since(began) > time.Second {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}

func TestAllowAllAllowsEveryReview(t *testing.T) {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "zone-a"}}
	q, err := newUpdateReview("/admission/x", autoscalingScale, "scale", set, set)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	allow(w, httptest.NewRequestWithContext(t.Context(), "POST", q.path, strings.NewReader(string(q.withUID("a-uid")))))
	var got reviewAnswer
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || !got.Response.Allowed || got.Response.UID != "a-uid" {
		t.Errorf("got %d %q, %v", w.Code, w.Body, err)
	}
}

func TestDecisionRowComparesWithFloorByRun(t *testing.T) {
	r := decisionRow("x", 10*ms, map[string][][]time.Duration{
		floorName: {{1 * ms, 1 * ms}, {4 * ms, 4 * ms}}, lockstepName: {{2 * ms, 2 * ms}, {8 * ms, 12 * ms}},
	})
	if got := r.cells[floorName]; got != "4.0 / 4.0 ms" {
		t.Errorf("the floor: %s", got)
	}
	if got := r.cells[lockstepName]; got != "8.0 / 12.0 ms (3.00, 2.00 to 3.00) / (3.00, 2.00 to 3.00)" || r.met != missed || r.goal != "p99 ≤ 10 ms" {
		t.Errorf("lockstep: %s, goal %s %s", got, r.goal, r.met)
	}
}

func TestRequestsRowAllowsRefusalRecords(t *testing.T) {
	const user = "lockstep"
	note := request{user: user, verb: "patch", namespace: "n", resource: "leases"}
	for sentence, tc := range map[string]struct {
		requests []request
		notes    bool
		want     verdict
	}{
		"no requests":                     {nil, false, met},
		"requests of other clients":       {[]request{{user: "admin", verb: "get", namespace: "n"}}, false, met},
		"writes for leadership":           {[]request{{user: user, verb: "update", namespace: lockstepHome, resource: "leases"}}, false, met},
		"an access review":                {[]request{{user: user, verb: "create", resource: "selfsubjectaccessreviews"}}, false, met},
		"a read":                          {[]request{{user: user, verb: "get", namespace: "n"}}, true, missed},
		"a record without a held group":   {[]request{note}, false, missed},
		"a record at once and after 10 s": {[]request{note, note, note}, true, met},
		"one record too many":             {[]request{note, note, note, note}, true, missed},
	} {
		v := newLoadResult()
		v.took[lockstepName], v.duration = make([][]time.Duration, 2), 15*time.Second
		v.count(tc.requests, user)
		if r := requestsRow(load{recordsRefusal: tc.notes}, v); r.met != tc.want {
			t.Errorf("%s: %s %q, want %q", sentence, r.cells[lockstepName], r.met, tc.want)
		}
	}
}

func TestBucketsOf(t *testing.T) {
	const text = `# HELP took_bucket x
took_bucket{name="a.dev",operation="UPDATE",rejected="false",le="0.005"} 90
took_bucket{name="a.dev",operation="UPDATE",rejected="false",le="0.025"} 95
took_bucket{name="a.dev",operation="UPDATE",rejected="false",le="+Inf"} 100
took_bucket{name="a.dev",operation="UPDATE",rejected="true",le="0.005"} 1
took_bucket{name="a.dev",operation="UPDATE",rejected="true",le="0.025"} 5
took_bucket{name="a.dev",operation="UPDATE",rejected="true",le="+Inf"} 5
took_bucket{name="aa.dev",operation="UPDATE",rejected="true",le="0.005"} 7
took_sum{name="a.dev"} 7
`
	b, err := bucketsOf(text, "took", "name", "a.dev")
	if err != nil || !slices.Equal(b.bounds, []float64{0.005, 0.025, math.Inf(1)}) || !slices.Equal(b.counts, []float64{91, 100, 105}) {
		t.Fatalf("got %v, %v", b, err)
	}
	for q, want := range map[float64]float64{0.5: 0.005, 0.95: 0.025, 0.99: math.Inf(1)} {
		if got := b.quantile(q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	later, err := bucketsOf(strings.NewReplacer("} 90\n", "} 94\n", "} 95\n", "} 99\n", "} 100\n", "} 104\n").Replace(text), "took", "name", "a.dev")
	if got := later.since(b); err != nil || !slices.Equal(got.counts, []float64{4, 4, 4}) || got.quantile(0.99) != 0.005 {
		t.Errorf("since then %v, %v", got, err)
	}
	two := b.since(buckets{})
	if two.addAll(b); !slices.Equal(two.counts, []float64{182, 200, 210}) || !slices.Equal(b.counts, []float64{91, 100, 105}) {
		t.Errorf("twice the same: %v, of %v", two, b)
	}
	if got := (buckets{}).quantile(0.99); got != 0 {
		t.Errorf("without data %v", got)
	}
}

func TestAddressIn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const begun = "no JSON\n{\"msg\":\"listening\",\"address\":\"127.0.0.1:1\"}\n"
	for text, want := range map[string]string{begun: "", begun + "{\"msg\":\"serving webhooks\",\"address\":\"127.0.0.1:2\"}\n": "127.0.0.1:2"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := addressIn(path, servingWebhooks); got != want || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
}
