// Package access asks the API server whether it grants the permissions that the operator
// declares (package permission). So the log, /ready and a metric name a missing permission.
//
// It asks at start, again after a refused request, and at growing intervals while a permission
// is missing. If all permissions are granted, it logs nothing. No behaviour depends on the
// answers, only reports do.
package access

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/internal/contract/permission"
)

const (
	// againFirst is the pause after the first review. It doubles up to againMost while a
	// permission is missing.
	againFirst, againMost = 10 * time.Second, 5 * time.Minute
	// answerWithin limits one request.
	answerWithin = 5 * time.Second
)

// Options configure a Review. All but Asks and Changed are required.
type Options struct {
	Client  kubernetes.Interface
	Needs   []permission.Need
	Asks    func(permission.Need) bool // whether a need applies at present; nil: all apply
	Managed string                     // the only managed namespace; empty: the cluster
	Home    string                     // the operator's own namespace
	Alarm   *Alarm
	Log     logrus.FieldLogger
	Changed func(missing int) // called with the number of missing permissions
}

// Review knows which permissions are missing. Callers create it with New and call Run. Its other
// methods are safe for concurrent use.
type Review struct {
	options Options

	mu      sync.Mutex
	missing []string
}

// New returns a Review that has asked nothing yet.
func New(o Options) *Review {
	if o.Changed == nil {
		o.Changed = func(int) {}
	}
	if o.Asks == nil {
		o.Asks = func(permission.Need) bool { return true }
	}
	return &Review{options: o}
}

// Run asks at once, after every alarm, and repeatedly while a permission is missing or a request
// fails, until ctx ends.
func (r *Review) Run(ctx context.Context) {
	pause := againFirst
	for {
		complete := r.ask(ctx)
		rest := time.NewTimer(pause)
		select {
		case <-rest.C:
		case <-ctx.Done():
			rest.Stop()
			return
		}
		if !complete {
			pause = min(2*pause, againMost)
			continue
		}
		if !r.options.Alarm.wait(ctx) {
			return
		}
		pause = againFirst
	}
}

// remedy applies to every installation: of a cluster or of one namespace, with webhooks or
// without.
const remedy = "apply what you installed, of the image's version"

// Missing returns an error that names the missing permissions of the last review, or nil.
func (r *Review) Missing() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.missing) == 0 {
		return nil
	}
	return fmt.Errorf("missing: %s; "+remedy, strings.Join(r.missing, ", "))
}

// ask reviews every need and reports changes. It returns whether all requests succeeded and no
// permission is missing.
func (r *Review) ask(ctx context.Context) bool {
	var missing []string
	var errs []error
	for _, q := range r.questions() {
		granted, err := r.granted(ctx, q)
		errs = append(errs, err)
		if err == nil && !granted {
			missing = append(missing, describe(q))
		}
	}
	if err := errors.Join(errs...); err != nil {
		r.options.Log.WithError(err).Debug("the review of permissions is incomplete")
		return false
	}
	r.update(missing)
	return len(missing) == 0
}

func (r *Review) update(missing []string) {
	r.mu.Lock()
	before := r.missing
	r.missing = missing
	r.mu.Unlock()
	r.options.Changed(len(missing))
	switch {
	case slices.Equal(before, missing):
	case len(missing) == 0:
		r.options.Log.Info("no permission is missing any more")
	default:
		r.options.Log.WithField("missing", strings.Join(missing, ", ")).
			Error("permissions are missing; " + remedy)
	}
}

// questions returns one access review for each verb of each need.
func (r *Review) questions() []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, need := range r.options.Needs {
		if need.Scope == permission.Cluster && r.options.Managed != "" {
			continue // an operator of one namespace does not need it
		}
		if !r.options.Asks(need) {
			continue
		}
		resource, subresource, _ := strings.Cut(need.Resource, "/")
		for _, verb := range need.Verbs {
			all = append(all, authorizationv1.ResourceAttributes{
				Namespace: r.namespace(need.Scope), Verb: verb, Group: need.APIGroup,
				Resource: resource, Subresource: subresource, Name: need.Name,
			})
		}
	}
	return all
}

func (r *Review) namespace(scope permission.Scope) string {
	switch scope {
	case permission.Managed:
		return r.options.Managed
	case permission.Home:
		return r.options.Home
	case permission.Cluster, permission.Everywhere:
	}
	return ""
}

func (r *Review) granted(ctx context.Context, about authorizationv1.ResourceAttributes) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	question := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &about}}
	answer, err := r.options.Client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, question, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("review permission to %s: %w", describe(about), err)
	}
	return answer.Status.Allowed, nil
}

// describe returns a permission as text: "patch statefulsets/status.apps in team".
func describe(a authorizationv1.ResourceAttributes) string {
	text := a.Verb + " " + a.Resource
	if a.Subresource != "" {
		text += "/" + a.Subresource
	}
	if a.Group != "" {
		text += "." + a.Group
	}
	if a.Name != "" {
		text += " " + a.Name
	}
	if a.Namespace != "" {
		text += " in " + a.Namespace
	}
	return text
}
