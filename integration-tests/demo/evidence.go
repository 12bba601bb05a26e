package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/lockstep-dev/lockstep/integration-tests/judge"
)

// operatorUser is the user name of the operator's service account.
const operatorUser = "system:serviceaccount:" + operatorNamespace + ":" + operatorAccount

// evidence is the input of the judge: watch events and the audit log.
type evidence struct {
	observer *judge.Observer
	audit    *judge.AuditLog
}

// startEvidence watches all namespaces until ctx ends. Without an audit log it returns nil.
func startEvidence(ctx context.Context, client kubernetes.Interface, auditLog string) (*evidence, error) {
	if auditLog == "" {
		return nil, nil
	}
	observer, err := judge.Watch(ctx, client, nil)
	if err != nil {
		return nil, fmt.Errorf("start record: %w", err)
	}
	isOperator := func(user string) bool { return user == operatorUser }
	return &evidence{observer, judge.NewAuditLog(auditLog, isOperator)}, nil
}

// violations returns all violations so far.
func (e *evidence) violations() ([]judge.Violation, error) {
	if e == nil {
		return nil, nil
	}
	events, err := e.observer.Events()
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	requests, err := e.audit.Requests()
	if err != nil {
		return nil, fmt.Errorf("judge: %w", err)
	}
	operator := judge.Operator{
		User: operatorUser, Selector: labels.SelectorFromSet(labels.Set{optInLabel: "true"}), LeadershipNamespace: operatorNamespace,
	}
	return judge.Verify(events, requests, judge.Rules{Operators: []judge.Operator{operator}}).Violations, nil
}
