package clientgo

import (
	"context"

	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

func unstructuredGear(teeth int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "interop.k8ts.test/v1", "kind": "Gear", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"teeth": teeth},
	}}
}

// typedSink writes the older events of a recorder.
type typedSink struct {
	set *kubernetes.Clientset
	ns  string
}

func (s *typedSink) Create(event *corev1.Event) (*corev1.Event, error) {
	return s.set.CoreV1().Events(s.ns).Create(context.Background(), event, metav1.CreateOptions{})
}

func (s *typedSink) Update(event *corev1.Event) (*corev1.Event, error) {
	return s.set.CoreV1().Events(s.ns).Update(context.Background(), event, metav1.UpdateOptions{})
}

func (s *typedSink) Patch(event *corev1.Event, data []byte) (*corev1.Event, error) {
	return s.set.CoreV1().Events(s.ns).Patch(context.Background(), event.Name, types.StrategicMergePatchType, data, metav1.PatchOptions{})
}

// withoutValues is the document with each free value as text only, normalized: how YAML is written is a matter of taste.
func withoutValues(document *openapiv3.Document) *openapiv3.Document {
	copied := proto.Clone(document).(*openapiv3.Document)
	var walk func(message protoreflect.Message)
	walk = func(message protoreflect.Message) {
		if any, ok := message.Interface().(*openapiv3.Any); ok {
			any.Value = nil
			var value interface{}
			if err := yaml.Unmarshal([]byte(any.Yaml), &value); err == nil {
				text, _ := yaml.Marshal(value)
				any.Yaml = string(text)
			}
			return
		}
		message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
			switch {
			case field.Message() == nil:
			case field.IsList():
				for i := range value.List().Len() {
					walk(value.List().Get(i).Message())
				}
			default:
				walk(value.Message())
			}
			return true
		})
	}
	walk(copied.ProtoReflect())
	return copied
}
