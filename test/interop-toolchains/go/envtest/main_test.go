// Package envtest runs controller-runtime's test environment with the programs in KUBEBUILDER_ASSETS, as an operator's own tests do.
package envtest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1 "k8ts.test/interop/gadgets/v1"
	"k8ts.test/interop/gadgets/v1beta1"
)

var (
	env    *envtest.Environment
	config *rest.Config
	// direct reads and writes without a cache.
	direct client.Client
)

func TestMain(m *testing.M) {
	for _, add := range []func() error{
		func() error { return v1.AddToScheme(scheme.Scheme) },
		func() error { return v1beta1.AddToScheme(scheme.Scheme) },
	} {
		if err := add(); err != nil {
			panic(err)
		}
	}
	env = &envtest.Environment{
		CRDDirectoryPaths:     []string{"testdata/crds"},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{"testdata/webhooks"}},
	}
	ctrl.SetLogger(logr.Discard())
	begin := time.Now()
	var err error
	if config, err = env.Start(); err != nil {
		panic(err)
	}
	fmt.Printf("environment started in %s\n", time.Since(begin).Round(time.Millisecond))
	if direct, err = client.New(config, client.Options{}); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustField(text string) fields.Selector {
	selector, err := fields.ParseSelector(text)
	if err != nil {
		panic(err)
	}
	return selector
}
