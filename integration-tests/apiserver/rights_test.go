package apiserver_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
)

// An API server applies the roles in its cache, which may be old.

// may returns whether an API server allows a user to do something.
func may(ctx context.Context, admin kubernetes.Interface, user string, right authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &right}}
	answer, err := admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, review, createOptions)
	if err != nil {
		return false, fmt.Errorf("read the permissions of %s: %w", user, err)
	}
	return answer.Status.Allowed, nil
}

// awaitRoles waits until an API server applies every role that is bound to a service account in a
// namespace or in the cluster, as long as the binding exists: tests temporarily bind more roles to
// accounts of other tests. It checks the last rule of each role.
func awaitRoles(ctx context.Context, admin kubernetes.Interface, user, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		all, err := mayAll(ctx, admin, user, namespace)
		if all || err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func mayAll(ctx context.Context, admin kubernetes.Interface, user, namespace string) (bool, error) {
	rights, err := boundTo(ctx, admin, user, namespace)
	if err != nil {
		return false, err
	}
	for _, right := range rights {
		if allowed, err := may(ctx, admin, user, right); !allowed || err != nil {
			return false, err
		}
	}
	return true, nil
}

// boundTo returns one right of each existing role that is bound to a service account.
func boundTo(ctx context.Context, admin kubernetes.Interface, user, namespace string) ([]authorizationv1.ResourceAttributes, error) {
	rbac := admin.RbacV1()
	here, err := rbac.RoleBindings(namespace).List(ctx, listOptions)
	if err != nil {
		return nil, err
	}
	everywhere, err := rbac.ClusterRoleBindings().List(ctx, listOptions)
	if err != nil {
		return nil, err
	}
	isIts := func(s rbacv1.Subject) bool { return "system:serviceaccount:"+s.Namespace+":"+s.Name == user }
	var rights []authorizationv1.ResourceAttributes
	for _, b := range here.Items {
		if slices.ContainsFunc(b.Subjects, isIts) {
			role, err := rbac.Roles(namespace).Get(ctx, b.RoleRef.Name, getOptions)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			rights = append(rights, lastOf(role.Rules, namespace)...)
		}
	}
	for _, b := range everywhere.Items {
		if slices.ContainsFunc(b.Subjects, isIts) {
			role, err := rbac.ClusterRoles().Get(ctx, b.RoleRef.Name, getOptions)
			if apierrors.IsNotFound(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			rights = append(rights, lastOf(role.Rules, "")...)
		}
	}
	return rights, nil
}

// lastOf returns a right that the last rule grants. A role that aggregates others may have no
// rules.
func lastOf(rules []rbacv1.PolicyRule, namespace string) []authorizationv1.ResourceAttributes {
	if len(rules) == 0 {
		return nil
	}
	return []authorizationv1.ResourceAttributes{rightBy(last(rules), namespace)}
}

func rightBy(rule rbacv1.PolicyRule, namespace string) authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(rule.Resources[0], "/")
	right := authorizationv1.ResourceAttributes{
		Namespace: namespace, Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: resource, Subresource: subresource,
	}
	if len(rule.ResourceNames) > 0 {
		right.Name = rule.ResourceNames[0]
	}
	return right
}

// awaitRight waits until the API server allows a user to do something, or denies it.
func (s *scene) awaitRight(user string, right authorizationv1.ResourceAttributes, granted bool) {
	s.t.Helper()
	s.eventually("the API server knows the roles", func(present) error {
		allowed, err := may(s.t.Context(), s.world.admin, user, right)
		if err == nil && allowed != granted {
			err = errors.New("not yet")
		}
		return err
	})
}
