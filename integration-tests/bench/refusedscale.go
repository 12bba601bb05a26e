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

// refusedDownscales measures PATCHes of /scale that end in the webhook. lockstep's webhook refuses
// them. The floor's webhook allows them, and they are dry runs, so nothing is written. The requests
// are sent one after the other, so they do not delay each other.
func (tb *testbed) refusedDownscales(ctx context.Context, s *webhookSetup) ([]row, error) {
	var rows []row
	for _, w := range []struct {
		name string
		own  *group
		code int32
	}{
		{noDownscale, s.protected, http.StatusForbidden},
		{prepareDownscale, s.unavailable, http.StatusTooManyRequests},
	} {
		groups := map[string]*group{floorName: s.floor[w.name], lockstepName: w.own}
		before, err := tb.registerWebhooks(ctx, s.endpoints, w.name, groups, tb.scaleDownDryRun)
		if err != nil {
			return nil, fmt.Errorf("register %s: %w", w.name, err)
		}
		took, err := tb.patchInTurns(ctx, groups, w.code)
		if err != nil {
			return nil, fmt.Errorf("scale down through %s: %w", w.name, err)
		}
		tb.report("%d PATCHes through %s", tb.webhooks.patches, w.name)
		after, err := tb.admissionDurations(ctx, w.name)
		if err != nil {
			return nil, err
		}
		rows = append(rows,
			decisionRow(fmt.Sprintf("PATCH of /scale that %s refuses, p50 / p99 of %d", w.name, tb.webhooks.patches), 0, took),
			webhookDurationRow(before, after))
	}
	return rows, nil
}

// patchInTurns scales down a zone of lockstep's group and one of the floor's in turn.
func (tb *testbed) patchInTurns(ctx context.Context, groups map[string]*group, code int32) (map[string][][]time.Duration, error) {
	took := map[string][][]time.Duration{floorName: {nil}, lockstepName: {nil}}
	for n := range tb.webhooks.patches {
		for i := range 2 {
			name := []string{floorName, lockstepName}[(n+i)%2]
			began := time.Now()
			err := tb.patchScaleDown(ctx, groups[name], name == floorName)
			took[name][0] = append(took[name][0], time.Since(began))
			if err := checkRefused(err, name, code); err != nil {
				return nil, err
			}
		}
	}
	for name, one := range took {
		took[name] = parts(one[0], tb.webhooks.runs)
	}
	return took, nil
}

// checkRefused returns an error if the result of a PATCH is not the expected one.
func checkRefused(err error, name string, code int32) error {
	if name == floorName {
		return err
	}
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code == code {
		return nil
	}
	return errors.Join(fmt.Errorf("not refused with code %d", code), err)
}

func (tb *testbed) patchScaleDown(ctx context.Context, g *group, dryRun bool) error {
	var options metav1.PatchOptions
	if dryRun {
		options.DryRun = []string{metav1.DryRunAll}
	}
	patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, g.pods-1)
	_, err := tb.client.AppsV1().StatefulSets(g.namespace).Patch(ctx, g.zoneNames()[0], types.MergePatchType, patch, options, "scale")
	return err
}

// scaleDownDryRun sends a dry run of a downscale. It treats a refusal as success, because the webhook
// was called.
func (tb *testbed) scaleDownDryRun(ctx context.Context, g *group) error {
	if err := tb.patchScaleDown(ctx, g, true); err != nil && !apierrors.IsTooManyRequests(err) && !apierrors.IsForbidden(err) {
		return fmt.Errorf("scale down %s: %w", g.key(), err)
	}
	return nil
}

// webhookDurationRow is the row about the API server's own histogram between two reads.
func webhookDurationRow(before, after map[string]buckets) row {
	r := row{what: "of this the webhook, as the API server counts it, p99", cells: map[string]string{}}
	for name, b := range after {
		if bound := b.since(before[name]).quantile(0.99); bound > 0 {
			r.cells[name] = "≤ " + strconv.FormatFloat(1000*bound, 'f', -1, 64) + " ms"
		}
	}
	return r
}
