package pools

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// LookAtVolumes reads where the volumes of pods without a node can be used, and keeps that until the next look. With a single
// namespace nothing is known of nodes.
func (o *Observer) LookAtVolumes(ctx context.Context, s *pool.Snapshot, pods []string) error {
	looks, nodes, failed := map[string]pool.VolumeLook{}, &nodeList{observer: o}, error(nil)
	for i := range s.Pods {
		p := &s.Pods[i]
		if !slices.Contains(pods, p.Name) || failed != nil {
			continue
		}
		look, err := o.lookAtVolumesOf(ctx, s.Key.Namespace, p, nodes)
		if failed = err; err != nil {
			continue // what was found is kept
		}
		if look.Since = look.At; s.Volumes[p.UID].Unreachable {
			look.Since = s.Volumes[p.UID].Since
		}
		looks[p.UID] = look
	}
	o.checks.update(s.Key, func(c *check) {
		all := maps.Clone(looks) // a new map, because snapshots share the former one
		for i := range s.Pods {
			if former, looked := c.volumes[s.Pods[i].UID]; looked && all[s.Pods[i].UID].At.IsZero() {
				all[s.Pods[i].UID] = former
			}
		}
		c.volumes = all
	})
	o.options.Changed(s.Key)
	return failed
}

// readVolumes looks again at the volumes that the last looks have shown out of reach.
func (o *Observer) readVolumes(ctx context.Context, s *pool.Snapshot) error {
	volumes, nodes := maps.Clone(s.Volumes), &nodeList{observer: o}
	for i := range s.Pods {
		p := &s.Pods[i]
		if p.Scheduled || !volumes[p.UID].Unreachable {
			continue
		}
		look, err := o.lookAtVolumesOf(ctx, s.Key.Namespace, p, nodes)
		if err != nil {
			return err
		}
		look.Since = volumes[p.UID].Since
		volumes[p.UID] = look
	}
	s.Volumes = volumes
	return nil
}

// lookAtVolumesOf looks at the volumes of one pod, until the first one that decides.
func (o *Observer) lookAtVolumesOf(ctx context.Context, namespace string, p *pool.Pod, nodes *nodeList) (pool.VolumeLook, error) {
	look := pool.VolumeLook{At: o.options.Now()}
	if o.nodes == nil {
		return look, nil
	}
	for _, m := range p.Mounts {
		volume, err := o.volumeOf(ctx, namespace, m.Claim)
		if err != nil {
			return look, err
		}
		if volume == nil || volume.Spec.NodeAffinity == nil || volume.Spec.NodeAffinity.Required == nil {
			continue
		}
		exists, able, err := nodes.usable(ctx, volume)
		switch {
		case err != nil:
			return look, err
		case exists == 0:
			look.Unreachable, look.Waits = true, ""
			return look, nil
		case able == 0:
			look.Waits = plan.Plain(fmt.Sprintf("claim %s, %d nodes", m.Claim, exists), longestWait)
		}
	}
	return look, nil
}

// longestWait is how much of the text about a volume is shown, in bytes.
const longestWait = 200

// volumeOf reads the volume of a claim; nil: it has none, or one of the two does not exist.
func (o *Observer) volumeOf(ctx context.Context, namespace, name string) (*corev1.PersistentVolume, error) {
	claim, err := o.options.Client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read claim %s/%s: %w", namespace, name, err)
	case claim.Spec.VolumeName == "":
		return nil, nil
	}
	volume, err := o.options.Client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read volume %s: %w", claim.Spec.VolumeName, err)
	}
	return volume, nil
}

// nodeList are all nodes, listed once when they are needed.
type nodeList struct {
	observer *Observer
	items    []corev1.Node
	listed   bool
}

// usable counts the nodes on which a volume can be used, and those of them that take pods.
func (l *nodeList) usable(ctx context.Context, volume *corev1.PersistentVolume) (exists, able int, err error) {
	selector, err := nodeaffinity.NewNodeSelector(volume.Spec.NodeAffinity.Required)
	if err != nil {
		return 0, 0, fmt.Errorf("read the node affinity of volume %s: %w", volume.Name, err)
	}
	if !l.listed {
		nodes, err := l.observer.options.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return 0, 0, fmt.Errorf("list nodes: %w", err)
		}
		l.items, l.listed = nodes.Items, true
	}
	for i := range l.items {
		if n := &l.items[i]; selector.Match(n) {
			exists++
			if node := nodeOf(n.Name, n); !n.Spec.Unschedulable && !node.Gone && node.Silent.IsZero() {
				able++
			}
		}
	}
	return exists, able, nil
}
