package main

import (
	"encoding/hex"
	"fmt"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// These are the numbers of fields in messages of OTLP (opentelemetry/proto/trace/v1/trace.proto).
const (
	resourceSpans = 1 // of an export request
	scopeSpans    = 2 // of resource spans
	spansOfScope  = 2 // of scope spans

	spanTrace     = 1
	spanID        = 2
	spanParent    = 4
	spanName      = 5
	spanStart     = 7
	spanEnd       = 8
	spanAttribute = 9

	attributeKey   = 1
	attributeValue = 2
	textValue      = 1 // of a value
)

// readSpans parses the spans of an OTLP export request.
func readSpans(message []byte) ([]rolloutSpan, error) {
	var all []rolloutSpan
	err := each(message, resourceSpans, func(ofResource []byte) error {
		return each(ofResource, scopeSpans, func(ofScope []byte) error {
			return each(ofScope, spansOfScope, func(span []byte) error {
				read, err := readSpan(span)
				all = append(all, read)
				return err
			})
		})
	})
	return all, err
}

// each calls do for every field with a number, whose value is a message or a text.
func each(message []byte, number protowire.Number, do func([]byte) error) error {
	return eachField(message, func(n protowire.Number, content []byte, _ uint64) error {
		if n != number {
			return nil
		}
		return do(content)
	})
}

// eachField calls do for every field, with its content or, for 64-bit fields, its number.
func eachField(message []byte, do func(n protowire.Number, content []byte, number uint64) error) error {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return fmt.Errorf("read spans: %w", protowire.ParseError(size))
		}
		message = message[size:]
		var content []byte
		var number uint64
		switch kind {
		case protowire.BytesType:
			content, size = protowire.ConsumeBytes(message)
		case protowire.Fixed64Type:
			number, size = protowire.ConsumeFixed64(message)
		case protowire.VarintType, protowire.Fixed32Type, protowire.StartGroupType, protowire.EndGroupType:
			size = protowire.ConsumeFieldValue(n, kind, message)
		default:
			size = protowire.ConsumeFieldValue(n, kind, message)
		}
		if size < 0 {
			return fmt.Errorf("read spans: %w", protowire.ParseError(size))
		}
		message = message[size:]
		if err := do(n, content, number); err != nil {
			return err
		}
	}
	return nil
}

func readSpan(message []byte) (rolloutSpan, error) {
	var t rolloutSpan
	err := eachField(message, func(n protowire.Number, content []byte, number uint64) error {
		switch int(n) {
		case spanTrace:
			t.trace = hex.EncodeToString(content)
		case spanID:
			t.id = hex.EncodeToString(content)
		case spanParent:
			t.parent = hex.EncodeToString(content)
		case spanName:
			t.name = string(content)
		case spanStart:
			t.start = time.Unix(0, int64(number))
		case spanEnd:
			t.end = time.Unix(0, int64(number))
		case spanAttribute:
			return readNamespace(content, &t)
		}
		return nil
	})
	return t, err
}

// readNamespace sets the namespace of a span if the attribute contains it.
func readNamespace(attribute []byte, t *rolloutSpan) error {
	var key, text string
	err := eachField(attribute, func(n protowire.Number, content []byte, _ uint64) error {
		switch int(n) {
		case attributeKey:
			key = string(content)
		case attributeValue:
			return each(content, textValue, func(value []byte) error { text = string(value); return nil })
		}
		return nil
	})
	if key == "k8s.namespace.name" {
		t.namespace = text
	}
	return err
}
