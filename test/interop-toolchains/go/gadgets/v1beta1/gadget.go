// Package v1beta1 is the older version of the custom kind: its spec says colour where v1 says color.
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/conversion"

	v1 "k8ts.test/interop/gadgets/v1"
)

var GroupVersion = schema.GroupVersion{Group: "interop.k8ts.test", Version: "v1beta1"}

type GadgetSpec struct {
	Colour string `json:"colour,omitempty"`
	Size   int32  `json:"size,omitempty"`
}

type Gadget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GadgetSpec      `json:"spec,omitempty"`
	Status            v1.GadgetStatus `json:"status,omitempty"`
}

type GadgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Gadget `json:"items"`
}

func (in *Gadget) ConvertTo(hub conversion.Hub) error {
	out := hub.(*v1.Gadget)
	out.ObjectMeta = in.ObjectMeta
	out.Spec = v1.GadgetSpec{Color: in.Spec.Colour, Size: in.Spec.Size}
	out.Status = in.Status
	return nil
}

func (in *Gadget) ConvertFrom(hub conversion.Hub) error {
	from := hub.(*v1.Gadget)
	in.ObjectMeta = from.ObjectMeta
	in.Spec = GadgetSpec{Colour: from.Spec.Color, Size: from.Spec.Size}
	in.Status = from.Status
	return nil
}

func (in *Gadget) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = append([]metav1.Condition(nil), in.Status.Conditions...)
	return &out
}

func (in *GadgetList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = nil
	for i := range in.Items {
		out.Items = append(out.Items, *in.Items[i].DeepCopyObject().(*Gadget))
	}
	return &out
}

func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &Gadget{}, &GadgetList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
