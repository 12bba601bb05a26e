package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/lockstep-dev/lockstep/internal/cli/screen"
	"github.com/lockstep-dev/lockstep/internal/cluster/diagnosis"
	"github.com/lockstep-dev/lockstep/internal/cluster/parallel"
	"github.com/lockstep-dev/lockstep/internal/plan"
	"github.com/lockstep-dev/lockstep/internal/plan/group"
	"github.com/lockstep-dev/lockstep/internal/plan/reason"
)

// diagnosisView is the diagnosis of a pod that a reason names.
type diagnosisView struct {
	Pod   string           `json:"pod"`
	Facts []diagnosis.Fact `json:"facts"`
}

// diagnoses are the diagnoses of several pods.
type diagnoses []diagnosisView

const (
	podsAtATime = 10 // maximum number of concurrent reads of pods
	mostClaims  = 10 // maximum number of claims of a pod that are read
	mostNodes   = 10 // maximum number of nodes for a volume that are read
)

// diagnose reads the facts that Kubernetes reports about pods, with the permissions of the user. It leaves out
// Ready pods. Of a group, the zones show which of the pods that do not exist should.
func (c *cluster) diagnose(ctx context.Context, namespace string, zones []group.Zone, pods []string) diagnoses {
	views := make(diagnoses, len(pods))
	parallel.Each(len(pods), podsAtATime, func(i int) {
		views[i] = diagnosisView{pods[i], c.facts(ctx, namespace, zones, pods[i])}
	})
	return slices.DeleteFunc(views, func(v diagnosisView) bool { return len(v.Facts) == 0 })
}

// adviseOnNode are the reasons whose advice says what to do about the node of the pod that they name.
var adviseOnNode = []string{string(reason.NodeSilent), string(reason.TooManyUnhealthy)}

// withOneAdvice leaves out the advice about a pod whose node is not Ready if a reason gives advice about that: the two would
// contradict each other, and no other advice helps before.
func (d diagnoses) withOneAdvice(reasons []waitView) diagnoses {
	for i := range d {
		advised := slices.ContainsFunc(reasons, func(w waitView) bool { return w.Pod == d[i].Pod && slices.Contains(adviseOnNode, w.Code) })
		onNode := func(f diagnosis.Fact) bool { return f.About == diagnosis.Node && f.ToDo != "" }
		if !advised || !slices.ContainsFunc(d[i].Facts, onNode) {
			continue
		}
		for j := range d[i].Facts {
			d[i].Facts[j].ToDo = ""
		}
	}
	return d
}

// podsOf returns the pods that waits name, without duplicates.
func podsOf(waits ...waitView) []string {
	var pods []string
	for _, w := range waits {
		if w.Pod != "" && !slices.Contains(pods, w.Pod) {
			pods = append(pods, w.Pod)
		}
	}
	return pods
}

func (c *cluster) facts(ctx context.Context, namespace string, zones []group.Zone, name string) []diagnosis.Fact {
	pod, err := c.client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return c.failedCreate(ctx, namespace, zones, name)
	}
	if err != nil {
		return []diagnosis.Fact{unread(diagnosis.Pod, name, "the state of pod "+name, "pods", err)}
	}
	facts := diagnosis.OfPod(pod, c.date())
	if len(facts) == 0 && pod.DeletionTimestamp == nil {
		return nil
	}
	if pod.Spec.NodeName != "" {
		facts = append(facts, c.factOfNode(ctx, pod.Spec.NodeName))
	}
	if diagnosis.NotStarted(pod) {
		facts = append(facts, c.factsOfClaims(ctx, pod)...)
	}
	return facts
}

func (c *cluster) factOfNode(ctx context.Context, name string) diagnosis.Fact {
	node, err := c.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return diagnosis.OfNode(name, nil)
	case err != nil:
		return unread(diagnosis.Node, name, "whether node "+name+" is Ready", "nodes", err)
	}
	return diagnosis.OfNode(name, node)
}

