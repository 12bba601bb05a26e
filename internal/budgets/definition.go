package budgets

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// watchDefinition lets the budgets be looked for at once when their CRD comes,
// changes or goes.
func (b *Book) watchDefinition(ctx context.Context) {
	informer := metadatainformer.NewFilteredMetadataInformer(
		b.options.Metadata, definitions, "", 0, cache.Indexers{},
		func(l *metav1.ListOptions) {
			l.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, Resource.GroupResource().String()).String()
		},
	).Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { b.poke() }, UpdateFunc: func(_, _ any) { b.poke() }, DeleteFunc: func(any) { b.poke() },
	})
	if err != nil {
		b.options.Log.WithError(err).Error("the CRD of budgets cannot be watched") // only an informer says so that runs already
		return
	}
	informer.RunWithContext(ctx)
}
