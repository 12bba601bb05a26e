package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// measureStandInFloor measures the floor for the stand-in: a watch of StatefulSets, and one Lease that
// is created at the first event of a group. It uses groups that no operator manages.
func (tb *testbed) measureStandInFloor(ctx context.Context, s *standInServer, read time.Duration) (standInResult, error) {
	result := standInResult{read: read}
	groups := s.Unmanaged()
	namespace := groups[0].Namespace
	list, err := s.client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return result, fmt.Errorf("list StatefulSets: %w", err)
	}
	events, err := s.client.AppsV1().StatefulSets(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return result, fmt.Errorf("watch StatefulSets: %w", err)
	}
	defer events.Stop()
	for n := range tb.standIn.changes {
		created := make(chan error, 1)
		go func() { created <- tb.createLeaseOnChange(ctx, s, events, n) }()
		took, err := tb.firstWrite(ctx, s, groups[n%len(groups)], false)
		if err := errors.Join(err, <-created); err != nil {
			return result, err
		}
		result.writes = append(result.writes, took)
	}
	return result, nil
}

// createLeaseOnChange creates a Lease at the first event, and consumes the events of the other zones
// of the group.
func (tb *testbed) createLeaseOnChange(ctx context.Context, s *standInServer, events watch.Interface, n int) error {
	for zone := range largeZones {
		if _, open := <-events.ResultChan(); !open {
			return errors.New("the watch of StatefulSets has ended")
		}
		if zone > 0 {
			continue
		}
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("floor-", n)}}
		if _, err := s.client.CoordinationV1().Leases(s.Unmanaged()[0].Namespace).Create(ctx, lease, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make Lease: %w", err)
		}
	}
	return nil
}
