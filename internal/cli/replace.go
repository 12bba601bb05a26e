package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
)

func (a *app) replace() *cobra.Command {
	var keep bool
	var patience time.Duration
	command := &cobra.Command{
		Use:   "replace POD",
		Short: "Replace a pod of a StatefulCluster",
		Long: `Replace a pod of a StatefulCluster by one with a new identity and new claims. The pod gets
the annotation lockstep.dev/specified-delete=true, and lockstep replaces it, not more than
maxUnavailable pods at a time.

With --keep, the next pod gets the same name and the same claims. The pod gets the annotation
lockstep.dev/retain-identity=true, and the command waits until lockstep has written it on the
claims. It does not delete the pod: it says whether you can do so now. If not, the exit code
is 2. Repeat the command to ask again.`,
		Example: `  kubectl lockstep replace db-0123456789abcdef
  kubectl lockstep replace db-0123456789abcdef --keep`,
		Args: one("replace POD"),
	}
	command.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case c.Flags().Changed("timeout") && !keep:
			return errors.New("--timeout has no effect without --keep, because nothing is waited for; accepted: replace POD --keep --timeout 1m")
		case patience <= 0:
			return fmt.Errorf("--timeout %s is not positive; accepted: a duration like 30s or 2m", patience)
		}
		_, name, err := subject(args[0], podKind)
		if err != nil {
			return err
		}
		cluster, err := a.connect()
		if err != nil {
			return err
		}
		if keep {
			return a.replaceAndKeep(c.Context(), cluster, name, patience)
		}
		return a.replaceByNewIdentity(c.Context(), cluster, name)
	}
	command.Flags().BoolVar(&keep, "keep", false, "keep the identity: the next pod has the same name and claims")
	command.Flags().DurationVar(&patience, "timeout", time.Minute, "with --keep, how long to wait for the claims")
	return command
}

func (a *app) replaceByNewIdentity(ctx context.Context, c *cluster, name string) error {
	pod, s, err := c.memberOfPool(ctx, name)
	if err != nil {
		return err
	}
	if member, _ := podOfPool(s, name); member.Retain {
		return fmt.Errorf("pod %s/%s has %s=true, which contradicts a new identity; accepted: replace POD --keep, or remove that annotation or label first", c.namespace, name, contract.RetainIdentityLabel)
	}
	if err := c.annotatePod(ctx, pod, contract.SpecifiedDeleteLabel); err != nil {
		return err
	}
	text := "is to be replaced by a new identity with new claims; "
	if s.Object.Claim.DeleteWhenReplaced {
		text += "lockstep deletes its claims after its end, because whenReplaced is Delete"
	} else {
		text += "its claims stay after its end (kubectl lockstep claims)"
	}
	if s.Object.PausedAt(s.Now) {
		text += "; it is replaced once the StatefulCluster is resumed (kubectl lockstep resume)"
	}
	return a.say("pod/" + name + " " + text)
}

// replaceAndKeep marks a pod so that its identity is kept, waits until its claims say so, and says whether the pod can be
// deleted now.
func (a *app) replaceAndKeep(ctx context.Context, c *cluster, name string, patience time.Duration) error {
	pod, s, err := c.memberOfPool(ctx, name)
	if err != nil {
		return err
	}
	switch member, _ := podOfPool(s, name); {
	case member.Asked:
		return fmt.Errorf("pod %s/%s is to be replaced by a new identity already (%s, or spec.scaleStrategy.podsToDelete); accepted once that is taken back", c.namespace, name, contract.SpecifiedDeleteLabel)
	case !pool.OutlookOf(s.Snapshot).CanRetain(name):
		return fmt.Errorf("the identity of pod %s/%s cannot be kept: the pod has no claims, or not all of them exist; accepted: a pod whose claims exist, or replace POD without --keep", c.namespace, name)
	}
	if err := c.annotatePod(ctx, pod, contract.RetainIdentityLabel); err != nil {
		return err
	}
	answer, err := c.awaitRetained(ctx, poolName(pod), name, string(pod.UID), patience)
	if err != nil {
		return err
	}
	return a.printRetained(c.namespace, name, viewOfAnswer(answer))
}

