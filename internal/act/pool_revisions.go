package act

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/lockstep-dev/lockstep/internal/contract"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/pool"
	"github.com/lockstep-dev/lockstep/internal/render"
)

// recordRevision creates a revision for the templates of the object, if the API server accepts a pod and claims of them. A
// refusal is passed on to Checks: the template is wrong, and no request repairs it. The pod has all that lockstep adds to any
// pod, also to the next one of an identity that was handed over, so what is accepted stays so.
func (e *Executor) recordRevision(ctx context.Context, s *pool.Snapshot, a pool.RecordRevision) error {
	b := render.Birth{ID: s.Draw(), From: s.Object.UID, Revision: a.Hash, Templates: s.Object.Templates}
	created, err := e.dryRun(ctx, s, b, metav1.FieldValidationStrict)
	lost := lostAtAdmission(s, b, created)
	if err == nil && lost == "" {
		lost, err = e.tryClaims(ctx, s, b.ID)
	}
	if err == nil && lost != "" {
		e.Checks.Refused(s.Key, a.Hash, lost)
		return nil
	}
	if isWrong(err) {
		e.Checks.Refused(s.Key, a.Hash, apiMessage(err))
		return nil
	}
	if err != nil {
		return err
	}
	return e.createRevision(ctx, s, a)
}

// isWrong reports whether the API server refuses an object because of what it says.
func isWrong(err error) bool { return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) }

// longestCollision is how many names are tried for a revision. A name may be taken by a revision of another owner.
const longestCollision = 10

func (e *Executor) createRevision(ctx context.Context, s *pool.Snapshot, a pool.RecordRevision) error {
	content, err := render.Encode(s.Object.Templates)
	if err != nil {
		return err
	}
	r := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{contract.PoolLabel: s.Key.Name},
			OwnerReferences: []metav1.OwnerReference{ownerOf(s.Key, &s.Object)},
		},
		Data: runtime.RawExtension{Raw: content}, Revision: a.Number,
	}
	revisions := e.Client.AppsV1().ControllerRevisions(s.Key.Namespace)
	for n := range longestCollision {
		r.Name = s.Key.Name + "-" + a.Hash
		if n > 0 {
			r.Name = fmt.Sprintf("%s-%d", r.Name, n)
		}
		_, err = revisions.Create(ctx, r, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			break
		}
		existing, readErr := revisions.Get(ctx, r.Name, metav1.GetOptions{})
		if readErr != nil && !apierrors.IsNotFound(readErr) {
			return fmt.Errorf("read revision %s/%s: %w", s.Key.Namespace, r.Name, readErr)
		}
		if readErr == nil && metav1.IsControlledBy(existing, &metav1.ObjectMeta{UID: types.UID(s.Object.UID)}) {
			return e.labelRevision(ctx, s, existing) // an earlier request, or another process, has created it
		}
		if readErr == nil && isLeftBehind(s.Key, existing, a.Hash) {
			return e.takeOverRevision(ctx, s, existing, a.Number)
		}
	}
	if err != nil {
		return fmt.Errorf("create revision %s/%s: %w", s.Key.Namespace, r.Name, err)
	}
	return nil
}

// isLeftBehind reports whether a revision has these templates, and a former object of the name left it behind when it was deleted
// without its pods.
func isLeftBehind(key plan.Key, r *appsv1.ControllerRevision, hash string) bool {
	templates, err := render.Decode(r.Data.Raw)
	if err != nil || len(r.OwnerReferences) > 0 || r.Labels[contract.PoolLabel] != key.Name {
		return false
	}
	of, err := render.Hash(templates)
	return err == nil && of == hash
}

// takeOverRevision makes exactly the revision that was read one of the object.
func (e *Executor) takeOverRevision(ctx context.Context, s *pool.Snapshot, r *appsv1.ControllerRevision, number int64) error {
	text := jsonOf(map[string]any{"revision": number, "metadata": map[string]any{
		"uid": r.UID, "resourceVersion": r.ResourceVersion, "ownerReferences": []any{ownerOf(s.Key, &s.Object)},
	}})
	if _, err := e.Client.AppsV1().ControllerRevisions(s.Key.Namespace).Patch(ctx, r.Name, types.MergePatchType, text, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("take over revision %s/%s: %w", s.Key.Namespace, r.Name, classify(err))
	}
	return nil
}

