package cli

import (
	"context"
	"io"
	"time"

	"github.com/sirupsen/logrus"
	"k8s.io/client-go/metadata"

	"github.com/lockstep-dev/lockstep/internal/cluster/reference"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// scalesTimeout is how long the command waits for resources whose replicas zones take over. After that, the missing
// resources count as not read.
const scalesTimeout = 5 * time.Second

// cache returns a cache of resources whose replicas zones take over.
func (c *cluster) cache(namespace string) (*reference.Cache, error) {
	objects, err := metadata.NewForConfigAndClient(c.config, c.http)
	if err != nil {
		return nil, err
	}
	quiet := logrus.New()
	quiet.SetOutput(io.Discard)
	return reference.New(reference.Options{Client: c.client, Metadata: objects, Namespace: namespace, Log: quiet}), nil
}

// scales reads resources and returns a function that stops reading.
func (c *cluster) scales(ctx context.Context, namespace string, wanted []group.Reference) (*reference.Cache, func(), error) {
	cache, err := c.cache(namespace)
	if err != nil {
		return nil, nil, err
	}
	changed := make(chan struct{}, 1)
	cache.Listen(func(string, group.Reference) { notify(changed) })
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		cache.Run(ctx)
	}()
	for _, r := range wanted {
		cache.Want(namespace, r, true)
	}
	limit := time.NewTimer(scalesTimeout)
	defer limit.Stop()
	for !read(cache, namespace, wanted) {
		select {
		case <-changed:
			continue
		case <-limit.C:
		case <-ctx.Done():
		}
		break
	}
	return cache, func() { stop(); <-ended }, nil
}

func read(cache *reference.Cache, namespace string, wanted []group.Reference) bool {
	for _, r := range wanted {
		if known, _ := cache.Scale(namespace, r); known.Trouble.Code == reason.ReferenceNotRead {
			return false
		}
	}
	return true
}

// references returns the resources whose replicas zones of a group take over.
func references(s group.Snapshot) []group.Reference {
	var all []group.Reference
	for _, z := range s.Zones {
		if !z.Mirror.Reference.None() {
			all = append(all, z.Mirror.Reference)
		}
	}
	return all
}

// notify sends a value unless one is pending.
func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
