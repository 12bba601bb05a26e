package apiserver_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// According to the page, the predecessor's manifests need a Role and an image, and no other change.
func TestThePredecessorsManifestsRunThisImageWithOneRole(t *testing.T) {
	t.Parallel()
	const overlay = repository + "/manifests/overlays/rollout-operator-role"
	wantObjects(t, objectsOf(t, render(t, overlay)), []string{"Role lockstep"})

	s := unmanaged(t)
	p, admin := s.predecessor(), s.shell()
	p.losesItsRole()
	p.mayInject()
	manifests, err := filepath.Abs(repository + "/manifests")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(manifests, filepath.Join(admin.folder, "manifests")); err != nil {
		t.Fatal(err)
	}
	admin.types(guided(t, "Your manifests, this image and one Role", "sh"))

	deployment, err := s.world.admin.AppsV1().Deployments(s.name).Get(t.Context(), former, getOptions)
	if err != nil {
		t.Fatal(err)
	}
	container := deployment.Spec.Template.Spec.Containers[0]
	if !strings.HasPrefix(container.Image, "lockstep:") {
		t.Errorf("the image is %s", container.Image)
	}
	op := s.startOperatorAs(former, append(container.Args, "-kubernetes.pod-name="+former+"-0", "-leader-election.lease-name="+former, "-server-tls.port=0")...)
	if missing := strings.Count(op.Logs(), "permissions are missing"); missing > 0 {
		t.Errorf("it lacks permissions:\n%s", lastLines(op.Logs(), "permissions are missing", 5))
	}

	s.create(zone("zone-a", 2, formerly), zone("zone-b", 2, formerly))
	s.change("zone-a", version(2))
	s.change("zone-b", version(2))
	s.settled()
	p.registers()
	s.eventually("the predecessor's webhook configurations have lockstep's CA", func(present) error {
		secret := s.secret()
		for name, bundle := range p.bundles() {
			if string(bundle) != string(secret.Data["ca"]) {
				return errors.New(name + " has another CA")
			}
		}
		return nil
	})
}

// losesItsRole removes the predecessor's Role in its namespace.
func (p *predecessor) losesItsRole() {
	p.t.Helper()
	roles := p.world.admin.RbacV1()
	err := errors.Join(roles.RoleBindings(p.name).Delete(p.t.Context(), "rollout-operator-rolebinding", deleteOptions),
		roles.Roles(p.name).Delete(p.t.Context(), "rollout-operator-role", deleteOptions))
	if err != nil {
		p.t.Fatal(err)
	}
}

// mayInject gives the predecessor the ClusterRole of its manifests.
func (p *predecessor) mayInject() {
	p.t.Helper()
	ctx, roles := p.t.Context(), p.world.admin.RbacV1()
	about := metav1.ObjectMeta{Name: fmt.Sprintf("rollout-operator-%s-webhook-cert-update-role", p.name)}
	role := &rbacv1.ClusterRole{ObjectMeta: about, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"admissionregistration.k8s.io"}, Verbs: []string{"list", "patch", "watch"},
		Resources: []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"},
	}}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: about, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: about.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: former, Namespace: p.name}},
	}
	if _, err := roles.ClusterRoles().Create(ctx, role, createOptions); err != nil {
		p.t.Fatal(err)
	}
	if _, err := roles.ClusterRoleBindings().Create(ctx, binding, createOptions); err != nil {
		p.t.Fatal(err)
	}
}
