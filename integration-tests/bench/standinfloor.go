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

// reactBarely is the floor: a watch of StatefulSets, and one Lease that is made as
// soon as it tells of the first zone of a group. The groups are those that nobody else
// cares for.
func (a *arena) reactBarely(ctx context.Context, s *stage, read time.Duration) (reaction, error) {
	done := reaction{read: read}
	groups := s.Bystanders()
	namespace := groups[0].Namespace
	list, err := s.client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return done, fmt.Errorf("list StatefulSets: %w", err)
	}
	events, err := s.client.AppsV1().StatefulSets(namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return done, fmt.Errorf("watch StatefulSets: %w", err)
	}
	defer events.Stop()
	for n := range a.standIn.changes {
		wrote := make(chan error, 1)
		go func() { wrote <- a.noteFirst(ctx, s, events, n) }()
		took, err := a.firstWrite(ctx, s, groups[n%len(groups)], false)
		if err := errors.Join(err, <-wrote); err != nil {
			return done, err
		}
		done.writes = append(done.writes, took)
	}
	return done, nil
}

// noteFirst makes a Lease when the watch tells of a change, and takes in what it tells
// of the group's other zones.
func (a *arena) noteFirst(ctx context.Context, s *stage, events watch.Interface, n int) error {
	for zone := range largeZones {
		if _, open := <-events.ResultChan(); !open {
			return errors.New("the watch of StatefulSets has ended")
		}
		if zone > 0 {
			continue
		}
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("floor-", n)}}
		if _, err := s.client.CoordinationV1().Leases(s.Bystanders()[0].Namespace).Create(ctx, lease, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make Lease: %w", err)
		}
	}
	return nil
}
