package clientgo

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	openapiv3 "github.com/google/gnostic-models/openapiv3"
	"google.golang.org/protobuf/proto"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	applyappsv1 "k8s.io/client-go/applyconfigurations/apps/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	applymetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
)

func web(replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}},
			},
		},
	}
}

func TestTypedClientInEachForm(t *testing.T) {
	for _, contentType := range []string{"application/json", protobuf, "application/yaml"} {
		t.Run(contentType, func(t *testing.T) {
			ns, ctx := namespace(t), t.Context()
			set, seen := clientset(t, contentType)
			if contentType == "application/yaml" {
				// client-go speaks JSON and protobuf; YAML is read as a stranger would.
				body, err := set.CoreV1().RESTClient().Get().AbsPath("/api/v1/namespaces/"+ns).SetHeader("Accept", contentType).DoRaw(ctx)
				if err != nil || !strings.Contains(string(body), "kind: Namespace") {
					t.Errorf("%s %v", body, err)
				}
				return
			}
			deployments := set.AppsV1().Deployments(ns)
			made, err := deployments.Create(ctx, web(1), metav1.CreateOptions{})
			must(t, err)
			if made.UID == "" || made.Spec.Strategy.RollingUpdate.MaxSurge.String() != "25%" || made.CreationTimestamp.IsZero() {
				t.Errorf("made: %+v", made)
			}
			must(t, retry.RetryOnConflict(retry.DefaultRetry, func() error {
				made.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "B"}}
				made.Spec.Strategy.RollingUpdate.MaxSurge = ptr.To(intstr.FromInt32(3))
				made, err = deployments.Update(ctx, made, metav1.UpdateOptions{})
				return err
			}))
			made.Status.Replicas = 2
			made.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue, LastUpdateTime: metav1.Now()}}
			made, err = deployments.UpdateStatus(ctx, made, metav1.UpdateOptions{})
			must(t, err)
			if made.Status.Replicas != 2 || made.Generation != 2 {
				t.Errorf("status %+v generation %d", made.Status, made.Generation)
			}
			for patchType, patch := range map[types.PatchType]string{
				types.JSONPatchType:           `[{"op":"add","path":"/metadata/annotations","value":{"json":"1"}}]`,
				types.MergePatchType:          `{"metadata":{"labels":{"merge":"1"}}}`,
				types.StrategicMergePatchType: `{"spec":{"template":{"spec":{"containers":[{"name":"c","image":"nginx:2"}]}}}}`,
				types.ApplyYAMLPatchType:      "apiVersion: apps/v1\nkind: Deployment\nmetadata: {labels: {apply: '1'}}",
			} {
				_, err := deployments.Patch(ctx, "web", patchType, []byte(patch), metav1.PatchOptions{FieldManager: "patcher"})
				if err != nil {
					t.Errorf("%s: %v", patchType, err)
				}
			}
			made, err = deployments.Get(ctx, "web", metav1.GetOptions{})
			must(t, err)
			if made.Labels["merge"] != "1" || made.Labels["apply"] != "1" || made.Spec.Template.Spec.Containers[0].Image != "nginx:2" || made.Spec.Template.Spec.Containers[0].Env[0].Value != "B" {
				t.Errorf("patched: %+v", made)
			}
			scaled, err := deployments.GetScale(ctx, "web", metav1.GetOptions{})
			must(t, err)
			scaled.Spec.Replicas = 7
			_, err = deployments.UpdateScale(ctx, "web", scaled, metav1.UpdateOptions{})
			must(t, err)
			_, err = deployments.Create(ctx, web(1), metav1.CreateOptions{})
			if !apierrors.IsAlreadyExists(err) {
				t.Errorf("again: %v", err)
			}
			broken := web(-1)
			broken.Name = "Broken!"
			_, err = deployments.Create(ctx, broken, metav1.CreateOptions{})
			var status *apierrors.StatusError
			if !errors.As(err, &status) || !apierrors.IsInvalid(err) || len(status.ErrStatus.Details.Causes) != 2 {
				t.Errorf("broken: %v", err)
			}
			must(t, deployments.Delete(ctx, "web", metav1.DeleteOptions{PropagationPolicy: ptr.To(metav1.DeletePropagationBackground), Preconditions: &metav1.Preconditions{UID: &made.UID}}))
			if _, err := deployments.Get(ctx, "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("deleted: %v", err)
			}
			for _, line := range seen.requests {
				if !strings.Contains(line, contentType) {
					t.Errorf("not in %s: %s", contentType, line)
				}
			}
		})
	}
}

