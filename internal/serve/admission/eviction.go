package admission

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/lockstep-dev/lockstep/internal/plan"
)

// Eviction is a request under review to evict a pod.
type Eviction struct {
	Namespace string
	Pod       string
	UID       string       // precondition; empty: none
	Version   plan.Version // resourceVersion precondition; 0: none
	DryRun    bool

	hasOptions       bool // deleteOptions is set
	hasPreconditions bool // deleteOptions.preconditions is set
}

// namesZonePod reports whether a StatefulSet could give the pod its name. Most other pods have names that
// end in random characters.
func (e Eviction) namesZonePod() bool {
	_, _, ok := plan.ParentOf(e.Pod)
	return ok
}

// evictionObject is the part of an Eviction under review that eviction reads.
type evictionObject struct {
	APIVersion    string `json:"apiVersion"`
	Kind          string `json:"kind"`
	DeleteOptions *struct {
		DryRun        []string              `json:"dryRun"`
		Preconditions *metav1.Preconditions `json:"preconditions"`
	} `json:"deleteOptions"`
}

// evictionJudge decides on evictions.
type evictionJudge interface {
	Judge(ctx context.Context, e Eviction) Verdict
	// Doubt decides on a review that contains no valid eviction.
	Doubt(about string) Verdict
}

func evictions(judge evictionJudge) func(*review) verdictFunc {
	return func(ar *review) verdictFunc {
		e, err := ar.eviction()
		return func(ctx context.Context) Verdict {
			if err != nil {
				return judge.Doubt(err.Error())
			}
			return judge.Judge(ctx, e)
		}
	}
}

// eviction returns the eviction under review, or an error if the review does not contain one.
func (q *review) eviction() (Eviction, error) {
	r := q.Request
	switch {
	case r.Operation != "CREATE":
		return Eviction{}, fmt.Errorf("operation %.40q evicts no pod: the webhook is for CREATE", r.Operation)
	case r.Resource != resource{Resource: "pods"} || r.SubResource != "eviction":
		return Eviction{}, fmt.Errorf("%.80q of group %.80q is not an eviction of a pod", r.what(), r.Resource.Group)
	case r.Name == "" || r.Namespace == "":
		return Eviction{}, errors.New("the request names no pod in a namespace")
	}
	var entire struct {
		Request struct {
			Object *evictionObject `json:"object"`
		} `json:"request"`
	}
	if err := json.Unmarshal(q.body, &entire); err != nil {
		return Eviction{}, fmt.Errorf("the object cannot be read: %w", err)
	}
	return entire.Request.Object.of(r)
}

// of returns the eviction that the object requests.
func (o *evictionObject) of(r *request) (Eviction, error) {
	switch {
	case o == nil:
		return Eviction{}, errors.New("there is no object")
	case o.Kind != "Eviction" || o.APIVersion != "policy/v1" && o.APIVersion != "policy/v1beta1":
		return Eviction{}, fmt.Errorf("the object is %.80q, want policy/v1 Eviction", o.APIVersion+" "+o.Kind)
	}
	e := Eviction{Namespace: r.Namespace, Pod: r.Name, DryRun: r.DryRun}
	if o.DeleteOptions == nil {
		return e, nil
	}
	e.hasOptions, e.DryRun = true, e.DryRun || len(o.DeleteOptions.DryRun) > 0
	if o.DeleteOptions.Preconditions == nil {
		return e, nil
	}
	e.hasPreconditions = true
	return e.under(*o.DeleteOptions.Preconditions)
}

// under returns the eviction with preconditions. Empty preconditions are ignored.
func (e Eviction) under(p metav1.Preconditions) (Eviction, error) {
	if p.UID != nil {
		e.UID = string(*p.UID)
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != "" {
		version, ok := plan.ParseVersion(*p.ResourceVersion)
		if !ok || version == 0 {
			return Eviction{}, fmt.Errorf("the precondition %.80q is not a resourceVersion", *p.ResourceVersion)
		}
		e.Version = version
	}
	return e, nil
}
