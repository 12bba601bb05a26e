package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	stepTimeout = time.Minute // for each step of the StatefulCluster
	afterUpdate = time.Second // after the last step, while no pod may change
)

// identityShow shows a StatefulCluster: a Node is deleted, and then the image changes.
type identityShow struct {
	*display
	environment *environment
	state       *identities
	began       time.Time
	heading     string
	image       string
	changeLog   *changeLog // nil if lines can be redrawn

	observations  <-chan observation[memberChange]
	lost, born    *identity
	took, updated time.Duration
}

// showIdentities plays the part of the demo with the StatefulCluster and prints its result, if nothing was violated before. The
// demo does not delete Nodes of a user's cluster.
func showIdentities(ctx context.Context, d *display, e *environment) error {
	switch {
	case len(d.verifier.violations) > 0:
		return nil
	case e.local == nil:
		fmt.Fprint(d.out, "The part with the StatefulCluster deletes a Node, so only the local cluster shows it.\n\n")
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &identityShow{display: d, environment: e, state: &identities{}, began: time.Now(), image: identityBefore}
	if d.screen == nil {
		s.changeLog = &changeLog{out: d.out, widest: longestClaim}
	}
	stopScheduler, err := e.createNodes(ctx)
	if err != nil {
		return err
	}
	defer stopScheduler()
	if s.observations, err = watchIdentities(ctx, e.client); err != nil {
		return err
	}
	if err := s.play(ctx); err != nil {
		return err
	}
	s.printResult()
	return nil
}

// identityStep is one step: what the demo does, and what lockstep must reach then.
type identityStep struct {
	heading string
	do      func(context.Context) error
	goal    func() bool
}

// play plays the steps. It ends early if a goal is not reached, which is a violation.
func (s *identityShow) play(ctx context.Context) error {
	fmt.Fprintf(s.out, "A StatefulCluster: %d pods on a Node each, with a claim each\n\n", replicas)
	defer s.finishScreen()
	for _, step := range []func() identityStep{s.create, s.loseNode, s.collectPod, s.update, s.rest} {
		next := step()
		s.announce(next.heading)
		if err := next.do(ctx); err != nil {
			return err
		}
		if err := s.watchUntil(ctx, next.goal); err != nil {
			return err
		}
		if len(s.verifier.violations) > 0 {
			break
		}
	}
	return s.conclude(ctx)
}

// announce shows what happens now, if it is something else.
func (s *identityShow) announce(heading string) {
	if s.heading == heading {
		return
	}
	s.heading = heading
	if s.changeLog != nil {
		s.changeLog.print(time.Now(), identityNamespace, identityName, heading)
	}
}

// create creates the StatefulCluster.
func (s *identityShow) create() identityStep {
	return identityStep{
		heading: fmt.Sprintf("%d identities are born: each is a pod and its claim", replicas),
		do:      s.environment.createStatefulCluster,
		goal:    func() bool { return s.state.settled(identityBefore) },
	}
}

// loseNode deletes the Node of the first pod. A new identity must serve then.
func (s *identityShow) loseNode() identityStep {
	s.lost, s.state.filled = s.state.all[0], true
	deleted := time.Now()
	return identityStep{
		heading: s.lost.pod.node + " is deleted: a new identity takes the place of the pod there",
		do: func(ctx context.Context) error {
			return s.environment.client.CoreV1().Nodes().Delete(ctx, s.lost.pod.node, metav1.DeleteOptions{})
		},
		goal: func() bool {
			s.took = time.Since(deleted)
			return !s.lost.living() && len(s.state.serving(identityBefore)) == replicas
		},
	}
}

// collectPod removes the pod of the deleted Node. Its claim must be spent then, and must stay.
func (s *identityShow) collectPod() identityStep {
	s.born = s.state.all[len(s.state.all)-1]
	return identityStep{
		heading: "its pod is removed, as Kubernetes does a minute later: its claim is spent",
		do:      func(ctx context.Context) error { return s.environment.removePod(ctx, s.lost.pod.name) },
		goal:    func() bool { return s.lost.claim.spent != "" && s.state.settled(identityBefore) },
	}
}

// update changes the image. All names and UIDs must stay.
func (s *identityShow) update() identityStep {
	changed, before := time.Now(), uids(s.state.living())
	s.image = identityAfter
	return identityStep{
		heading: "the image changes to " + identityAfter + " in place: all pods and names stay",
		do:      s.environment.changeImage,
		goal: func() bool {
			s.updated = time.Since(changed)
			if !s.state.settled(identityAfter) {
				return false
			}
			s.verifyNames(before)
			return true
		},
	}
}

// rest lets some time pass in which no pod may change.
func (s *identityShow) rest() identityStep {
	until := time.Now().Add(afterUpdate)
	before := uids(s.state.living())
	return identityStep{
		heading: s.heading,
		do:      func(context.Context) error { return nil },
		goal: func() bool {
			if time.Now().Before(until) {
				return false
			}
			s.verifyNames(before)
			return true
		},
	}
}

// verifyNames verifies that the pods are those from before, and that the spent claim stays.
func (s *identityShow) verifyNames(before []string) {
	if after := uids(s.state.living()); !slices.Equal(before, after) {
		s.verifier.report(identityNamespace, nil, "the pods were %v before the image changed, and are %v", before, after)
	}
	if s.lost.claimGone {
		s.verifier.report(identityNamespace, nil, "the claim %s was deleted", s.lost.claim.name)
	}
	for _, i := range s.state.all {
		if i.reborn {
			s.verifier.report(identityNamespace, nil, "the name %s was used again", i.pod.name)
		}
	}
}

// uids returns the names and UIDs of the pods of identities.
func uids(all []*identity) []string {
	var pods []string
	for _, i := range all {
		pods = append(pods, i.pod.name+" "+i.pod.uid)
	}
	return pods
}

// watchUntil applies and draws events until the goal is reached. It is a violation if it is not.
func (s *identityShow) watchUntil(ctx context.Context, goal func() bool) error {
	over := time.After(stepTimeout)
	frames := time.NewTicker(frameInterval)
	defer frames.Stop()
	for !goal() {
		select {
		case o := <-s.observations:
			if o.err != nil {
				return o.err
			}
			s.apply(o.event)
		case <-frames.C:
			if err := s.verify(); err != nil {
				return err
			}
		case <-s.environment.operator.exited:
			s.verifier.report("", nil, "the operator ended by itself; %s", logTail(s.environment.operator.log))
			return nil
		case <-over:
			s.verifier.report(identityNamespace, nil, "%s: the goal was not reached after %s", s.heading, stepTimeout)
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		s.draw()
	}
	return nil
}

func (s *identityShow) apply(c memberChange) {
	for _, r := range s.state.apply(c) {
		if s.changeLog != nil {
			s.changeLog.print(c.at, identityNamespace, r.about, r.text)
		}
	}
}

func (s *identityShow) snapshot() identitySnapshot {
	return identitySnapshot{state: s.state, heading: s.heading, image: s.image, passed: time.Since(s.began), violations: s.verifier.violations}
}

func (s *identityShow) draw() {
	s.display.draw(func(v view) []string { return v.drawIdentities(s.snapshot()) })
}

// printResult prints the rows, unless the screen shows them, and what they mean.
func (s *identityShow) printResult() {
	fmt.Fprintln(s.out)
	if s.screen == nil {
		s.printLines(view{style: s.style}.identityRows(s.snapshot()))
	}
	s.printLines(s.result())
}

// result returns the summary: the violations, or that there were none.
func (s *identityShow) result() []line {
	var lines []line
	for _, v := range s.verifier.violations {
		lines = append(lines, line{{"VIOLATED  " + v.String(), red}})
	}
	if len(lines) > 0 {
		return lines
	}
	return []line{
		{{fmt.Sprintf("Nothing was violated. %s was Ready %s after the Node of", s.born.pod.name, seconds(s.took)), green}},
		{{fmt.Sprintf("%s was deleted; its claim is spent and stays. The image of", s.lost.pod.name), green}},
		{{fmt.Sprintf("%s changed in %s, and each kept its name.", counted(replicas, "pod"), seconds(s.updated)), green}},
	}
}
