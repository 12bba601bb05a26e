package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// allowAccess answers an access review with allowed.
func allowAccess(r *http.Request) (runtime.Object, error) {
	review, err := decodeAs[*authorizationv1.SelfSubjectAccessReview](r)
	if err != nil {
		return nil, err
	}
	review.Status.Allowed = true
	return review, nil
}

func (s *Server) createLease(r *http.Request, t target) (runtime.Object, error) {
	lease, err := decodeAs[*coordinationv1.Lease](r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, exists := s.leases.get(t.namespace, lease.Name); exists {
		return nil, apierrors.NewAlreadyExists(t.groupResource(), lease.Name)
	}
	version := s.nextVersion()
	lease.Namespace, lease.UID, lease.CreationTimestamp = t.namespace, uidOf(version), metav1.NewTime(time.Now().Truncate(time.Second))
	return s.leases.write(version, leaseRecord{lease}).runtimeObject(), nil
}

func (s *Server) updateLease(r *http.Request, t target) (runtime.Object, error) {
	lease, err := decodeAs[*coordinationv1.Lease](r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	current, err := s.find(s.leases, t)
	if err != nil {
		return nil, err
	}
	if err := current.checkPreconditions(t, lease.UID, lease.ResourceVersion); err != nil {
		return nil, err
	}
	return s.leases.write(s.nextVersion(), leaseRecord{lease}).runtimeObject(), nil
}

func (s *Server) deleteLease(r *http.Request, t target) (runtime.Object, error) {
	_, err := s.remove(r, t, s.leases)
	return &metav1.Status{Status: metav1.StatusSuccess}, err
}

// remove deletes an object if the preconditions of the request hold.
func (s *Server) remove(r *http.Request, t target, c *collection) (storedObject, error) {
	options, err := deleteOptions(r)
	if err != nil {
		return storedObject{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	current, err := s.find(c, t)
	if err != nil {
		return current, err
	}
	if p := options.Preconditions; p != nil {
		if err := current.checkPreconditions(t, deref(p.UID), deref(p.ResourceVersion)); err != nil {
			return current, err
		}
	}
	c.remove(s.nextVersion(), current)
	return current, nil
}

func deref[T any](p *T) T {
	var none T
	if p == nil {
		return none
	}
	return *p
}

// checkPreconditions returns a conflict if the object has another UID or version than required. Empty
// values require nothing.
func (t storedObject) checkPreconditions(target target, uid types.UID, version string) error {
	if (uid != "" && uid != t.uid()) || (version != "" && version != versionText(t.version)) {
		return apierrors.NewConflict(target.groupResource(), target.name, fmt.Errorf("UID is %s and resourceVersion is %d", t.uid(), t.version))
	}
	return nil
}

// mergePatch contains the supported fields of a merge patch.
type mergePatch struct {
	Metadata struct {
		UID             types.UID
		ResourceVersion string
		Annotations     map[string]string
	}
	Spec   map[string]any
	Status struct{ CurrentRevision string }
}

func mergePatchIn(r *http.Request) (mergePatch, error) {
	var c mergePatch
	if kind := r.Header.Get("Content-Type"); kind != string(types.MergePatchType) {
		return c, apierrors.NewBadRequest("only merge patches are supported, got " + kind)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return c, apierrors.NewBadRequest(err.Error())
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return c, apierrors.NewBadRequest(err.Error())
	}
	if len(c.Spec) > 0 {
		return c, apierrors.NewBadRequest("patches of spec are not supported")
	}
	return c, nil
}

// patchPod only changes the version of the pod.
func (s *Server) patchPod(r *http.Request, t target) (runtime.Object, error) {
	c, err := mergePatchIn(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	current, err := s.find(s.pods, t)
	if err != nil {
		return nil, err
	}
	if err := current.checkPreconditions(t, c.Metadata.UID, c.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	return s.pods.write(s.nextVersion(), current.record).runtimeObject(), nil
}

// patchStatefulSet sets status.currentRevision.
func (s *Server) patchStatefulSet(r *http.Request, t target) (runtime.Object, error) {
	c, err := mergePatchIn(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	current, err := s.find(s.sets, t)
	if err != nil {
		return nil, err
	}
	if err := current.checkPreconditions(t, c.Metadata.UID, c.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	zone, ok := current.record.(zoneRecord)
	if !ok {
		return nil, errors.New("the object is not a StatefulSet")
	}
	if c.Status.CurrentRevision == revisionOf(zone.name, zone.generation) && t.subresource == "status" {
		zone.current = zone.generation
	}
	return s.sets.write(s.nextVersion(), zone).runtimeObject(), nil
}
