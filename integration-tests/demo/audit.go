package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// operatorUser is whom the API server takes the operator for.
const operatorUser = "system:serviceaccount:" + operatorNamespace + ":" + operatorAccount

// record is what the API server told and what it was asked: all that the judge
// goes by.
type record struct {
	witness *judge.Observer
	audit   *judge.AuditLog
}

// startRecord begins to watch all namespaces, until ctx ends. Without an audit log
// there is none.
func startRecord(ctx context.Context, client kubernetes.Interface, auditLog string) (*record, error) {
	if auditLog == "" {
		return nil, nil
	}
	witness, err := judge.Watch(ctx, client, nil)
	if err != nil {
		return nil, fmt.Errorf("start record: %w", err)
	}
	ours := func(user string) bool { return user == operatorUser }
	return &record{witness, judge.NewAuditLog(auditLog, ours)}, nil
}

// violations are all so far.
func (r *record) violations() ([]judge.Violation, error) {
	if r == nil {
		return nil, nil
	}
	facts, err := r.witness.Events()
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	requests, err := r.audit.Requests()
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	operator := judge.Operator{
		User: operatorUser, Selector: labels.SelectorFromSet(labels.Set{optInLabel: "true"}), LeadershipNamespace: operatorNamespace,
	}
	return judge.Verify(facts, requests, judge.Rules{Operators: []judge.Operator{operator}}).Violations, nil
}
