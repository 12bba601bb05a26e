// Package kind follows the objects of a kind that its CustomResourceDefinition may
// install, change and take away while the process runs.
//
//	CRD changed ──► at once ─┐
//	                         ├──► list and watch ──► reflector's store
//	back-off ────────────────┘         └ ended: why ──► Ended
//
// It reads and never writes.
package kind

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

// Definitions is what serves CustomResourceDefinitions.
var Definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// FirstPause is the pause after a first failure; each further one doubles it.
const FirstPause = 100 * time.Millisecond

// Follower watches the objects of one kind. All is required but Metadata.
type Follower struct {
	Resource schema.GroupResource
	Metadata metadata.Interface // watches the CRD; nil: nobody does
	Most     time.Duration      // the longest pause between two attempts
	Log      logrus.FieldLogger

	// Reads returns a new reflector, whose first list asks for no version of what was before.
	Reads func() *cache.Reflector

	// Ended hears why the objects are not watched any more, and returns whether the
	// reflector has to be a new one.
	Ended func(err error) (anew bool)
}

// Run watches until ctx ends, whatever becomes of the kind, and returns when everything
// that it began has stopped.
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
			pause = FirstPause // it had gone well
		}
		if rest(ctx, pause, changed) {
			pause = FirstPause
		} else {
			pause = min(2*pause, f.Most)
		}
	}
}

// rest waits until it is time to try again, and returns whether the CRD has changed
// meanwhile.
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

// watchDefinition lets the objects be looked for at once when their CRD comes, changes
// or goes.
func (f Follower) watchDefinition(ctx context.Context, changed chan<- struct{}) {
	name := fields.OneTermEqualSelector(metav1.ObjectNameField, f.Resource.String()).String()
	informer := metadatainformer.NewFilteredMetadataInformer(
		f.Metadata, Definitions, metav1.NamespaceAll, 0, cache.Indexers{},
		func(l *metav1.ListOptions) { l.FieldSelector = name },
	).Informer()
	tell := func() {
		select {
		case changed <- struct{}{}:
		default: // it is known
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { tell() }, UpdateFunc: func(_, _ any) { tell() }, DeleteFunc: func(any) { tell() },
	})
	if err != nil {
		f.Log.WithError(err).WithField("definition", f.Resource.String()).Error("a CRD cannot be watched") // only an informer says so that runs already
		return
	}
	informer.RunWithContext(ctx)
}
