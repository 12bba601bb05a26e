// Package dynamicwatch watches the objects of a kind whose CustomResourceDefinition may be
// created, changed and deleted while the process runs.
//
//	CRD changed ──► at once ─┐
//	                         ├──► list and watch ──► reflector's store
//	back-off ────────────────┘         └ ended: why ──► Ended
//
// It reads and never writes.
package dynamicwatch

import (
	"context"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// Definitions is the resource of CustomResourceDefinitions.
var Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// FirstPause is the pause after the first failure. Each further failure doubles it.
const FirstPause = 100 * time.Millisecond

// Follower watches the objects of one kind. All fields are required but Metadata.
type Follower struct {
	Resource schema.GroupResource
	Metadata metadata.Interface // watches the CRD; nil: the CRD is not watched
	Most     time.Duration      // the longest pause between two attempts
	Log      logrus.FieldLogger

	// Reads returns a new reflector, whose first list does not depend on versions of earlier lists.
	Reads func() *cache.Reflector

	// Ended is called with the error that ended the watch. It returns whether the next attempt
	// needs a new reflector.
	Ended func(err error) (anew bool)
}

// Run watches until ctx ends, also while the kind does not exist. It returns when all goroutines
// that it started have ended.
func (f Follower) Run(ctx context.Context) {
	var running sync.WaitGroup
	changed := make(chan struct{}, 1) // holds one entry when the CRD has changed
	if f.Metadata != nil {
		running.Go(func() { f.watchDefinition(ctx, changed) })
	}
	f.follow(ctx, changed)
	running.Wait()
}

func (f Follower) follow(ctx context.Context, changed <-chan struct{}) {
	reflector, pause := f.Reads(), FirstPause
	for ctx.Err() == nil {
		began := time.Now()
		err := reflector.ListAndWatchWithContext(ctx)
		if ctx.Err() == nil && f.Ended(err) {
			reflector = f.Reads()
		}
		if time.Since(began) > 2*f.Most {
			pause = FirstPause // the watch had worked
		}
		if rest(ctx, pause, changed) {
			pause = FirstPause
		} else {
			pause = min(2*pause, f.Most)
		}
	}
}

// rest waits until the next attempt, and reports whether the CRD has changed in the meantime.
func rest(ctx context.Context, pause time.Duration, changed <-chan struct{}) bool {
	const spread = 0.2
	rest := time.NewTimer(wait.Jitter(pause, spread))
	defer rest.Stop()
	select {
	case <-rest.C:
	case <-changed:
		return true
	case <-ctx.Done():
	}
	return false
}

// watchDefinition starts an attempt at once when the CRD is created, changed or deleted.
func (f Follower) watchDefinition(ctx context.Context, changed chan<- struct{}) {
	name := fields.OneTermEqualSelector(metav1.ObjectNameField, f.Resource.String()).String()
	informer := metadatainformer.NewFilteredMetadataInformer(
		f.Metadata, Definitions, metav1.NamespaceAll, 0, cache.Indexers{},
		func(l *metav1.ListOptions) { l.FieldSelector = name },
	).Informer()
	notify := func() {
		select {
		case changed <- struct{}{}:
		default: // an attempt is due already
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(_, _ any) { notify() }, DeleteFunc: func(any) { notify() },
	})
	if err != nil {
		f.Log.WithError(err).WithField("definition", f.Resource.String()).Error("the CustomResourceDefinition cannot be watched") // only a running informer returns this error
		return
	}
	informer.RunWithContext(ctx)
}
