package envtest

import (
	"context"
	"io"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

func namespace(t *testing.T) string {
	t.Helper()
	made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "client-"}}
	must(t, direct.Create(t.Context(), made))
	return made.Name
}

func deployment(namespace, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}

func TestPatches(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	web := deployment(ns, "web")
	must(t, direct.Create(ctx, web))

	base := web.DeepCopy()
	web.Spec.Template.Spec.Containers = append(web.Spec.Template.Spec.Containers, corev1.Container{Name: "side", Image: "busybox"})
	must(t, direct.Patch(ctx, web, client.StrategicMergeFrom(base)))
	if len(web.Spec.Template.Spec.Containers) != 2 || web.Generation != 2 {
		t.Errorf("strategic merge: %d containers, generation %d", len(web.Spec.Template.Spec.Containers), web.Generation)
	}
	stale := web.DeepCopy()
	web.Annotations = map[string]string{"a": "b"}
	must(t, direct.Update(ctx, web))
	changed := stale.DeepCopy()
	changed.Spec.Replicas = ptr.To(int32(5))
	if err := direct.Patch(ctx, changed, client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{})); !apierrors.IsConflict(err) {
		t.Errorf("optimistic lock: %v", err)
	}
	if err := direct.Update(ctx, stale); !apierrors.IsConflict(err) {
		t.Errorf("stale update: %v", err)
	}
	must(t, direct.Patch(ctx, web, client.RawPatch("application/json-patch+json", []byte(`[{"op":"test","path":"/metadata/annotations/a","value":"b"},{"op":"remove","path":"/metadata/annotations/a"}]`))))
	if len(web.Annotations) != 0 {
		t.Errorf("JSON patch: %v", web.Annotations)
	}

	applied := &unstructured.Unstructured{}
	applied.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	applied.SetNamespace(ns)
	applied.SetName("web")
	must(t, unstructured.SetNestedField(applied.Object, int64(3), "spec", "replicas"))
	err := direct.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("scaler"))
	if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		t.Errorf("apply without force: %v", err)
	}
	must(t, direct.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("scaler"), client.ForceOwnership))

	dry := client.NewDryRunClient(direct)
	must(t, dry.Delete(ctx, web))
	must(t, direct.Get(ctx, client.ObjectKeyFromObject(web), web))
	if *web.Spec.Replicas != 3 {
		t.Errorf("replicas %d", *web.Spec.Replicas)
	}
	owned := client.WithFieldOwner(direct, "owner-by-client")
	web.Labels["extra"] = "x"
	must(t, owned.Update(ctx, web))
	found := false
	for _, entry := range web.ManagedFields {
		found = found || entry.Manager == "owner-by-client"
	}
	if !found {
		t.Errorf("managers: %+v", web.ManagedFields)
	}
	strict := client.WithFieldValidation(direct, client.FieldValidation(metav1.FieldValidationStrict))
	unknown := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x", "namespace": ns}, "dta": map[string]any{},
	}}
	if err := strict.Create(ctx, unknown); !apierrors.IsBadRequest(err) || !strings.Contains(err.Error(), `unknown field "dta"`) {
		t.Errorf("strict: %v", err)
	}
}

func TestSubresources(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	web := deployment(ns, "web")
	must(t, direct.Create(ctx, web))
	scale := &autoscalingv1.Scale{}
	must(t, direct.SubResource("scale").Get(ctx, web, scale))
	scale.Spec.Replicas = 4
	must(t, direct.SubResource("scale").Update(ctx, web, client.WithSubResourceBody(scale)))
	must(t, direct.Get(ctx, client.ObjectKeyFromObject(web), web))
	if *web.Spec.Replicas != 4 {
		t.Errorf("replicas %d", *web.Spec.Replicas)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "robot"}}
	must(t, direct.Create(ctx, account))
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(3600))}}
	must(t, direct.SubResource("token").Create(ctx, account, token))
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}}
	must(t, direct.Create(ctx, review))
	if !review.Status.Authenticated || review.Status.User.Username != "system:serviceaccount:"+ns+":robot" {
		t.Errorf("review: %+v", review.Status)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}}}
	must(t, direct.Create(ctx, pod))
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	must(t, direct.Status().Update(ctx, pod))
	must(t, direct.SubResource("binding").Create(ctx, pod, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}))
	must(t, direct.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}}))
	if err := direct.Get(ctx, client.ObjectKeyFromObject(pod), pod); !apierrors.IsNotFound(err) {
		t.Errorf("evicted: %v", err)
	}
}

