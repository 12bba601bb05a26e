package pools

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// LookUpService reads the Service of a pool, and keeps what it shows until the next look.
func (o *Observer) LookUpService(ctx context.Context, s *pool.Snapshot, name string) error {
	look := pool.ServiceLook{At: o.options.Now(), Generation: s.Object.Generation}
	service, err := o.options.Client.CoreV1().Services(s.Key.Namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		look.Missing = "the Service does not exist"
	case err != nil:
		return fmt.Errorf("read Service %s/%s: %w", s.Key.Namespace, name, err)
	case service.Spec.ClusterIP != corev1.ClusterIPNone:
		look.Missing = "the Service is not headless: it has a cluster IP"
	}
	o.checks.update(s.Key, func(c *check) { c.service = look })
	o.options.Changed(s.Key)
	return nil
}
