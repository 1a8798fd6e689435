// The official Java client's ordinary calls against the cluster of KUBECONFIG. Prints one line a check; ends with 1 when one fails.

import io.kubernetes.client.custom.V1Patch;
import io.kubernetes.client.informer.ResourceEventHandler;
import io.kubernetes.client.informer.SharedInformerFactory;
import io.kubernetes.client.openapi.ApiClient;
import io.kubernetes.client.openapi.ApiException;
import io.kubernetes.client.openapi.apis.AppsV1Api;
import io.kubernetes.client.openapi.apis.CoreV1Api;
import io.kubernetes.client.openapi.apis.VersionApi;
import io.kubernetes.client.openapi.models.*;
import io.kubernetes.client.util.ClientBuilder;
import io.kubernetes.client.util.PatchUtils;
import io.kubernetes.client.util.Watch;
import io.kubernetes.client.util.generic.GenericKubernetesApi;
import io.kubernetes.client.util.generic.dynamic.DynamicKubernetesApi;
import io.kubernetes.client.util.generic.options.ListOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;

public class Calls {
  interface Check {
    void run() throws Exception;
  }

  static final String NAMESPACE = "default";
  static ApiClient client;
  static CoreV1Api core;
  static boolean good = true;

  static void check(String name, Check check) {
    try {
      check.run();
      System.out.println("ok " + name);
    } catch (Throwable error) {
      good = false;
      String body = error instanceof ApiException refused ? " " + refused.getResponseBody() : "";
      System.out.println("not ok " + name + ": " + (error + body).replace('\n', ' '));
    }
  }

  static void expect(boolean holds, Object what) {
    if (!holds) throw new AssertionError(String.valueOf(what));
  }

  static void eventually(String what, BooleanSupplier holds) throws InterruptedException {
    for (int tries = 0; !holds.getAsBoolean(); tries++) {
      expect(tries < 1200, what);
      Thread.sleep(50);
    }
  }

  static void refused(int code, Check check) throws Exception {
    try {
      check.run();
    } catch (ApiException error) {
      expect(error.getCode() == code, error.getCode() + " " + error.getResponseBody());
      return;
    }
    throw new AssertionError("not refused");
  }

  static V1ConfigMap map(String name) {
    return new V1ConfigMap().metadata(new V1ObjectMeta().name(name).putLabelsItem("java", "yes")).putDataItem("a", "b");
  }

  public static void main(String[] args) throws Exception {
    client = ClientBuilder.standard().build();
    // Informers want it so.
    client.setReadTimeout(0);
    core = new CoreV1Api(client);
    check("version", () -> expect(new VersionApi(client).getCode().execute().getMinor().equals("37"), "minor"));
    check("create, read, replace, delete", Calls::crud);
    check("patches", Calls::patches);
    check("pages", Calls::pages);
    check("watch", Calls::watches);
    check("informer", Calls::informs);
    check("deployment, scale, eviction", Calls::deploys);
    check("generic and dynamic client", Calls::generics);
    System.exit(good ? 0 : 1);
  }

  static void crud() throws Exception {
    V1ConfigMap made = core.createNamespacedConfigMap(NAMESPACE, map("crud")).execute();
    expect(made.getMetadata().getCreationTimestamp() != null, "no time");
    V1ConfigMap next = core.readNamespacedConfigMap("crud", NAMESPACE).execute().putDataItem("c", "d");
    expect(core.replaceNamespacedConfigMap("crud", NAMESPACE, next).execute().getData().size() == 2, "replaced");
    refused(409, () -> core.replaceNamespacedConfigMap("crud", NAMESPACE, made).execute());
    expect("Success".equals(core.deleteNamespacedConfigMap("crud", NAMESPACE).execute().getStatus()), "deleted");
    refused(404, () -> core.readNamespacedConfigMap("crud", NAMESPACE).execute());
    refused(422, () -> core.createNamespacedConfigMap(NAMESPACE, map("Bad_Name")).execute());
    V1Secret secret = new V1Secret().metadata(new V1ObjectMeta().name("java-bytes")).putDataItem("k", new byte[] {0, (byte) 0xff});
    core.createNamespacedSecret(NAMESPACE, secret).execute();
    expect(core.readNamespacedSecret("java-bytes", NAMESPACE).execute().getData().get("k")[1] == (byte) 0xff, "bytes");
  }