// labelRevision gives a revision of the object its label again, without which no cache shows it.
func (e *Executor) labelRevision(ctx context.Context, s *pool.Snapshot, r *appsv1.ControllerRevision) error {
	if r.Labels[contract.PoolLabel] == s.Key.Name {
		return nil
	}
	text := jsonOf(map[string]any{"metadata": map[string]any{
		"uid": r.UID, "resourceVersion": r.ResourceVersion, "labels": map[string]string{contract.PoolLabel: s.Key.Name},
	}})
	if _, err := e.Client.AppsV1().ControllerRevisions(s.Key.Namespace).Patch(ctx, r.Name, types.MergePatchType, text, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("label revision %s/%s: %w", s.Key.Namespace, r.Name, classify(err))
	}
	return nil
}

// renumberRevision changes the number of a revision.
func (e *Executor) renumberRevision(ctx context.Context, s *pool.Snapshot, a pool.RenumberRevision) error {
	text := jsonOf(map[string]any{
		"metadata": metadata{UID: a.Revision.UID, ResourceVersion: a.Revision.Version.String()}, "revision": a.Number,
	})
	_, err := e.Client.AppsV1().ControllerRevisions(s.Key.Namespace).Patch(ctx, a.Revision.Name, types.MergePatchType, text, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("renumber revision %s/%s: %w", s.Key.Namespace, a.Revision.Name, classify(err))
	}
	return nil
}

// deleteRevision deletes exactly the revision that was evaluated.
func (e *Executor) deleteRevision(ctx context.Context, s *pool.Snapshot, a pool.DeleteRevision) error {
	uid, version := types.UID(a.Revision.UID), a.Revision.Version.String()
	err := e.Client.AppsV1().ControllerRevisions(s.Key.Namespace).Delete(ctx, a.Revision.Name, metav1.DeleteOptions{
		Preconditions: &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
	})
	if err != nil {
		return fmt.Errorf("delete revision %s/%s: %w", s.Key.Namespace, a.Revision.Name, classify(err))
	}
	return nil
}

// compareRevisions creates a pod of each revision by a dry run, and passes on to Checks how they differ from a pod of the
// newest one. If admission draws a part of each pod at random, nothing can be said. A revision of which the API server accepts no pod any more differs in everything.
func (e *Executor) compareRevisions(ctx context.Context, s *pool.Snapshot, a pool.CompareRevisions) error {
	id := s.Draw()
	newest, err := e.dryRun(ctx, s, render.Birth{ID: id, Revision: a.Newest.Name, Templates: s.Object.Templates}, metav1.FieldValidationIgnore)
	if err != nil {
		return err
	}
	again, err := e.dryRun(ctx, s, render.Birth{ID: id, Revision: a.Newest.Name, Templates: s.Object.Templates}, metav1.FieldValidationIgnore)
	if err != nil {
		return err
	}
	drawn, err := render.Compare(newest, again) // what admission draws for each pod
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range a.With {
		pod, err := e.dryRun(ctx, s, render.Birth{ID: id, Revision: r.Name, Templates: r.Templates}, metav1.FieldValidationIgnore)
		change := pool.Change{}
		switch {
		case apierrors.IsInvalid(err) || apierrors.IsBadRequest(err):
		case err != nil:
			errs = append(errs, err)
			continue
		default:
			if change, err = render.Compare(pod, newest); err != nil {
				errs = append(errs, err)
				continue
			}
			if !drawn.Equal {
				change = pool.Change{}
			}
		}
		e.Checks.Compared(s.Key, a.Newest.Name, r.Name, change)
	}
	return errors.Join(append(errs, e.comparePods(ctx, s, a.Newest.Name, newest, a.Pods))...)
}

// dryRun returns the pod that the API server would create.
func (e *Executor) dryRun(ctx context.Context, s *pool.Snapshot, b render.Birth, validation string) ([]byte, error) {
	text, err := render.Pod(s.Key, &s.Object, b)
	if err != nil {
		return nil, err
	}
	answer := e.tryCreation(ctx, s, "pods", text, validation)
	if err := answer.Error(); err != nil { // with the message of the API server, which Raw does not have
		return nil, fmt.Errorf("create a pod of %s by a dry run: %w", s.Key, err)
	}
	return answer.Raw()
}

// tryCreation asks for the creation of an object without effect.
func (e *Executor) tryCreation(ctx context.Context, s *pool.Snapshot, resource string, text []byte, validation string) rest.Result {
	return e.Client.CoreV1().RESTClient().Post().Namespace(s.Key.Namespace).Resource(resource).
		Param("dryRun", metav1.DryRunAll).Param("fieldValidation", validation).Param("fieldManager", contract.FieldManager).
		SetHeader("Content-Type", runtime.ContentTypeJSON).SetHeader("Accept", runtime.ContentTypeJSON).Body(text).Do(ctx)
}

// apiMessage returns the message of the API server in an error.
func apiMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return plan.Plain(status.Status().Message, longestMessage)
	}
	return ""
}

// longestMessage is how much of a message of the API server is shown, in bytes.
const longestMessage = 500
