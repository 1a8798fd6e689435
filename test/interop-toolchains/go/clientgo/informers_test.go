package clientgo

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
	watchtools "k8s.io/client-go/tools/watch"
)

var gear = schema.GroupVersionResource{Group: "interop.k8ts.test", Version: "v1", Resource: "gears"}

func TestSharedInformersOverProtobufAndJSON(t *testing.T) {
	for _, contentType := range []string{protobuf, "application/json"} {
		t.Run(contentType, func(t *testing.T) {
			ns := namespace(t)
			set, seen := clientset(t, contentType)
			for i := range 5 {
				_, err := set.CoreV1().ConfigMaps(ns).Create(t.Context(), configMap(fmt.Sprintf("before-%d", i)), metav1.CreateOptions{})
				must(t, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			factory := informers.NewSharedInformerFactoryWithOptions(set, time.Hour, informers.WithNamespace(ns),
				informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "test=yes" }))
			maps, deployments := factory.Core().V1().ConfigMaps(), factory.Apps().V1().Deployments()
			changes := make(chan string, 100)
			_, err := maps.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc:    func(object any) { changes <- "add " + object.(*corev1.ConfigMap).Name },
				UpdateFunc: func(_, object any) { changes <- "update " + object.(*corev1.ConfigMap).Data["a"] },
				DeleteFunc: func(object any) { changes <- "delete " + object.(*corev1.ConfigMap).Name },
			})
			must(t, err)
			deployments.Informer()
			factory.Start(ctx.Done())
			defer factory.Shutdown()
			defer cancel()
			for kind, ok := range factory.WaitForCacheSync(ctx.Done()) {
				if !ok {
					t.Errorf("no sync of %s", kind)
				}
			}
			list, err := maps.Lister().ConfigMaps(ns).List(labels.Everything())
			must(t, err)
			if len(list) != 5 || list[0].Data["a"] != "b" {
				t.Errorf("listed %d", len(list))
			}
			streams := seen.matching("GET", "configmaps", "sendInitialEvents=true", "watch=true")
			if len(streams) == 0 || !strings.Contains(streams[0], contentType) {
				t.Errorf("WatchList was not used in %s: %v", contentType, seen.matching("GET"))
			}
			for range 5 {
				<-changes
			}
			made, err := set.CoreV1().ConfigMaps(ns).Create(ctx, configMap("after"), metav1.CreateOptions{})
			must(t, err)
			made.Data["a"] = "changed"
			_, err = set.CoreV1().ConfigMaps(ns).Update(ctx, made, metav1.UpdateOptions{})
			must(t, err)
			// Out of the selector: to the watcher it is gone.
			_, err = set.CoreV1().ConfigMaps(ns).Patch(ctx, "after", types.MergePatchType, []byte(`{"metadata":{"labels":{"test":"no"}}}`), metav1.PatchOptions{})
			must(t, err)
			for _, want := range []string{"add after", "update changed", "delete after"} {
				if got := <-changes; got != want {
					t.Errorf("%s instead of %s", got, want)
				}
			}
		})
	}
}

func TestDynamicClientAndInformer(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	resource := client.Resource(gear).Namespace(ns)
	made, err := resource.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "interop.k8ts.test/v1", "kind": "Gear", "metadata": map[string]any{"name": "g"},
		"spec": map[string]any{"teeth": int64(12), "ratio": 1.5},
	}}, metav1.CreateOptions{FieldManager: "maker"})
	must(t, err)
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, ns, nil)
	lister := factory.ForResource(gear).Lister()
	running, cancel := context.WithCancel(ctx)
	factory.Start(running.Done())
	defer factory.Shutdown()
	defer cancel()
	if ok := factory.WaitForCacheSync(running.Done())[gear]; !ok {
		t.Fatal("no sync")
	}
	must(t, unstructured.SetNestedField(made.Object, int64(3), "status", "teeth"))
	made, err = resource.UpdateStatus(ctx, made, metav1.UpdateOptions{})
	must(t, err)
	eventually(t, "status in the cache", func(context.Context) (bool, error) {
		object, err := lister.ByNamespace(ns).Get("g")
		if err != nil {
			return false, err
		}
		teeth, _, err := unstructured.NestedInt64(object.(*unstructured.Unstructured).Object, "status", "teeth")
		return teeth == 3, err
	})
	ratio, found, err := unstructured.NestedFloat64(made.Object, "spec", "ratio")
	if err != nil || !found || ratio != 1.5 {
		t.Errorf("ratio %v %v %v", ratio, found, err)
	}
	applied, err := resource.Apply(ctx, "g", &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "interop.k8ts.test/v1", "kind": "Gear", "metadata": map[string]any{"name": "g"},
		"spec": map[string]any{"name": "applied"},
	}}, metav1.ApplyOptions{FieldManager: "applier"})
	must(t, err)
	if name, _, _ := unstructured.NestedString(applied.Object, "spec", "name"); name != "applied" {
		t.Errorf("applied %v", applied.Object)
	}
	_, err = resource.Patch(ctx, "g", types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/teeth","value":20}]`), metav1.PatchOptions{})
	must(t, err)
	must(t, resource.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "metadata.name=g"}))
	eventually(t, "gone from the cache", func(context.Context) (bool, error) {
		objects, err := lister.List(labels.Everything())
		return len(objects) == 0, err
	})
}

