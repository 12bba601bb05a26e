package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// These are the goals for RolloutGroups while all groups roll.
const (
	maxStatusSlowdown    = 1.10
	maxStatusesPerSecond = 1
)

// withoutStatusName is the contender without permissions for RolloutGroups. Removing the resource
// definition instead would keep the API server busy for longer than a rollout.
const withoutStatusName = "unshown"

// statusWrites measures many groups of lockstep that roll at the same time, by one operator that shows
// them in RolloutGroups and by an operator that does not, in turn.
func (b *bench) statusWrites(ctx context.Context) ([]row, error) {
	return b.withTestbed(ctx, "status", func(ctx context.Context, tb *testbed) ([]row, error) {
		withStatus := tb.contenders[1]
		withoutStatus, err := tb.addContenderWithoutStatus(ctx, withStatus)
		if err != nil {
			return nil, err
		}
		tb.contenders = append(tb.contenders, withoutStatus) // so that it is killed with the others
		sizes, groups := tb.settings.status, map[string][]*group{}
		for _, r := range []*contender{withStatus, withoutStatus} {
			namespaces, err := tb.makeNamespaces(ctx, r, min(sizes.namespaces, sizes.groups))
			if err != nil {
				return nil, err
			}
			groups[r.name] = newGroups(namespaces, r.name, "store-", sizes.groups, sizes.pods)
			if err := tb.makeGroups(ctx, groups[r.name]); err != nil {
				return nil, err
			}
			if err := tb.start(ctx, r, namespaces...); err != nil {
				return nil, err
			}
		}
		all, err := tb.inTurns(ctx, fmt.Sprintf("%d groups at once", sizes.groups), []*contender{withStatus, withoutStatus}, groups, sizes.runs)
		if err != nil {
			return nil, err
		}
		return statusRows(sizes.groups, 3*sizes.pods, all[withStatus.name], all[withoutStatusName]), nil
	})
}

// addContenderWithoutStatus creates an account with all permissions of lockstep except those for
// RolloutGroups.
func (tb *testbed) addContenderWithoutStatus(ctx context.Context, like *contender) (*contender, error) {
	const home, account = namespacePrefix + withoutStatusName + "-home", "operator"
	if err := tb.makeNamespace(ctx, home, nil); err != nil {
		return nil, err
	}
	if _, err := tb.client.CoreV1().ServiceAccounts(home).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("make account of %s: %w", withoutStatusName, err)
	}
	roles := tb.client.RbacV1()
	all, err := roles.ClusterRoles().Get(ctx, lockstepAccount, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read permissions: %w", err)
	}
	reduced := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: home}, Rules: slices.DeleteFunc(all.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, "lockstep.dev")
	})}
	if _, err := roles.ClusterRoles().Create(ctx, reduced, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("make permissions of %s: %w", withoutStatusName, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: home},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: home},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: account}},
	}
	if _, err := roles.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("give %s its permissions: %w", withoutStatusName, err)
	}
	r := &contender{name: withoutStatusName, command: like.command + " -operator.namespace=" + home + " -namespaces.selector={selector}"}
	return r, tb.authorize(ctx, r, home, account)
}

func statusRows(groups, pods int, withStatus, withoutStatus series) []row {
	slowdowns := ratios(withStatus.totals(), withoutStatus.totals())
	mean, maximum := withStatus.statusesPerSecond(groups)
	cell := func(text string) map[string]string { return map[string]string{lockstepName: text} }
	return []row{
		{what: fmt.Sprintf("%d groups of %d pods at once, not shown", groups, pods), cells: cell(seconds(median(withoutStatus.totals())))},
		{
			what: "the same, shown in RolloutGroups (times not shown)", goal: fmt.Sprintf("< %.2f", maxStatusSlowdown), met: verdictOf(median(slowdowns) < maxStatusSlowdown),
			cells: cell(seconds(median(withStatus.totals())) + " " + spread(slowdowns)),
		},
		{
			what: "statuses written for a group in a second, mean / most", goal: "≤ 1", met: verdictOf(maximum <= maxStatusesPerSecond),
			cells: cell(fmt.Sprintf("%.2f / %d", mean, maximum)),
		},
		{
			what: "CPU of the operator for all of them, shown / not", cells: cell(seconds(withStatus.cpu()) + " / " + seconds(withoutStatus.cpu())),
		},
	}
}

// statusesPerSecond returns how many statuses were written for a group in a second: the mean during
// the rollouts, and the maximum in any second.
func (s series) statusesPerSecond(groups int) (mean float64, maximum int) {
	for _, r := range s {
		writes := 0
		for _, times := range r.statusWrites {
			writes += len(times)
			maximum = max(maximum, maxWithin(time.Second, times))
		}
		mean += float64(writes) / float64(groups) / r.total.Seconds() / float64(len(s))
	}
	return mean, maximum
}

// maxWithin returns the maximum number of times in any window of this length.
func maxWithin(window time.Duration, times []time.Time) int {
	slices.SortFunc(times, time.Time.Compare)
	maximum, first := 0, 0
	for i, t := range times {
		for t.Sub(times[first]) >= window {
			first++
		}
		maximum = max(maximum, i-first+1)
	}
	return maximum
}
