package clientgo

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

const cborVariable = "K8TS_TEST_CBOR"

// TestCBOR runs TestInCBOR in a process of its own: client-go reads its features from the environment once.
func TestCBOR(t *testing.T) {
	env := &envtest.Environment{CRDs: []*apiextensionsv1.CustomResourceDefinition{gears()}}
	env.ControlPlane.GetAPIServer().Configure().Append("feature-gates", "CBORServingAndStorage=true")
	_, err := env.Start()
	must(t, err)
	defer func() { must(t, env.Stop()) }()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(kubeconfig, env.KubeConfig, 0o600))
	self, err := os.Executable()
	must(t, err)
	inner := exec.CommandContext(t.Context(), self, "-test.run=^TestInCBOR$", "-test.v")
	inner.Env = append(os.Environ(), cborVariable+"="+kubeconfig, "KUBE_FEATURE_ClientsAllowCBOR=true", "KUBE_FEATURE_ClientsPreferCBOR=true")
	text, err := inner.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "--- PASS: TestInCBOR") {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestInCBOR(t *testing.T) {
	if os.Getenv(cborVariable) == "" {
		t.Skip("run by TestCBOR")
	}
	ns, ctx := namespace(t), t.Context()
	own, seen := recorded("")
	client, err := dynamic.NewForConfig(own)
	must(t, err)
	resource := client.Resource(gear).Namespace(ns)
	watching, err := resource.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	defer watching.Stop()
	made, err := resource.Create(ctx, unstructuredGear(3), metav1.CreateOptions{})
	must(t, err)
	must(t, unstructured.SetNestedField(made.Object, 2.5, "spec", "ratio"))
	made, err = resource.Update(ctx, made, metav1.UpdateOptions{})
	must(t, err)
	applied := unstructuredGear(3)
	must(t, unstructured.SetNestedField(applied.Object, "é\"", "spec", "name"))
	made, err = resource.Apply(ctx, "web", applied, metav1.ApplyOptions{FieldManager: "cbor", Force: true})
	must(t, err)
	teeth, _, _ := unstructured.NestedInt64(made.Object, "spec", "teeth")
	ratio, _, _ := unstructured.NestedFloat64(made.Object, "spec", "ratio")
	name, _, _ := unstructured.NestedString(made.Object, "spec", "name")
	if teeth != 3 || ratio != 2.5 || name != "é\"" {
		t.Errorf("read: %v", made.Object)
	}
	list, err := resource.List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 1 {
		t.Errorf("listed %d", len(list.Items))
	}
	for _, want := range []string{"ADDED", "MODIFIED", "MODIFIED"} {
		if event := <-watching.ResultChan(); string(event.Type) != want {
			t.Errorf("%s instead of %s: %v", event.Type, want, event.Object)
		}
	}
	must(t, resource.Delete(ctx, "web", metav1.DeleteOptions{}))
	for _, method := range []string{"POST", "PUT", "PATCH", "GET"} {
		if len(seen.matching(method, "/gears", "application/cbor")) == 0 {
			t.Errorf("%s not in CBOR: %v", method, seen.requests)
		}
	}
}