func TestMetadataClient(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	set, _ := clientset(t, "")
	own, seen := recorded("")
	client, err := metadata.NewForConfig(own)
	must(t, err)
	maps := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	factory := metadatainformer.NewFilteredSharedInformerFactory(client, 0, ns, nil)
	informer, gears := factory.ForResource(maps), factory.ForResource(gear)
	informer.Informer()
	gears.Informer()
	running, cancel := context.WithCancel(ctx)
	factory.Start(running.Done())
	defer cancel()
	for kind, ok := range factory.WaitForCacheSync(running.Done()) {
		if !ok {
			t.Errorf("no sync of %s", kind)
		}
	}
	_, err = set.CoreV1().ConfigMaps(ns).Create(ctx, configMap("m"), metav1.CreateOptions{})
	must(t, err)
	eventually(t, "in the cache", func(context.Context) (bool, error) {
		objects, err := informer.Lister().ByNamespace(ns).List(labels.SelectorFromSet(labels.Set{"test": "yes"}))
		return len(objects) == 1 && objects[0].(*metav1.PartialObjectMetadata).Name == "m", err
	})
	patched, err := client.Resource(maps).Namespace(ns).Patch(ctx, "m", types.MergePatchType, []byte(`{"metadata":{"annotations":{"x":"y"}}}`), metav1.PatchOptions{})
	must(t, err)
	if patched.Annotations["x"] != "y" {
		t.Errorf("patched: %+v", patched)
	}
	list, err := client.Resource(maps).Namespace(ns).List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 1 || list.ResourceVersion == "" {
		t.Errorf("listed: %+v", list)
	}
	must(t, client.Resource(maps).Namespace(ns).Delete(ctx, "m", metav1.DeleteOptions{}))
	if len(seen.matching("PATCH", protobuf)) == 0 || len(seen.matching("gears", "watch", protobuf)) == 0 {
		t.Errorf("not over protobuf: %v", seen.requests)
	}
}

func TestPager(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	set, seen := clientset(t, protobuf)
	for i := range 35 {
		_, err := set.CoreV1().ConfigMaps(ns).Create(ctx, configMap(fmt.Sprintf("m-%02d", i)), metav1.CreateOptions{})
		must(t, err)
	}
	pages := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return set.CoreV1().ConfigMaps(ns).List(ctx, options)
	}))
	pages.PageSize = 10
	count := 0
	must(t, pages.EachListItem(ctx, metav1.ListOptions{}, func(runtime.Object) error {
		count++
		return nil
	}))
	if asked := len(seen.matching("GET", "limit=10")); count != 35 || asked != 4 {
		t.Errorf("%d items in %d pages", count, asked)
	}
	first, err := set.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{Limit: 10})
	must(t, err)
	if first.RemainingItemCount == nil || *first.RemainingItemCount != 25 {
		t.Errorf("remaining %v", first.RemainingItemCount)
	}
	cached, err := set.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	must(t, err)
	exact, err := set.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{ResourceVersion: first.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact})
	must(t, err)
	if len(cached.Items) != 35 || len(exact.Items) != 35 {
		t.Errorf("from the cache %d, exact %d", len(cached.Items), len(exact.Items))
	}
}

func TestWatchTools(t *testing.T) {
	ns, ctx := namespace(t), t.Context()
	set, seen := clientset(t, protobuf)
	list, err := set.CoreV1().ConfigMaps(ns).List(ctx, metav1.ListOptions{})
	must(t, err)
	// A watch of a second ends many times; the retrying one goes on where it was.
	second := int64(1)
	retrying, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			options.TimeoutSeconds = &second
			return set.CoreV1().ConfigMaps(ns).Watch(ctx, options)
		},
	})
	must(t, err)
	defer retrying.Stop()
	for i := range 3 {
		_, err := set.CoreV1().ConfigMaps(ns).Create(ctx, configMap(fmt.Sprintf("w-%d", i)), metav1.CreateOptions{})
		must(t, err)
		time.Sleep(1100 * time.Millisecond)
	}
	for i := range 3 {
		event := <-retrying.ResultChan()
		if event.Type != watch.Added || event.Object.(*corev1.ConfigMap).Name != fmt.Sprintf("w-%d", i) {
			t.Errorf("event %d: %+v", i, event)
		}
	}
	if watches := len(seen.matching("GET", "watch=true")); watches < 2 {
		t.Errorf("%d watches", watches)
	}
	limited, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	selector := fields.OneTermEqualSelector("metadata.name", "later").String()
	go func() {
		time.Sleep(200 * time.Millisecond)
		_, _ = set.CoreV1().ConfigMaps(ns).Create(ctx, configMap("later"), metav1.CreateOptions{})
	}()
	event, err := watchtools.UntilWithSync(limited, &cache.ListWatch{
		ListFunc: func(options metav1.ListOptions) (runtime.Object, error) {
			options.FieldSelector = selector
			return set.CoreV1().ConfigMaps(ns).List(ctx, options)
		},
		WatchFunc: func(options metav1.ListOptions) (watch.Interface, error) {
			options.FieldSelector = selector
			return set.CoreV1().ConfigMaps(ns).Watch(ctx, options)
		},
	}, &corev1.ConfigMap{}, nil, func(event watch.Event) (bool, error) { return event.Type == watch.Added, nil })
	must(t, err)
	if event.Object.(*corev1.ConfigMap).Name != "later" {
		t.Errorf("until: %+v", event)
	}
}