func TestApplyConfigurations(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	set, _ := clientset(t, protobuf)
	labels := map[string]string{"app": "a"}
	wanted := applyappsv1.Deployment("a", ns).WithSpec(applyappsv1.DeploymentSpec().WithReplicas(2).
		WithSelector(applymetav1.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(applycorev1.PodTemplateSpec().WithLabels(labels).WithSpec(applycorev1.PodSpec().WithContainers(
			applycorev1.Container().WithName("c").WithImage("nginx").WithPorts(applycorev1.ContainerPort().WithContainerPort(80))))))
	made, err := set.AppsV1().Deployments(ns).Apply(ctx, wanted, metav1.ApplyOptions{FieldManager: "first"})
	must(t, err)
	extracted, err := applyappsv1.ExtractDeployment(made, "first")
	must(t, err)
	if *extracted.Spec.Replicas != 2 || *extracted.Spec.Template.Spec.Containers[0].Image != "nginx" || extracted.Spec.Template.Spec.RestartPolicy != nil {
		t.Errorf("extracted: %+v", extracted.Spec)
	}
	other := applyappsv1.Deployment("a", ns).WithSpec(applyappsv1.DeploymentSpec().WithReplicas(3))
	_, err = set.AppsV1().Deployments(ns).Apply(ctx, other, metav1.ApplyOptions{FieldManager: "second"})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), `conflict with "first"`) {
		t.Errorf("conflict: %v", err)
	}
	made, err = set.AppsV1().Deployments(ns).Apply(ctx, other, metav1.ApplyOptions{FieldManager: "second", Force: true})
	must(t, err)
	extracted, err = applyappsv1.ExtractDeployment(made, "first")
	must(t, err)
	if extracted.Spec.Replicas != nil || *made.Spec.Replicas != 3 {
		t.Errorf("still owned: %+v", extracted.Spec)
	}
	status := applyappsv1.Deployment("a", ns).WithStatus(applyappsv1.DeploymentStatus().WithConditions(
		applyappsv1.DeploymentCondition().WithType(appsv1.DeploymentProgressing).WithStatus(corev1.ConditionTrue)))
	made, err = set.AppsV1().Deployments(ns).ApplyStatus(ctx, status, metav1.ApplyOptions{FieldManager: "status"})
	must(t, err)
	if len(made.Status.Conditions) != 1 {
		t.Errorf("status: %+v", made.Status)
	}
	unchanged, err := set.AppsV1().Deployments(ns).Apply(ctx, other, metav1.ApplyOptions{FieldManager: "second", Force: true})
	must(t, err)
	if unchanged.ResourceVersion != made.ResourceVersion {
		t.Error("the same apply wrote again")
	}
}