  static void patches() throws Exception {
    core.createNamespacedConfigMap(NAMESPACE, map("patched")).execute();
    Map<String, String> all =
        Map.of(
            V1Patch.PATCH_FORMAT_JSON_PATCH, "[{\"op\":\"add\",\"path\":\"/data/json\",\"value\":\"1\"}]",
            V1Patch.PATCH_FORMAT_JSON_MERGE_PATCH, "{\"data\":{\"merge\":\"2\"}}",
            V1Patch.PATCH_FORMAT_STRATEGIC_MERGE_PATCH, "{\"data\":{\"strategic\":\"3\"}}",
            V1Patch.PATCH_FORMAT_APPLY_YAML,
                "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"patched\"},\"data\":{\"applied\":\"4\"}}");
    for (var patch : all.entrySet()) {
      boolean isApply = patch.getKey().equals(V1Patch.PATCH_FORMAT_APPLY_YAML);
      PatchUtils.patch(
          V1ConfigMap.class,
          () -> {
            var call = core.patchNamespacedConfigMap("patched", NAMESPACE, new V1Patch(patch.getValue())).fieldManager("java");
            return (isApply ? call.force(true) : call).buildCall(null);
          },
          patch.getKey(),
          client);
    }
    expect(core.readNamespacedConfigMap("patched", NAMESPACE).execute().getData().size() == 5, "five keys");
    core.deleteNamespacedConfigMap("patched", NAMESPACE).execute();
  }

  static void pages() throws Exception {
    for (int at = 0; at < 5; at++) core.createNamespacedConfigMap(NAMESPACE, map("page-" + at)).execute();
    List<String> names = new ArrayList<>();
    String more = null;
    do {
      V1ConfigMapList page = core.listNamespacedConfigMap(NAMESPACE).labelSelector("java=yes").limit(2)._continue(more).execute();
      page.getItems().forEach(item -> names.add(item.getMetadata().getName()));
      more = page.getMetadata().getContinue();
    } while (more != null && !more.isEmpty());
    expect(names.size() == 5, names);
    core.deleteCollectionNamespacedConfigMap(NAMESPACE).labelSelector("java=yes").execute();
  }

  static void watches() throws Exception {
    String start = core.listNamespacedConfigMap(NAMESPACE).execute().getMetadata().getResourceVersion();
    List<String> seen = new ArrayList<>();
    var call = core.listNamespacedConfigMap(NAMESPACE).labelSelector("java=yes").resourceVersion(start).timeoutSeconds(20).watch(true);
    try (Watch<V1ConfigMap> watch =
        Watch.createWatch(client, call.buildCall(null), new com.google.gson.reflect.TypeToken<Watch.Response<V1ConfigMap>>() {}.getType())) {
      core.createNamespacedConfigMap(NAMESPACE, map("watched")).execute();
      core.deleteNamespacedConfigMap("watched", NAMESPACE).execute();
      for (var event : watch) {
        seen.add(event.type + " " + event.object.getMetadata().getName());
        if (seen.size() == 2) break;
      }
    }
    expect(seen.equals(List.of("ADDED watched", "DELETED watched")), seen);
  }

