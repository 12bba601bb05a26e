package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// shrinkInVain measures PATCHes of /scale that end in the webhook: lockstep's
// refuses them; the floor's allows them, and as they are dry runs nothing is
// written. One follows the other, so no load of their own makes them wait.
func (a *arena) shrinkInVain(ctx context.Context, s *webhookStage) ([]row, error) {
	var rows []row
	for _, w := range []struct {
		name string
		own  *group
		code int32
	}{
		{noDownscale, s.barred, http.StatusForbidden},
		{prepareDownscale, s.lame, http.StatusTooManyRequests},
	} {
		groups := map[string]*group{floorName: s.floor[w.name], lockstepName: w.own}
		before, err := a.letCall(ctx, s.endpoints, w.name, groups, a.patchDry)
		if err != nil {
			return nil, fmt.Errorf("register %s: %w", w.name, err)
		}
		took, err := a.patchInTurn(ctx, groups, w.code)
		if err != nil {
			return nil, fmt.Errorf("shrink through %s: %w", w.name, err)
		}
		a.say("%d PATCHes through %s", a.webhooks.patches, w.name)
		after, err := a.admissionDurations(ctx, w.name)
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			decisionRow(fmt.Sprintf("PATCH of /scale that %s refuses, p50 / p99 of %d", w.name, a.webhooks.patches), 0, took),
			countedRow(before, after))
	}
	return rows, nil
}

// patchInTurn shrinks a zone of lockstep's group and one of the floor's in turn.
func (a *arena) patchInTurn(ctx context.Context, groups map[string]*group, code int32) (map[string][][]time.Duration, error) {
	took := map[string][][]time.Duration{floorName: {nil}, lockstepName: {nil}}
	for n := range a.webhooks.patches {
		for i := range 2 {
			name := []string{floorName, lockstepName}[(n+i)%2]
			began := time.Now()
			err := a.patchSmaller(ctx, groups[name], name == floorName)
			took[name][0] = append(took[name][0], time.Since(began))
			if err := wanted(err, name, code); err != nil {
				return nil, err
			}
		}
	}
	for name, one := range took {
		took[name] = parts(one[0], a.webhooks.runs)
	}
	return took, nil
}

// wanted says what is wrong with what came of a PATCH.
func wanted(err error, name string, code int32) error {
	if name == floorName {
		return err
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code == code {
		return nil
	}
	return errors.Join(fmt.Errorf("it is not refused with %d", code), err)
}

func (a *arena) patchSmaller(ctx context.Context, g *group, dryRun bool) error {
	var options metav1.PatchOptions
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, g.pods-1)
	_, err := a.client.AppsV1().StatefulSets(g.namespace).Patch(ctx, g.zoneNames()[0], types.MergePatchType, patch, options, "scale")
	return err
}

// patchDry asks whether a zone of the group may shrink: a refusal is an answer.
func (a *arena) patchDry(ctx context.Context, g *group) error {
	if err := a.patchSmaller(ctx, g, true); err != nil && !apierrors.IsTooManyRequests(err) && !apierrors.IsForbidden(err) {
		return fmt.Errorf("shrink %s: %w", g.key(), err)
	}
	return nil
}

// countedRow is about what the API server counted between two looks.
func countedRow(before, after map[string]buckets) row {
	r := row{what: "of this the webhook, as the API server counts it, p99", cells: map[string]string{}}
	for name, b := range after {
		if bound := b.since(before[name]).quantile(0.99); bound > 0 {
			r.cells[name] = "≤ " + strconv.FormatFloat(1000*bound, 'f', -1, 64) + " ms"
		}
	}
	return r
}
