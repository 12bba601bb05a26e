package cli

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/api/lockstep/v1alpha1"
	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/cluster/pools"
	"github.com/lockstep-dev/lockstep/internal/plan"
)

// listedView is a StatefulCluster in a list, as its status describes it, for -o json and -o yaml.
type listedView struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"statefulCluster"`
	State     string    `json:"state"` // Ready, Reconciling, Stalled or Resting
	Replicas  int       `json:"replicas"`
	Available int       `json:"available"`
	Updated   int       `json:"updated"`
	Holder    string    `json:"holder,omitempty"`
	Waits     *waitView `json:"waits,omitempty"`
	Message   string    `json:"message,omitempty"` // of the operator, about what it waits for
}

// poolList contains the StatefulClusters of the last read.
type poolList struct {
	readable bool // the kind exists and the user may list it

	mu  sync.Mutex
	all []listedView
}

// pools reads the StatefulClusters of the wanted namespaces, unless a group is named. The kind and the permission to list it
// are optional.
func (c *cluster) pools(ctx context.Context, w wanted) *poolList {
	l := &poolList{}
	if len(w.names) > 0 {
		return l
	}
	all, err := c.readPools(ctx, w)
	switch {
	case err == nil:
		l.readable, l.all = true, all
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		c.warn(fmt.Sprintf("the StatefulClusters could not be read, so they are left out: %v", err))
	}
	return l
}

func (c *cluster) readPools(ctx context.Context, w wanted) ([]listedView, error) {
	namespace := c.namespace
	if w.all {
		namespace = ""
	}
	list, err := c.dynamic.Resource(pools.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var views []listedView
	for i := range list.Items {
		o, err := objectWithoutTemplates(&list.Items[i])
		if err != nil {
			return nil, err
		}
		views = append(views, listedViewOf(o))
	}
	slices.SortFunc(views, func(a, b listedView) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), plan.CompareNatural(a.Name, b.Name))
	})
	return views, nil
}

func listedViewOf(o *v1alpha1.StatefulCluster) listedView {
	v := listedView{
		Namespace: o.Namespace, Name: o.Name, State: stateOfConditions(o.Status.Conditions), Replicas: 1,
		Available: int(o.Status.AvailableReplicas), Updated: int(o.Status.UpdatedReplicas), Holder: o.Status.Holder,
	}
	if o.Spec.Replicas != nil {
		v.Replicas = int(*o.Spec.Replicas)
	}
	v.Waits, v.Message = operatorWait(o.Status)
	return v
}

// reread refreshes the StatefulClusters until ctx ends. A failed read keeps the last ones. It ends at once if the first read
// has shown that they are not readable.
func (l *poolList) reread(ctx context.Context, c *cluster, w wanted, news func()) {
	for l.readable {
		select {
		case <-ctx.Done():
			return
		case <-time.After(readAgain):
		}
		if all, err := c.readPools(ctx, w); err == nil && l.replace(all) {
			news()
		}
	}
}

// replace stores the StatefulClusters and reports whether they have changed.
func (l *poolList) replace(all []listedView) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if reflect.DeepEqual(l.all, all) {
		return false
	}
	l.all = all
	return true
}

func (l *poolList) views() []listedView {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all
}

// addPools prints StatefulClusters, one in each line.
func addPools(p *screen.Page, all []listedView) {
	if len(all) == 0 {
		return
	}
	if len(p.Lines()) > 0 {
		p.Line()
	}
	var rows [][]screen.Piece
	for _, v := range all {
		waits := screen.Text("")
		if v.Waits != nil {
			waits = screen.In(urgency(*v.Waits), v.Waits.short())
		}
		rows = append(rows, []screen.Piece{
			screen.In(screen.Strong, v.Namespace+"/"+v.Name), screen.In(colourOfState[v.State], v.State),
			screen.Text(fmt.Sprintf("%d/%d", v.Available, v.Replicas)), p.Style.Bar(v.Updated, v.Replicas), waits,
		})
	}
	p.Table(0, []string{"STATEFULCLUSTER", "STATE", "AVAILABLE", "UPDATED", "WAITS FOR"}, rows)
}