// printRetained says whether a pod whose identity is kept can be deleted now.
func (a *app) printRetained(namespace, name string, answer answerView) error {
	p := a.page()
	p.Line(screen.In(screen.Strong, "pod/"+name), screen.Text("keeps its name and its claims, however it ends now"))
	if answer.Allowed {
		p.Line(screen.Text("  Delete it: kubectl delete pod " + name + " -n " + namespace))
		return a.print(p)
	}
	addReason(p, *answer.Because, screen.In(screen.Slow, "  Do not delete it yet:"))
	addMeaning(p, answer.Because.Sentence, answer.Because.ToDo)
	p.Indented(2, screen.Text("Repeat the command to ask again."))
	if err := a.print(p); err != nil {
		return err
	}
	return errWaits
}

// awaitRetained waits until the claims of a pod say that its identity is kept, and returns the answer that an eviction of
// the pod would get then.
func (c *cluster) awaitRetained(ctx context.Context, of, name, uid string, patience time.Duration) (plan.EvictionAnswer, error) {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		s, err := c.readForPlanner(ctx, of)
		if err != nil {
			return plan.EvictionAnswer{}, err
		}
		outlook := pool.OutlookOf(s.Snapshot)
		switch pod, exists := s.Pod(name); {
		case !exists || pod.UID != uid:
			return plan.EvictionAnswer{}, fmt.Errorf("pod %s/%s has ended meanwhile", c.namespace, name)
		case outlook.Retained(name):
			return outlook.Evict(plan.EvictionRequest{Pod: name, UID: uid}), nil
		}
		select {
		case <-ctx.Done():
			return plan.EvictionAnswer{}, ctx.Err()
		case <-timeout.C:
			return plan.EvictionAnswer{}, fmt.Errorf("the claims of pod %s/%s do not say after %s that its identity is kept, so do not delete it; accepted: a running lockstep that manages the namespace, or a longer --timeout", c.namespace, name, patience)
		case <-time.After(pollInterval):
		}
	}
}

// memberOfPool returns a pod of a StatefulCluster, with the StatefulCluster. A pod of anything else is an error, and so is one
// that terminates.
func (c *cluster) memberOfPool(ctx context.Context, name string) (*corev1.Pod, statefulCluster, error) {
	pod, err := c.pod(ctx, name)
	if err != nil {
		return nil, statefulCluster{}, err
	}
	of, is := poolOf(pod)
	switch {
	case !is:
		return nil, statefulCluster{}, fmt.Errorf("pod %s/%s belongs to no StatefulCluster; accepted: a pod of one", c.namespace, name)
	case pod.DeletionTimestamp != nil:
		return nil, statefulCluster{}, fmt.Errorf("pod %s/%s terminates already; accepted: a pod that does not", c.namespace, name)
	}
	s, err := c.readForPlanner(ctx, of)
	if _, exists := podOfPool(s, name); err == nil && !exists {
		err = c.notCounted(of, name)
	}
	return pod, s, err
}

func poolName(pod *corev1.Pod) string {
	name, _ := poolOf(pod)
	return name
}

// annotatePod sets an annotation of a pod to true, unless the pod has been replaced since it was read.
func (c *cluster) annotatePod(ctx context.Context, pod *corev1.Pod, key string) error {
	pods := c.client.CoreV1().Pods(c.namespace)
	_, err := target[*corev1.Pod]{
		patch: func(ctx context.Context, name string, patch []byte) error {
			_, err := pods.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: actor})
			return err
		},
		read: func(ctx context.Context, name string) (*corev1.Pod, error) {
			return pods.Get(ctx, name, metav1.GetOptions{})
		},
	}.change(ctx, pod, func(now *corev1.Pod) (change, error) {
		if now.UID != pod.UID {
			return change{}, errors.New("another pod of its name has taken its place meanwhile; accepted: replace it again, if that is what you want")
		}
		return change{patch: object{"metadata": object{"annotations": object{key: "true"}}}}, nil
	})
	if err != nil {
		return fmt.Errorf("annotate pod %s/%s: %w", c.namespace, pod.Name, err)
	}
	return nil
}