func TestDeleteAllOfAndPages(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		must(t, direct.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: map[string]string{"set": "x"}}}))
	}
	seen, list := 0, &corev1.ConfigMapList{}
	for {
		must(t, direct.List(ctx, list, client.InNamespace(ns), client.Limit(2), client.Continue(list.Continue)))
		seen += len(list.Items)
		if list.Continue == "" {
			break
		}
	}
	if seen != 5 {
		t.Errorf("pages gave %d", seen)
	}
	partial := &metav1.PartialObjectMetadataList{}
	partial.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMapList"})
	must(t, direct.List(ctx, partial, client.InNamespace(ns), client.MatchingLabels{"set": "x"}))
	if len(partial.Items) != 5 {
		t.Errorf("metadata of %d", len(partial.Items))
	}
	must(t, direct.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(ns), client.MatchingLabels{"set": "x"}))
	must(t, direct.List(ctx, list, client.InNamespace(ns)))
	if len(list.Items) != 0 {
		t.Errorf("%d left", len(list.Items))
	}
}

func TestCacheBySelectors(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	kept, err := cache.New(config, cache.Options{
		DefaultNamespaces: map[string]cache.Config{ns: {}},
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Field: mustField("type=kubernetes.io/tls")},
		},
	})
	must(t, err)
	running, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- kept.Start(running) }()
	t.Cleanup(func() { cancel(); must(t, <-done) })
	if !kept.WaitForCacheSync(ctx) {
		t.Fatal("no sync")
	}
	must(t, direct.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "opaque"}}))
	must(t, direct.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tls"}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{"tls.crt": {}, "tls.key": {}}}))
	eventually(t, "the TLS secret alone", func(ctx context.Context) (bool, error) {
		list := &corev1.SecretList{}
		err := kept.List(ctx, list)
		return len(list.Items) == 1 && list.Items[0].Name == "tls", err
	})
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	must(t, direct.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "meta"}}))
	eventually(t, "metadata from the cache", func(ctx context.Context) (bool, error) {
		err := kept.Get(ctx, client.ObjectKey{Namespace: ns, Name: "meta"}, partial)
		return err == nil, client.IgnoreNotFound(err)
	})
}

func TestUsersAndKubectl(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	user, err := env.AddUser(envtest.User{Name: "reader", Groups: []string{"readers"}}, nil)
	must(t, err)
	mine, err := client.New(user.Config(), client.Options{})
	must(t, err)
	if err := mine.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(ns)); !apierrors.IsForbidden(err) {
		t.Errorf("before the binding: %v", err)
	}
	must(t, direct.Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}},
	}))
	must(t, direct.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "readers"},
		Subjects:   []rbacv1.Subject{{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "readers"}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
	}))
	eventually(t, "the binding counts", func(ctx context.Context) (bool, error) {
		return mine.List(ctx, &corev1.ConfigMapList{}, client.InNamespace(ns)) == nil, nil
	})
	kubectl, err := user.Kubectl()
	must(t, err)
	out, stderr, err := kubectl.Run("auth", "can-i", "list", "configmaps", "-n", ns)
	text, _ := io.ReadAll(out)
	said, _ := io.ReadAll(stderr)
	if strings.Contains(string(said), "there was none when k8ts envtest ran") {
		t.Skip(string(said))
	}
	if err != nil || strings.TrimSpace(string(text)) != "yes" {
		t.Errorf("kubectl: %v: %s%s", err, text, said)
	}
}
