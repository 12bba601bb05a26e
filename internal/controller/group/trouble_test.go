package group_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lockstep-dev/lockstep/internal/reason"
)

var pods = schema.GroupResource{Resource: "pods"}

func TestWhatKeepsARequestFromItsEndIsTold(t *testing.T) {
	for sentence, tc := range map[string]struct {
		fails error
		told  string        // as the reason of zone-a's wait
		after time.Duration // of failing
	}{
		"a request that is forbidden, at once": {
			apierrors.NewForbidden(pods, "zone-a-0", errors.New("a policy's own text")), "RequestForbidden (Forbidden)", 0,
		},
		"an API server that cannot keep up, when it lasts": {
			apierrors.NewTooManyRequests("slow down", 1), "RequestFailing (TooManyRequests)", 5 * time.Second,
		},
		"an API server that fails, when it lasts": {
			apierrors.NewInternalError(errors.New("etcd")), "RequestFailing (InternalError)", 5 * time.Second,
		},
		"an API server that does not answer, when it lasts": {
			fmt.Errorf("delete pod: %w", context.DeadlineExceeded), "RequestFailing (no answer in time)", 5 * time.Second,
		},
		"an API server that is away, when it lasts": {
			errors.New("connection refused"), "RequestFailing (no answer)", 5 * time.Second,
		},
		"a world that has moved on, never": {
			reason.WithClass(reason.Moved, apierrors.NewConflict(pods, "zone-a-0", nil)), "", 0,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := world{runFails: tc.fails}
				c, _ := newController(&w)
				began := time.Now()
				for time.Since(began) < time.Minute {
					w.cached, w.reported = today(rolling+outdated), nil
					if _, err := c.Reconcile(t.Context(), store); !errors.Is(err, tc.fails) {
						t.Fatalf("got %v", err)
					}
					told := slices.Equal(w.reported, []string{"wait zone-a because " + tc.told})
					if due := tc.told != "" && time.Since(began) >= tc.after; told != due {
						t.Fatalf("after %s: reported %q", time.Since(began), w.reported)
					}
					time.Sleep(time.Second)
				}
			})
		})
	}
}

func TestALookThatGoesOnFailingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := world{lookFails: apierrors.NewInternalError(errors.New("etcd"))}
		c, _ := newController(&w)
		for range 10 {
			w.cached = today(outdated)
			if _, err := c.Reconcile(t.Context(), store); err == nil {
				t.Fatal("no error")
			}
			time.Sleep(time.Second)
		}
		if len(w.reported) != 5 || w.reported[0] != "wait zone-a because RequestFailing (InternalError)" {
			t.Errorf("reported %q", w.reported)
		}
	})
}

func TestAnAttemptThatSucceedsEndsTheTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w world
		c, _ := newController(&w)
		for round := range 20 {
			w.cached, w.reported, w.runFails = today(rolling+outdated), nil, nil
			if round%4 != 0 {
				w.runFails = errors.New("connection refused")
			}
			_, _ = c.Reconcile(t.Context(), store)
			if !slices.Equal(w.reported, []string{"delete zone-a-0 of zone-a because OutdatedRevision"}) {
				t.Fatalf("round %d: reported %q", round, w.reported)
			}
			time.Sleep(time.Second)
		}
	})
}