func (c *cluster) factsOfClaims(ctx context.Context, pod *corev1.Pod) []diagnosis.Fact {
	claims := diagnosis.Claims(pod)
	var facts []diagnosis.Fact
	for _, name := range claims[:min(len(claims), mostClaims)] {
		if f := c.factOfClaim(ctx, pod.Namespace, name); f.Says != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

// factOfClaim returns an empty fact if any node can use the volume of the claim.
func (c *cluster) factOfClaim(ctx context.Context, namespace, name string) diagnosis.Fact {
	claim, err := c.client.CoreV1().PersistentVolumeClaims(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		claim = nil
	case err != nil:
		return unread(diagnosis.Claim, name, "the state of claim "+name, "persistentvolumeclaims", err)
	}
	if f, tells := diagnosis.OfClaim(name, claim); tells {
		return f
	}
	volume, err := c.client.CoreV1().PersistentVolumes().Get(ctx, claim.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		what := fmt.Sprintf("which nodes can use volume %s of claim %s", claim.Spec.VolumeName, name)
		return unread(diagnosis.Claim, name, what, "persistentvolumes", err)
	}
	places, limited := diagnosis.PlacesOf(volume)
	if !limited {
		return diagnosis.Fact{}
	}
	nodes, err := c.nodesAt(ctx, places)
	if err != nil {
		return unread(diagnosis.Claim, name, diagnosis.Bound(name, volume, places)+"; the state of these nodes", "nodes", err)
	}
	return diagnosis.OfVolume(name, volume, places, nodes)
}

// nodesAt returns some of the nodes that can use a volume.
func (c *cluster) nodesAt(ctx context.Context, places diagnosis.Places) ([]corev1.Node, error) {
	var nodes []corev1.Node
	for _, selector := range places {
		list, err := c.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector.String(), Limit: mostNodes})
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, list.Items...)
	}
	slices.SortFunc(nodes, func(a, b corev1.Node) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(nodes, func(a, b corev1.Node) bool { return a.Name == b.Name }), nil
}

// failedCreate returns why the StatefulSet controller did not create a pod, from its latest
// Event.
func (c *cluster) failedCreate(ctx context.Context, namespace string, zones []group.Zone, pod string) []diagnosis.Fact {
	i := slices.IndexFunc(zones, func(z group.Zone) bool {
		ordinal, is := plan.OrdinalOf(z.Name, pod)
		return is && z.Owns(ordinal)
	})
	if i < 0 {
		return nil
	}
	list, err := c.client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.Set{
		"involvedObject.kind": "StatefulSet", "involvedObject.name": zones[i].Name, "reason": "FailedCreate",
	}.AsSelector().String()})
	if err != nil {
		return []diagnosis.Fact{unread(diagnosis.StatefulSet, zones[i].Name, "why pod "+pod+" was not created", "events", err)}
	}
	var latest eventView
	for i := range list.Items {
		if e := viewOfEvent(&list.Items[i]); strings.Contains(e.Note, "Pod "+pod+" ") && e.Time.After(latest.Time) {
			latest = e
		}
	}
	if latest.Note == "" {
		return nil
	}
	return []diagnosis.Fact{diagnosis.OfFailedCreate(latest.Note, latest.Time)}
}

// unread returns a fact about a failed read, with its reason.
func unread(about diagnosis.Subject, name, what, resource string, err error) diagnosis.Fact {
	f := diagnosis.Fact{About: about, Name: name}
	if apierrors.IsForbidden(err) {
		f.Says = what + " is not known, because you may not read " + resource
		f.ToDo = "No action needed. To see it, you need another permission (docs/kubectl.md)."
		return f
	}
	const longest = 240
	f.Says = what + " is not known, because " + resource + " could not be read: " + plan.Plain(err.Error(), longest)
	return f
}

// addTo prints the diagnosis of a pod, and returns the other diagnoses.
func (d diagnoses) addTo(p *screen.Page, pod string) diagnoses {
	i := slices.IndexFunc(d, func(v diagnosisView) bool { return v.Pod == pod })
	if i < 0 {
		return d
	}
	const below, furtherBelow = 2, 4
	p.Indented(below, screen.Text("What Kubernetes knows of pod "+pod+":"))
	for _, f := range d[i].Facts {
		p.Indented(furtherBelow, screen.Text(capital(f.Says)+"."))
		if f.ToDo != "" {
			p.Indented(furtherBelow, screen.Text("What to do: "+f.ToDo))
		}
	}
	return slices.Concat(d[:i], d[i+1:])
}