func TestDiscovery(t *testing.T) {
	ctx := t.Context()
	own, seen := recorded("")
	client, err := discovery.NewDiscoveryClientForConfig(own)
	must(t, err)
	version, err := client.ServerVersion()
	must(t, err)
	if version.Major != "1" || version.Minor != "37" {
		t.Errorf("version %+v", version)
	}
	groups, lists, err := client.ServerGroupsAndResources()
	must(t, err)
	if len(groups) < 15 || len(lists) < 20 {
		t.Errorf("%d groups, %d lists", len(groups), len(lists))
	}
	if len(seen.matching("GET /apis", "as=APIGroupDiscoveryList")) == 0 {
		t.Errorf("discovery was not aggregated: %v", seen.requests)
	}
	legacy := client.WithLegacy()
	old, err := legacy.ServerPreferredResources()
	must(t, err)
	if len(old) < 20 {
		t.Errorf("legacy: %d", len(old))
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	for kind, resource := range map[schema.GroupKind]string{{Group: "apps", Kind: "Deployment"}: "deployments", {Kind: "Endpoints"}: "endpoints", {Group: "interop.k8ts.test", Kind: "Gear"}: "gears"} {
		mapping, err := mapper.RESTMapping(kind)
		if err != nil || mapping.Resource.Resource != resource {
			t.Errorf("%s: %+v %v", kind, mapping, err)
		}
	}
	cached, err := disk.NewCachedDiscoveryClientForConfig(own, t.TempDir(), t.TempDir(), time.Hour)
	must(t, err)
	if _, err := cached.ServerPreferredNamespacedResources(); err != nil {
		t.Error(err)
	}
	cached.Invalidate()
	if _, err := cached.ServerPreferredNamespacedResources(); err != nil {
		t.Error(err)
	}
	document, err := client.OpenAPISchema()
	must(t, err)
	if len(document.Definitions.AdditionalProperties) < 500 {
		t.Errorf("OpenAPI v2: %d definitions", len(document.Definitions.AdditionalProperties))
	}
	paths, err := client.OpenAPIV3().Paths()
	must(t, err)
	documents := map[string]*openapiv3.Document{}
	for _, path := range []string{"api/v1", "apis/apps/v1", "apis/interop.k8ts.test/v1"} {
		for _, form := range []string{"application/json", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"} {
			text, err := paths[path].Schema(form)
			if err != nil {
				t.Errorf("OpenAPI v3 of %s in %s: %v", path, form, err)
				continue
			}
			var read *openapiv3.Document
			if form == "application/json" {
				read, err = openapiv3.ParseDocument(text)
			} else {
				read = &openapiv3.Document{}
				err = proto.Unmarshal(text, read)
			}
			must(t, err)
			if len(read.Paths.Path) < 4 || len(read.Components.Schemas.AdditionalProperties) < 10 {
				t.Errorf("OpenAPI v3 of %s in %s: %d paths", path, form, len(read.Paths.Path))
			}
			if other, known := documents[path]; !known {
				documents[path] = read
			} else if !proto.Equal(withoutValues(other), withoutValues(read)) {
				t.Errorf("OpenAPI v3 of %s says other things in protobuf", path)
			}
		}
	}
	if body, err := client.RESTClient().Get().AbsPath("/readyz").Param("verbose", "true").DoRaw(ctx); err != nil || !strings.Contains(string(body), "readyz check passed") {
		t.Errorf("readyz: %s %v", body, err)
	}
}

func TestScaleClient(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	set, _ := clientset(t, "")
	_, err := set.AppsV1().Deployments(ns).Create(ctx, web(1), metav1.CreateOptions{})
	must(t, err)
	direct, err := dynamic.NewForConfig(config)
	must(t, err)
	made, err := direct.Resource(gear).Namespace(ns).Apply(ctx, "web", unstructuredGear(4), metav1.ApplyOptions{FieldManager: "x"})
	must(t, err)
	if made.GetName() != "web" {
		t.Error(made)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(set.Discovery()))
	scales, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, scale.NewDiscoveryScaleKindResolver(set.Discovery()))
	must(t, err)
	for resource, replicas := range map[schema.GroupResource]int32{{Group: "apps", Resource: "deployments"}: 1, gear.GroupResource(): 4} {
		got, err := scales.Scales(ns).Get(ctx, resource, "web", metav1.GetOptions{})
		must(t, err)
		if got.Spec.Replicas != replicas {
			t.Errorf("%s: %d", resource, got.Spec.Replicas)
		}
		got.Spec.Replicas = 9
		got, err = scales.Scales(ns).Update(ctx, resource, got, metav1.UpdateOptions{})
		must(t, err)
		if got.Spec.Replicas != 9 {
			t.Errorf("%s: %d", resource, got.Spec.Replicas)
		}
		got, err = scales.Scales(ns).Patch(ctx, resource.WithVersion("v1"), "web", types.MergePatchType, []byte(`{"spec":{"replicas":5}}`), metav1.PatchOptions{})
		must(t, err)
		if got.Spec.Replicas != 5 {
			t.Errorf("%s patched: %d", resource, got.Spec.Replicas)
		}
	}
}

func TestPods(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	set, _ := clientset(t, protobuf)
	pods := set.CoreV1().Pods(ns)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Labels: map[string]string{"app": "p"}}, Spec: web(1).Spec.Template.Spec}
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	must(t, err)
	must(t, pods.Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "nowhere"}}, metav1.CreateOptions{}))
	pod, err = pods.Get(ctx, "p", metav1.GetOptions{})
	must(t, err)
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	pod, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	must(t, err)
	pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "debug", Image: "busybox"}}}
	pod, err = pods.UpdateEphemeralContainers(ctx, "p", pod, metav1.UpdateOptions{})
	must(t, err)
	if len(pod.Spec.EphemeralContainers) != 1 {
		t.Error("no ephemeral container")
	}
	// No kubelet is there: the refusal must be one that client-go understands.
	_, err = pods.GetLogs("p", &corev1.PodLogOptions{}).DoRaw(ctx)
	if !apierrors.IsNotFound(err) {
		t.Errorf("logs: %v", err)
	}
	request := set.CoreV1().RESTClient().Post().Resource("pods").Namespace(ns).Name("p").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "c", Command: []string{"true"}, Stdout: true}, scheme.ParameterCodec)
	overSocket, err := remotecommand.NewWebSocketExecutor(config, http.MethodGet, request.URL().String())
	must(t, err)
	overSpdy, err := remotecommand.NewSPDYExecutor(config, http.MethodPost, request.URL())
	must(t, err)
	for name, executor := range map[string]remotecommand.Executor{"websocket": overSocket, "spdy": overSpdy} {
		err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &strings.Builder{}})
		if err == nil || !strings.Contains(err.Error(), "not found") {
			t.Errorf("%s: %v", name, err)
		}
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	must(t, err)
	url := set.CoreV1().RESTClient().Post().Resource("pods").Namespace(ns).Name("p").SubResource("portforward").URL()
	forwarder, err := portforward.New(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url), []string{"0:80"}, ctx.Done(), nil, nil, nil)
	must(t, err)
	if err := forwarder.ForwardPorts(); err == nil {
		t.Error("forwarded to nowhere")
	}

	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "keep"}, Spec: policyv1.PodDisruptionBudgetSpec{
		MinAvailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "p"}}}}
	budget, err = set.PolicyV1().PodDisruptionBudgets(ns).Create(ctx, budget, metav1.CreateOptions{})
	must(t, err)
	budget.Status.ObservedGeneration = budget.Generation
	_, err = set.PolicyV1().PodDisruptionBudgets(ns).UpdateStatus(ctx, budget, metav1.UpdateOptions{})
	must(t, err)
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: ns}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}}
	err = pods.EvictV1(ctx, eviction)
	if !apierrors.IsTooManyRequests(err) || !apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause) {
		t.Errorf("budget: %v", err)
	}
	must(t, set.PolicyV1().PodDisruptionBudgets(ns).Delete(ctx, "keep", metav1.DeleteOptions{}))
	must(t, pods.EvictV1(ctx, eviction))
}

