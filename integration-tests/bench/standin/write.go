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

// granted answers that everything is allowed.
func granted(r *http.Request) (runtime.Object, error) {
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
		return nil, apierrors.NewAlreadyExists(t.plain(), lease.Name)
	}
	version := s.next()
	lease.Namespace, lease.UID, lease.CreationTimestamp = t.namespace, serial(version), metav1.NewTime(time.Now().Truncate(time.Second))
	return s.leases.write(version, leaseRecord{lease}).runtimeObject(), nil
}

func (s *Server) updateLease(r *http.Request, t target) (runtime.Object, error) {
	lease, err := decodeAs[*coordinationv1.Lease](r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is, err := s.find(s.leases, t)
	if err != nil {
		return nil, err
	}
	if err := is.require(t, lease.UID, lease.ResourceVersion); err != nil {
		return nil, err
	}
	return s.leases.write(s.next(), leaseRecord{lease}).runtimeObject(), nil
}

func (s *Server) deleteLease(r *http.Request, t target) (runtime.Object, error) {
	_, err := s.remove(r, t, s.leases)
	return &metav1.Status{Status: metav1.StatusSuccess}, err
}

// remove deletes a thing if it is what the request requires.
func (s *Server) remove(r *http.Request, t target, c *collection) (thing, error) {
	options, err := deleteOptions(r)
	if err != nil {
		return thing{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is, err := s.find(c, t)
	if err != nil {
		return is, err
	}
	if p := options.Preconditions; p != nil {
		if err := is.require(t, deref(p.UID), deref(p.ResourceVersion)); err != nil {
			return is, err
		}
	}
	c.remove(s.next(), is)
	return is, nil
}

func deref[T any](p *T) T {
	var none T
	if p == nil {
		return none
	}
	return *p
}

// require returns a conflict if the thing has another UID or another version than
// asked for. Empty ones ask for nothing.
func (t thing) require(named target, uid types.UID, version string) error {
	if (uid != "" && uid != t.uid()) || (version != "" && version != versionText(t.version)) {
		return apierrors.NewConflict(named.plain(), named.name, fmt.Errorf("it is %s at version %d", t.uid(), t.version))
	}
	return nil
}

// change is what is understood of merge patches.
type change struct {
	Metadata struct {
		UID             types.UID
		ResourceVersion string
		Annotations     map[string]string
	}
	Spec   map[string]any
	Status struct{ CurrentRevision string }
}

func changeIn(r *http.Request) (change, error) {
	var c change
	if kind := r.Header.Get("Content-Type"); kind != string(types.MergePatchType) {
		return c, apierrors.NewBadRequest("only merge patches are understood, not " + kind)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return c, apierrors.NewBadRequest(err.Error())
	}
	if err := json.Unmarshal(body, &c); err != nil {
		return c, apierrors.NewBadRequest(err.Error())
	}
	if len(c.Spec) > 0 {
		return c, apierrors.NewBadRequest("this server changes no spec")
	}
	return c, nil
}

// touchPod changes nothing but the pod's version.
func (s *Server) touchPod(r *http.Request, t target) (runtime.Object, error) {
	c, err := changeIn(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is, err := s.find(s.pods, t)
	if err != nil {
		return nil, err
	}
	if err := is.require(t, c.Metadata.UID, c.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	return s.pods.write(s.next(), is.record).runtimeObject(), nil
}

// patchZone makes a revision the current one of a StatefulSet.
func (s *Server) patchZone(r *http.Request, t target) (runtime.Object, error) {
	c, err := changeIn(r)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	is, err := s.find(s.sets, t)
	if err != nil {
		return nil, err
	}
	if err := is.require(t, c.Metadata.UID, c.Metadata.ResourceVersion); err != nil {
		return nil, err
	}
	zone, ok := is.record.(zoneRecord)
	if !ok {
		return nil, errors.New("no StatefulSet is kept by this name")
	}
	if c.Status.CurrentRevision == revisionOf(zone.name, zone.generation) && t.subresource == "status" {
		zone.current = zone.generation
	}
	return s.sets.write(s.next(), zone).runtimeObject(), nil
}
