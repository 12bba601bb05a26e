package apiserver_test

import (
	"errors"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// may returns whether the API server allows a group of users something in the namespace.
func (s *scene) may(group, verb, resource, subresource string) bool {
	s.t.Helper()
	review, err := s.world.admin.AuthorizationV1().SubjectAccessReviews().Create(s.t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "someone", Groups: []string{group},
			ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: s.name, Verb: verb, Group: "lockstep.dev", Resource: resource, Subresource: subresource},
		},
	}, createOptions)
	if err != nil {
		s.t.Fatal(err)
	}
	return review.Status.Allowed
}

// Users get the roles of Kubernetes, which include those of the kind.
func TestUsersOfANamespaceMayUseStatefulClusters(t *testing.T) {
	t.Parallel()
	s := unmanaged(t)
	if err := s.world.cluster.Apply(t.Context(), manifest+"statefulcluster/users.yaml"); err != nil {
		t.Fatal(err)
	}
	for _, role := range []string{"edit", "view"} {
		_, err := s.world.admin.RbacV1().RoleBindings(s.name).Create(t.Context(), &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "lockstep-statefulcluster-" + role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: role}},
		}, createOptions)
		if err != nil {
			t.Fatal(err)
		}
	}
	s.eventually("the roles count", func(present) error {
		if !s.may("edit", "create", "statefulclusters", "") || !s.may("view", "get", "statefulclusters", "") {
			return errors.New("they do not count yet")
		}
		return nil
	})
	for _, c := range []struct {
		group, verb, subresource string
		may                      bool
	}{
		{"edit", "delete", "", true}, {"edit", "patch", "scale", true}, {"edit", "patch", "status", false},
		{"view", "watch", "", true}, {"view", "create", "", false}, {"view", "patch", "scale", false},
	} {
		if s.may(c.group, c.verb, "statefulclusters", c.subresource) != c.may {
			t.Errorf("%s may %s statefulclusters %s: want %t", c.group, c.verb, c.subresource, c.may)
		}
	}
}
