package contract

import (
	"errors"
	"fmt"

	"github.com/lockstep-dev/lockstep/internal/plan/group"
)

var errValues = errors.New("values must be set with the operators In and NotIn, and only with these")

// requirement parses one entry of a selector's matchExpressions.
func requirement(entry any) (group.Requirement, error) {
	expression, is := entry.(map[string]any)
	if !is {
		return group.Requirement{}, errors.New("must be an object")
	}
	key, _ := expression["key"].(string)
	if key == "" {
		return group.Requirement{}, errors.New("key is missing")
	}
	operator, _ := expression["operator"].(string)
	values, err := texts(expression["values"])
	if err != nil {
		return group.Requirement{}, err
	}
	demand := group.Demand(operator)
	switch demand {
	case group.LabelIn, group.LabelNotIn:
		if len(values) == 0 {
			return group.Requirement{}, errValues
		}
	case group.LabelExists, group.LabelAbsent:
		if len(values) > 0 {
			return group.Requirement{}, errValues
		}
	default:
		return group.Requirement{}, fmt.Errorf("operator is %s: must be In, NotIn, Exists or DoesNotExist", shorten(operator))
	}
	return group.Requirement{Key: key, Demand: demand, Values: values}, nil
}

// texts returns a list of texts, or nil if there is none.
func texts(value any) ([]string, error) {
	if value == nil {
		return nil, nil
	}
	list, is := value.([]any)
	if !is {
		return nil, errors.New("values must be a list")
	}
	var all []string
	for _, entry := range list {
		text, is := entry.(string)
		if !is {
			return nil, errors.New("values must be a list of strings")
		}
		all = append(all, text)
	}
	return all, nil
}
