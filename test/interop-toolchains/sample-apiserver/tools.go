//go:build tools

// Package tools names what the module is here for, so that it stays in go.mod.
package tools

import _ "k8s.io/sample-apiserver/pkg/apiserver"
