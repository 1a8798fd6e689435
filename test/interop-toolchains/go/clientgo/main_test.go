// Package clientgo makes client-go's ordinary calls against the programs in KUBEBUILDER_ASSETS.
package clientgo

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

var config *rest.Config

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	env := &envtest.Environment{CRDs: []*apiextensionsv1.CustomResourceDefinition{gears()}}
	if file := os.Getenv(cborVariable); file != "" {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", file); err != nil {
			panic(err)
		}
		os.Exit(m.Run())
	}
	var err error
	if config, err = env.Start(); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := env.Stop(); err != nil {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// gears is a custom kind with status and scale.
func gears() *apiextensionsv1.CustomResourceDefinition {
	path := ".spec.teeth"
	object := apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
		"teeth": {Type: "integer", Format: "int32"}, "ratio": {Type: "number"}, "name": {Type: "string"},
	}}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "gears.interop.k8ts.test"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "interop.k8ts.test",
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "gears", Singular: "gear", Kind: "Gear", ListKind: "GearList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": object, "status": object},
				}},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale:  &apiextensionsv1.CustomResourceSubresourceScale{SpecReplicasPath: path, StatusReplicasPath: ".status.teeth"},
				},
			}},
		},
	}
}

// recorder notes the requests that pass.
type recorder struct {
	mutex    sync.Mutex
	requests []string
	next     http.RoundTripper
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.next.RoundTrip(request)
	line := request.Method + " " + request.URL.RequestURI()
	if err == nil {
		line += " " + response.Header.Get("Content-Type")
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.requests = append(r.requests, line)
	return response, err
}

func (r *recorder) matching(parts ...string) (found []string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, line := range r.requests {
		all := true
		for _, part := range parts {
			all = all && strings.Contains(line, part)
		}
		if all {
			found = append(found, line)
		}
	}
	return found
}

// recorded is the configuration with a recorder and, when not empty, a content type.
func recorded(contentType string) (*rest.Config, *recorder) {
	seen := &recorder{}
	own := rest.CopyConfig(config)
	if contentType != "" {
		own.ContentType = contentType
		own.AcceptContentTypes = contentType + ",application/json"
	}
	own.Wrap(func(next http.RoundTripper) http.RoundTripper {
		seen.next = next
		return seen
	})
	return own, seen
}

const protobuf = "application/vnd.kubernetes.protobuf"

func clientset(t *testing.T, contentType string) (*kubernetes.Clientset, *recorder) {
	t.Helper()
	own, seen := recorded(contentType)
	set, err := kubernetes.NewForConfig(own)
	must(t, err)
	return set, seen
}

func namespace(t *testing.T) string {
	t.Helper()
	set, _ := clientset(t, "")
	made, err := set.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "client-go-"}}, metav1.CreateOptions{})
	must(t, err)
	return made.Name
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, condition func(context.Context) (bool, error)) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true, condition); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"test": "yes"}}, Data: map[string]string{"a": "b"}}
}
