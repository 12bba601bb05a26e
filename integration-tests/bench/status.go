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

// The goals for groups that are shown while they all roll.
const (
	mostTimesUnshown   = 1.10
	mostShownPerSecond = 1
)

// unshownName names the one who may not show groups. To take the kind away instead
// would keep the API server busy for longer than a rollout takes.
const unshownName = "unshown"

// statuses measures many groups of lockstep that roll at the same time, shown in
// RolloutGroups by one operator and not by another one, in turn.
func (b *bench) statuses(ctx context.Context) ([]row, error) {
	return b.inArena(ctx, "status", func(ctx context.Context, a *arena) ([]row, error) {
		shown := a.racers[1]
		unshown, err := a.enlistUnshown(ctx, shown)
		if err != nil {
			return nil, err
		}
		a.racers = append(a.racers, unshown) // so that it ends with the others
		sizes, groups := a.settings.status, map[string][]*group{}
		for _, r := range []*racer{shown, unshown} {
			namespaces, err := a.makeNamespaces(ctx, r, min(sizes.namespaces, sizes.groups))
			if err != nil {
				return nil, err
			}
			groups[r.name] = newGroups(namespaces, r.name, "store-", sizes.groups, sizes.pods)
			if err := a.makeGroups(ctx, groups[r.name]); err != nil {
				return nil, err
			}
			if err := a.start(ctx, r, namespaces...); err != nil {
				return nil, err
			}
		}
		all, err := a.inTurn(ctx, fmt.Sprintf("%d groups at once", sizes.groups), []*racer{shown, unshown}, groups, sizes.runs)
		if err != nil {
			return nil, err
		}
		return statusRows(sizes.groups, 3*sizes.pods, all[shown.name], all[unshownName]), nil
	})
}

// enlistUnshown makes an account with all permissions of lockstep but those for
// RolloutGroups.
func (a *arena) enlistUnshown(ctx context.Context, like *racer) (*racer, error) {
	const home, account = namespacePrefix + unshownName + "-home", "operator"
	if err := a.makeNamespace(ctx, home, nil); err != nil {
		return nil, err
	}
	if _, err := a.client.CoreV1().ServiceAccounts(home).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("make account of %s: %w", unshownName, err)
	}
	roles := a.client.RbacV1()
	all, err := roles.ClusterRoles().Get(ctx, lockstepAccount, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read permissions: %w", err)
	}
	most := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: home}, Rules: slices.DeleteFunc(all.Rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, "lockstep.dev")
	})}
	if _, err := roles.ClusterRoles().Create(ctx, most, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("make permissions of %s: %w", unshownName, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: home},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: home},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: home, Name: account}},
	}
	if _, err := roles.ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("give %s its permissions: %w", unshownName, err)
	}
	r := &racer{name: unshownName, command: like.command + " -operator.namespace=" + home + " -namespaces.selector={selector}"}
	return r, a.admit(ctx, r, home, account)
}

func statusRows(groups, pods int, shown, unshown series) []row {
	slower := ratios(shown.totals(), unshown.totals())
	mean, most := shown.perGroup(groups)
	cell := func(text string) map[string]string { return map[string]string{lockstepName: text} }
	return []row{
		{what: fmt.Sprintf("%d groups of %d pods at once, not shown", groups, pods), cells: cell(seconds(median(unshown.totals())))},
		{
			what: "the same, shown in RolloutGroups (times not shown)", goal: fmt.Sprintf("< %.2f", mostTimesUnshown), met: verdictOf(median(slower) < mostTimesUnshown),
			cells: cell(seconds(median(shown.totals())) + " " + spread(slower)),
		},
		{
			what: "statuses written for a group in a second, mean / most", goal: "≤ 1", met: verdictOf(most <= mostShownPerSecond),
			cells: cell(fmt.Sprintf("%.2f / %d", mean, most)),
		},
		{
			what: "CPU of the operator for all of them, shown / not", cells: cell(seconds(shown.cpu()) + " / " + seconds(unshown.cpu())),
		},
	}
}

// perGroup returns how many statuses were written for a group in a second: on average
// while they rolled, and at most in any second.
func (s series) perGroup(groups int) (mean float64, most int) {
	for _, r := range s {
		writes := 0
		for _, times := range r.shown {
			writes += len(times)
			most = max(most, mostWithin(time.Second, times))
		}
		mean += float64(writes) / float64(groups) / r.total.Seconds() / float64(len(s))
	}
	return mean, most
}

// mostWithin returns how many of some times lie within a window, wherever that is.
func mostWithin(window time.Duration, times []time.Time) int {
	slices.SortFunc(times, time.Time.Compare)
	most, first := 0, 0
	for i, t := range times {
		for t.Sub(times[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}
