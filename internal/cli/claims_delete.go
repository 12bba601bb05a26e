package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

// deleteSpent deletes the claims of an identity that has ended, after the user has named the identity again. It deletes
// exactly the claims that it has shown.
func (a *app) deleteSpent(ctx context.Context, c *cluster, name string, id pool.ID) error {
	shown, err := c.spentIdentity(ctx, name, id)
	if err != nil {
		return err
	}
	if err := a.confirm(shown); err != nil {
		return err
	}
	now, err := c.spentIdentity(ctx, name, id)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(shown, now) {
		return fmt.Errorf("the claims of identity %s have changed meanwhile, so none is deleted; accepted: repeat the command", id)
	}
	return a.deleteClaims(ctx, c, pool.PodName(name, id), now.Claims)
}

// spentIdentity reads an identity whose claims may be deleted. If they may not, the error says why.
func (c *cluster) spentIdentity(ctx context.Context, name string, id pool.ID) (pool.Ended, error) {
	s, err := c.readStatefulCluster(ctx, name)
	if err != nil {
		return pool.Ended{}, err
	}
	ended := pool.OutlookOf(s.Snapshot).Ended()
	i := slices.IndexFunc(ended, func(e pool.Ended) bool { return e.ID == id })
	switch {
	case i < 0:
		return pool.Ended{}, fmt.Errorf("StatefulCluster %s/%s has no identity %q that has ended and has claims; accepted: %s", c.namespace, name, id, identitiesOf(ended))
	case ended[i].Keep:
		return pool.Ended{}, fmt.Errorf("a claim of identity %s has %s=true, so none is deleted; accepted once that is removed", id, contract.KeepAnnotation)
	}
	ended[i].Claims = slices.DeleteFunc(ended[i].Claims, func(c pool.Claim) bool { return c.Deleting })
	if len(ended[i].Claims) == 0 {
		return pool.Ended{}, fmt.Errorf("the claims of identity %s are being deleted already; accepted: %s", id, identitiesOf(slices.DeleteFunc(ended, func(e pool.Ended) bool { return e.ID == id })))
	}
	return ended[i], nil
}

func identitiesOf(ended []pool.Ended) string {
	var names []string
	for _, e := range ended {
		names = append(names, string(e.ID))
	}
	if len(names) == 0 {
		return "none, because no ended identity has claims"
	}
	return few(names)
}

// confirm shows the claims of an identity, and returns an error unless the user types the identity.
func (a *app) confirm(e pool.Ended) error {
	p := a.page()
	for _, c := range e.Claims {
		p.Line(screen.Text(fmt.Sprintf("persistentvolumeclaim/%s of identity %s, which ended %s ago: %s", c.Name, e.ID, screen.Span(a.now().Sub(e.At)), c.Because)))
	}
	p.Line(screen.In(screen.Bad, "Their data is lost if they are deleted. To delete them, type the identity again:"))
	if err := a.print(p); err != nil {
		return err
	}
	const longest = 256
	typed, err := bufio.NewReader(io.LimitReader(a.streams.In, longest)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the identity: %w", err)
	}
	if typed = strings.TrimSpace(typed); typed != string(e.ID) {
		return fmt.Errorf("%q is not the identity, so nothing is deleted; accepted: %s", typed, e.ID)
	}
	return nil
}

// deleteClaims deletes exactly the claims that were read. A pod that lost its labels is in no list, so the pod of the
// identity is read by its name first.
func (a *app) deleteClaims(ctx context.Context, c *cluster, pod string, claims []pool.Claim) error {
	_, err := c.client.CoreV1().Pods(c.namespace).Get(ctx, pod, metav1.GetOptions{})
	switch {
	case err == nil:
		return fmt.Errorf("pod %s/%s exists, so its claims stay; accepted: an identity without a pod", c.namespace, pod)
	case !apierrors.IsNotFound(err):
		return withPermissionHint(fmt.Errorf("read pod %s/%s: %w", c.namespace, pod, err))
	}
	for _, claim := range claims {
		uid, version := types.UID(claim.UID), claim.Version.String()
		err := c.client.CoreV1().PersistentVolumeClaims(c.namespace).Delete(ctx, claim.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		})
		if err != nil {
			return fmt.Errorf("delete claim %s/%s: %w", c.namespace, claim.Name, err)
		}
		if err := a.say("persistentvolumeclaim/" + claim.Name + " deleted"); err != nil {
			return err
		}
	}
	return nil
}