  static void informs() throws Exception {
    SharedInformerFactory factory = new SharedInformerFactory(client);
    List<String> seen = new CopyOnWriteArrayList<>();
    var informer =
        factory.sharedIndexInformerFor(
            params ->
                core.listNamespacedConfigMap(NAMESPACE).labelSelector("java=yes").resourceVersion(params.resourceVersion)
                    .timeoutSeconds(params.timeoutSeconds).watch(params.watch).buildCall(null),
            V1ConfigMap.class,
            V1ConfigMapList.class);
    informer.addEventHandler(
        new ResourceEventHandler<V1ConfigMap>() {
          public void onAdd(V1ConfigMap map) {
            seen.add("add " + map.getMetadata().getName());
          }

          public void onUpdate(V1ConfigMap before, V1ConfigMap map) {
            seen.add("update " + map.getMetadata().getName());
          }

          public void onDelete(V1ConfigMap map, boolean unknown) {
            seen.add("delete " + map.getMetadata().getName());
          }
        });
    factory.startAllRegisteredInformers();
    eventually("sync", informer::hasSynced);
    core.createNamespacedConfigMap(NAMESPACE, map("informed")).execute();
    eventually("added", () -> seen.contains("add informed"));
    core.replaceNamespacedConfigMap("informed", NAMESPACE, map("informed").putDataItem("x", "y")).execute();
    eventually("updated", () -> seen.contains("update informed"));
    core.deleteNamespacedConfigMap("informed", NAMESPACE).execute();
    eventually("deleted", () -> seen.contains("delete informed"));
    factory.stopAllRegisteredInformers();
  }

  static void deploys() throws Exception {
    AppsV1Api apps = new AppsV1Api(client);
    Map<String, String> labels = Map.of("app", "java-web");
    V1PodSpec spec = new V1PodSpec().addContainersItem(new V1Container().name("c").image("nginx"));
    V1Deployment deployment =
        new V1Deployment().metadata(new V1ObjectMeta().name("java-web")).spec(
            new V1DeploymentSpec().replicas(2).selector(new V1LabelSelector().matchLabels(labels))
                .template(new V1PodTemplateSpec().metadata(new V1ObjectMeta().labels(labels)).spec(spec)));
    apps.createNamespacedDeployment(NAMESPACE, deployment).execute();
    ready(apps, 2);
    V1Scale scale = apps.readNamespacedDeploymentScale("java-web", NAMESPACE).execute();
    scale.getSpec().setReplicas(3);
    apps.replaceNamespacedDeploymentScale("java-web", NAMESPACE, scale).execute();
    ready(apps, 3);
    String pod = core.listNamespacedPod(NAMESPACE).labelSelector("app=java-web").execute().getItems().get(0).getMetadata().getName();
    V1Eviction eviction = new V1Eviction().metadata(new V1ObjectMeta().name(pod).namespace(NAMESPACE));
    // The client takes the answer for an Eviction, but it is a Status, upstream's too: only the sending is tried.
    try (var answer = core.createNamespacedPodEviction(pod, NAMESPACE, eviction).buildCall(null).execute()) {
      expect(answer.code() == 201, answer);
    }
    eventually("the pod is gone", () -> {
      try {
        core.readNamespacedPod(pod, NAMESPACE).execute();
        return false;
      } catch (ApiException error) {
        return error.getCode() == 404;
      }
    });
    ready(apps, 3);
  }

  static void ready(AppsV1Api apps, int count) throws Exception {
    eventually(
        count + " ready",
        () -> {
          try {
            Integer ready = apps.readNamespacedDeploymentStatus("java-web", NAMESPACE).execute().getStatus().getReadyReplicas();
            return ready != null && ready == count;
          } catch (ApiException error) {
            return false;
          }
        });
  }

  static void generics() throws Exception {
    var maps = new GenericKubernetesApi<>(V1ConfigMap.class, V1ConfigMapList.class, "", "v1", "configmaps", client);
    expect(maps.create(map("generic").metadata(new V1ObjectMeta().name("generic").namespace(NAMESPACE))).isSuccess(), "created");
    expect(maps.get(NAMESPACE, "no-such").getHttpStatusCode() == 404, "found");
    var anything = new DynamicKubernetesApi("", "v1", "configmaps", client);
    expect(anything.list(NAMESPACE, new ListOptions()).getObject().getItems().size() >= 2, "listed");
    expect(anything.delete(NAMESPACE, "generic").isSuccess(), "deleted");
  }
}