func TestTokensAndReviews(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	set, _ := clientset(t, protobuf)
	_, err := set.CoreV1().ServiceAccounts(ns).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
	must(t, err)
	token, err := set.CoreV1().ServiceAccounts(ns).CreateToken(ctx, "robot", &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To(int64(900))}}, metav1.CreateOptions{})
	must(t, err)
	if until := time.Until(token.Status.ExpirationTimestamp.Time); until < 10*time.Minute || until > 16*time.Minute {
		t.Errorf("expires in %s", until)
	}
	own := rest.AnonymousClientConfig(config)
	own.BearerToken = token.Status.Token
	robot, err := kubernetes.NewForConfig(own)
	must(t, err)
	me, err := robot.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	must(t, err)
	if me.Status.UserInfo.Username != "system:serviceaccount:"+ns+":robot" {
		t.Errorf("me: %+v", me.Status)
	}
	access, err := robot.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "delete", Resource: "nodes"}}}, metav1.CreateOptions{})
	must(t, err)
	if access.Status.Allowed {
		t.Error("a robot may delete nodes")
	}
	impersonating := rest.CopyConfig(config)
	impersonating.Impersonate = rest.ImpersonationConfig{UserName: "jane", Groups: []string{"devs"}}
	jane, err := kubernetes.NewForConfig(impersonating)
	must(t, err)
	if _, err = jane.CoreV1().Secrets(ns).List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "jane" cannot list resource "secrets"`) {
		t.Errorf("jane: %v", err)
	}
}

func TestLeaderElectionAndEvents(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	set, _ := clientset(t, protobuf)
	broadcaster := record.NewBroadcaster()
	broadcaster.StartRecordingToSink(&typedSink{set: set, ns: ns})
	defer broadcaster.Shutdown()
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "old"})
	reference := &corev1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: ns, Name: "x"}
	for range 3 {
		recorder.Event(reference, corev1.EventTypeNormal, "Again", "the same")
	}
	newer := events.NewBroadcaster(&events.EventSinkImpl{Interface: set.EventsV1()})
	must(t, newer.StartRecordingToSinkWithContext(ctx))
	defer newer.Shutdown()
	for range 2 {
		newer.NewRecorder(scheme.Scheme, "new").Eventf(reference, nil, corev1.EventTypeWarning, "Newer", "Testing", "it is %d", 1)
	}
	eventually(t, "events", func(ctx context.Context) (bool, error) {
		old, err := set.CoreV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "reason=Again"})
		if err != nil {
			return false, err
		}
		new, err := set.EventsV1().Events(ns).List(ctx, metav1.ListOptions{FieldSelector: "reason=Newer"})
		return len(old.Items) == 1 && old.Items[0].Count == 3 && len(new.Items) == 1, err
	})

	elect := func(identity string) (context.CancelFunc, chan string) {
		lock, err := resourcelock.New(resourcelock.LeasesResourceLock, ns, "leader", set.CoreV1(), set.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: identity})
		must(t, err)
		running, cancel := context.WithCancel(ctx)
		said := make(chan string, 10)
		go leaderelection.RunOrDie(running, leaderelection.LeaderElectionConfig{
			Lock: lock, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{
				OnStartedLeading: func(context.Context) { said <- "leads" },
				OnStoppedLeading: func() { said <- "stopped" },
			},
		})
		return cancel, said
	}
	stopFirst, first := elect("first")
	if said := <-first; said != "leads" {
		t.Fatal(said)
	}
	stopSecond, second := elect("second")
	defer stopSecond()
	select {
	case <-second:
		t.Fatal("two leaders")
	case <-time.After(time.Second):
	}
	stopFirst()
	if said := <-first; said != "stopped" {
		t.Error(said)
	}
	if said := <-second; said != "leads" {
		t.Error(said)
	}
}
