package pool_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// The snapshots of each case follow each other. What is expected are the outcomes, each with the age of its update.
func TestAnUpdateInPlaceHasOneOutcome(t *testing.T) {
	type ended struct {
		Outcome pool.UpdateOutcome
		Took    time.Duration
	}
	const (
		object   = "# promise\npool web replicas=2 claims=data\nrevision 1\nrevision 2\nhold statefulcluster/web own\npod b ready claims=data\n"
		asked    = object + "intent a@10 UpdatedInPlace ago=30s\npod a ready rev=1 claims=data\n"
		begun    = object + "intent a@10 UpdatedInPlace ago=30s\npod a ready rev=1 claims=data begun=10 version=11\n"
		underway = object + "intent a@10 UpdatedInPlace ago=30s\npod a starting claims=data image=db:2 updated=10 version=11\n"
		complete = object + "intent a@10 UpdatedInPlace ago=30s\npod a ready claims=data image=db:2 updated=10 restarted version=12\n"
		gone     = object + "intent a@10 UpdatedInPlace ago=30s\n"
	)
	for sentence, tc := range map[string]struct {
		snapshots []string
		want      []ended
	}{
		"it is complete": {[]string{asked, underway, complete, complete, object}, []ended{{pool.UpdateCompleted, 30 * time.Second}}},
		"it was complete before this process led": {[]string{complete, complete}, []ended{{pool.UpdateCompleted, 30 * time.Second}}},
		"it is complete, and the record has left the Lease": {
			[]string{underway, object + "pod a ready claims=data image=db:2 updated=10 restarted version=12"}, []ended{{pool.UpdateCompleted, 30 * time.Second}},
		},
		"its record was lost before": {
			[]string{
				underway, object + "pod a starting claims=data image=db:2 updated=10 version=11",
				object + "pod a ready claims=data image=db:2 updated=10 restarted version=12",
			}, []ended{{pool.UpdateCompleted, 30 * time.Second}},
		},
		"it has begun before it was made": {
			[]string{
				begun, object + "intent a@11 UpdatedInPlace ago=10s\npod a ready rev=1 claims=data begun=10 version=11",
				object + "intent a@11 UpdatedInPlace ago=10s\npod a ready claims=data image=db:2 updated=11 restarted version=12",
			}, []ended{{pool.UpdateCompleted, 30 * time.Second}},
		},
		"the pod has changed before it was made, and it begins again": {
			[]string{
				begun, object + "intent a@11 UpdatedInPlace ago=10s\npod a ready rev=1 claims=data begun=10 version=12",
				object + "intent a@12 UpdatedInPlace ago=5s\npod a ready claims=data image=db:2 updated=12 restarted version=13",
			}, []ended{{pool.UpdateCompleted, 30 * time.Second}},
		},
		"a newer template came first": {
			[]string{
				underway, object + "intent a@11 UpdatedInPlace ago=10s\npod a starting claims=data image=db:2 updated=10 version=11",
				object + "intent a@11 UpdatedInPlace ago=10s\npod a ready claims=data image=db:2 updated=11 restarted version=12",
			}, []ended{{pool.UpdateCorrected, 30 * time.Second}, {pool.UpdateCompleted, 10 * time.Second}},
		},
		"a template came first that is impossible in place": {
			[]string{underway, object + "intent a@11 IdentityHandover\npod a terminating claims=data image=db:2 updated=10 version=12"}, []ended{{pool.UpdateHandedOver, 30 * time.Second}},
		},
		"its node is lost": {
			[]string{begun, object + "intent a@11 NodeGone\npod a terminating rev=1 claims=data begun=10 version=12"}, []ended{{pool.UpdateReplaced, 30 * time.Second}},
		},
		"an eviction is allowed meanwhile": {
			[]string{
				underway, object + "intent a@10 UpdatedInPlace ago=30s\nintent a@11 EvictionGranted\npod a starting claims=data image=db:2 updated=10 version=11",
				object + "intent a@10 UpdatedInPlace ago=30s\nintent a@11 EvictionGranted\npod a ready claims=data image=db:2 updated=10 restarted version=12",
			}, []ended{{pool.UpdateCompleted, 30 * time.Second}},
		},
		"another client deletes the pod": {
			[]string{underway, object + "intent a@10 UpdatedInPlace ago=30s\npod a terminating claims=data image=db:2 updated=10 version=12", gone, gone, object}, []ended{{pool.UpdateLost, 30 * time.Second}},
		},
		"another client deletes the pod, and its identity is kept": {
			[]string{underway, object + "intent a@10 UpdatedInPlace ago=30s\npod a ready uid=next claims=data version=20"}, []ended{{pool.UpdateLost, 30 * time.Second}},
		},
		"the selector does not match the pod any more": {
			[]string{underway, object + "pod a starting unmatched claims=data image=db:2 updated=10 version=12"}, []ended{{pool.UpdateLost, 30 * time.Second}},
		},
		"it has become impossible, so the pod runs as before": {
			[]string{begun, object + "intent a@10 UpdatedInPlace ago=30s\npod a ready rev=1 claims=data version=12", object}, []ended{{pool.UpdateWithdrawn, 30 * time.Second}},
		},
		"it never begins, because the pod has changed":    {[]string{asked, object + "intent a@10 UpdatedInPlace ago=30s\npod a ready rev=1 claims=data version=12", object}, nil},
		"it never begins, because the pod has ended":      {[]string{asked, gone, object}, nil},
		"it is in progress":                               {[]string{asked, underway, underway}, nil},
		"pods that are replaced are not updated in place": {[]string{object + "intent a@10 ScaledDown\npod a ready claims=data version=10", object}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			var (
				followed []pool.FollowedUpdate
				got      []ended
			)
			for _, text := range tc.snapshots {
				s := mustParse(t, text)
				next, now := pool.FollowUpdates(&s, followed)
				for _, u := range now {
					got = append(got, ended{u.Outcome, s.Now.Sub(u.Since)})
				}
				followed = next
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ended (-want +got):\n%s", diff)
			}
		})
	}
}

// What is followed takes memory for each pod that is updated, and only as long.
func TestAnUpdateThatHasEndedIsNotFollowed(t *testing.T) {
	const object = "# promise\npool web replicas=1\nhold statefulcluster/web own\n"
	underway := mustParse(t, object+"intent a@10 UpdatedInPlace\npod a starting image=db:2 updated=10 version=11")
	complete := mustParse(t, object+"pod a ready image=db:2 updated=10 restarted version=12")
	followed, _ := pool.FollowUpdates(&underway, nil)
	if len(followed) != 1 {
		t.Fatalf("followed: %+v", followed)
	}
	if left, _ := pool.FollowUpdates(&complete, followed); len(left) > 0 {
		t.Errorf("still followed: %+v", left)
	}
}
