"""The official Python client's ordinary calls, with the kubeconfig in KUBECONFIG, on a cluster with simulated nodes."""

import base64
import threading
import time
import unittest

from kubernetes import client, config, dynamic, informer, stream, utils, watch
from kubernetes.client.rest import ApiException
from kubernetes.dynamic.exceptions import ConflictError, NotFoundError
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.configmaplock import ConfigMapLock

NAMESPACE = "default"


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels={"test": "yes"}), data=data or {"a": "b"})


def deployment(name, replicas=2):
    labels = {"app": name}
    return client.V1Deployment(
        metadata=client.V1ObjectMeta(name=name),
        spec=client.V1DeploymentSpec(
            replicas=replicas,
            selector=client.V1LabelSelector(match_labels=labels),
            template=client.V1PodTemplateSpec(
                metadata=client.V1ObjectMeta(labels=labels),
                spec=client.V1PodSpec(containers=[client.V1Container(name="c", image="nginx")]),
            ),
        ),
    )


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        config.load_kube_config()
        cls.core = client.CoreV1Api()
        cls.apps = client.AppsV1Api()

    def eventually(self, what, attempt, seconds=60):
        until = time.monotonic() + seconds
        while not attempt():
            self.assertLess(time.monotonic(), until, what)
            time.sleep(0.05)

    def refused(self, status, says, call, *args, **kwargs):
        with self.assertRaises(ApiException) as caught:
            call(*args, **kwargs)
        self.assertEqual(caught.exception.status, status, caught.exception.body)
        self.assertRegex(str(caught.exception.body), says)

    def test_version_and_discovery(self):
        self.assertEqual(client.VersionApi().get_code().minor, "37")
        self.assertIn("apps", [group.name for group in client.ApisApi().get_api_versions().groups])
        self.assertIn("pods", [resource.name for resource in self.core.get_api_resources().resources])

    def test_create_read_replace_patch_delete(self):
        made = self.core.create_namespaced_config_map(NAMESPACE, config_map("crud"))
        self.assertIsNotNone(made.metadata.creation_timestamp.tzinfo)
        read = self.core.read_namespaced_config_map("crud", NAMESPACE)
        read.data["c"] = "d"
        replaced = self.core.replace_namespaced_config_map("crud", NAMESPACE, read)
        self.assertEqual(replaced.data, {"a": "b", "c": "d"})
        self.refused(409, "the object has been modified", self.core.replace_namespaced_config_map, "crud", NAMESPACE, made)
        self.core.patch_namespaced_config_map("crud", NAMESPACE, {"data": {"strategic": "1"}})
        self.core.patch_namespaced_config_map("crud", NAMESPACE, [{"op": "add", "path": "/data/json", "value": "2"}])
        applied = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "crud"}, "data": {"applied": "3"}}
        patched = self.core.patch_namespaced_config_map(
            "crud", NAMESPACE, applied, field_manager="python", force=True, _content_type="application/apply-patch+yaml"
        )
        self.assertEqual(patched.data, {"a": "b", "c": "d", "strategic": "1", "json": "2", "applied": "3"})
        dry = self.core.delete_namespaced_config_map("crud", NAMESPACE, dry_run="All")
        self.assertEqual(dry["status"], "Success")
        self.core.delete_namespaced_config_map("crud", NAMESPACE, body=client.V1DeleteOptions(grace_period_seconds=0))
        self.refused(404, "NotFound", self.core.read_namespaced_config_map, "crud", NAMESPACE)
        self.refused(422, "RFC 1123", self.core.create_namespaced_config_map, NAMESPACE, config_map("Bad_Name"))

    def test_secret_bytes_and_binary_data(self):
        secret = self.core.create_namespaced_secret(
            NAMESPACE, client.V1Secret(metadata=client.V1ObjectMeta(name="bytes"), string_data={"p": "pässword"})
        )
        self.assertEqual(base64.b64decode(secret.data["p"]).decode(), "pässword")

    def test_pages(self):
        for at in range(5):
            self.core.create_namespaced_config_map(NAMESPACE, config_map(f"page-{at}", page="yes"))
        names, more, pages = [], None, 0
        while pages == 0 or more:
            page = self.core.list_namespaced_config_map(NAMESPACE, limit=2, _continue=more, label_selector="test=yes")
            names += [item.metadata.name for item in page.items if item.metadata.name.startswith("page-")]
            more, pages = page.metadata._continue, pages + 1
        self.assertEqual(len(names), 5)
        self.assertGreaterEqual(pages, 3)

    def test_watch(self):
        start = self.core.list_namespaced_config_map(NAMESPACE).metadata.resource_version
        names = ["watched-a", "watched-b"]

        def change():
            for name in names:
                self.core.create_namespaced_config_map(NAMESPACE, config_map(name))
                self.core.delete_namespaced_config_map(name, NAMESPACE)

        thread = threading.Thread(target=change)
        thread.start()
        seen = []
        watcher = watch.Watch()
        for event in watcher.stream(
            self.core.list_namespaced_config_map, NAMESPACE, resource_version=start,
            allow_watch_bookmarks=True, timeout_seconds=20,
        ):
            if event["object"].metadata.name in names:
                seen.append((event["type"], event["object"].metadata.name))
            if len(seen) == 4:
                watcher.stop()
        thread.join()
        self.assertEqual(seen, [(kind, name) for name in names for kind in ("ADDED", "DELETED")])
        events = list(watch.Watch().stream(self.core.list_namespaced_config_map, NAMESPACE, timeout_seconds=1))
        self.assertIn("kube-root-ca.crt", [event["object"].metadata.name for event in events])

    def test_informer(self):
        events = []
        shared = informer.SharedInformer(self.core.list_namespaced_config_map, namespace=NAMESPACE, label_selector="informer=yes")
        for kind in ("ADDED", "MODIFIED", "DELETED"):
            shared.add_event_handler(kind, lambda thing, kind=kind: events.append((kind, thing.metadata.name)))
        shared.start()
        try:
            made = config_map("informed")
            made.metadata.labels = {"informer": "yes"}
            self.core.create_namespaced_config_map(NAMESPACE, made)
            self.eventually("added", lambda: ("ADDED", "informed") in events)
            self.core.patch_namespaced_config_map("informed", NAMESPACE, {"data": {"x": "y"}})
            self.eventually("modified", lambda: ("MODIFIED", "informed") in events)
            self.core.delete_namespaced_config_map("informed", NAMESPACE)
            self.eventually("deleted", lambda: ("DELETED", "informed") in events)
        finally:
            shared.stop()

    def test_deployment_scale_eviction(self):
        self.apps.create_namespaced_deployment(NAMESPACE, deployment("web"))
        ready = lambda count: self.eventually(
            f"{count} ready", lambda: self.apps.read_namespaced_deployment_status("web", NAMESPACE).status.ready_replicas == count
        )
        ready(2)
        scale = self.apps.read_namespaced_deployment_scale("web", NAMESPACE)
        scale.spec.replicas = 3
        self.apps.replace_namespaced_deployment_scale("web", NAMESPACE, scale)
        ready(3)
        self.apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 2}})
        ready(2)
        pod = self.core.list_namespaced_pod(NAMESPACE, label_selector="app=web").items[0]
        self.assertTrue(pod.spec.node_name)
        eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=pod.metadata.name, namespace=NAMESPACE))
        self.core.create_namespaced_pod_eviction(pod.metadata.name, NAMESPACE, eviction)
        ready(2)
        with self.assertRaises(ApiException):
            self.core.read_namespaced_pod_log(pod.metadata.name, NAMESPACE)
        name = self.core.list_namespaced_pod(NAMESPACE, label_selector="app=web").items[0].metadata.name
        with self.assertRaises(ApiException) as caught:
            self.core.read_namespaced_pod_log(name, NAMESPACE)
        self.assertIn("simulated", str(caught.exception.body))
        shell = stream.stream(
            self.core.connect_get_namespaced_pod_exec, name, NAMESPACE, command=["true"], stdout=True, stderr=True,
            stdin=False, tty=False, _preload_content=False,
        )
        shell.run_forever(timeout=10)
        self.assertIn("simulated", str(shell.read_channel(stream.ws_client.ERROR_CHANNEL) or shell._all or ""))

    def test_token_and_reviews(self):
        request = client.AuthenticationV1TokenRequest(
            spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=600)
        )
        token = self.core.create_namespaced_service_account_token("default", NAMESPACE, request).status.token
        robot = client.Configuration.get_default_copy()
        robot.cert_file = robot.key_file = None
        robot.api_key = {"authorization": f"Bearer {token}"}
        robot.api_key_prefix = {}
        as_robot = client.ApiClient(robot)
        self.refused(403, "system:serviceaccount:default:default", client.CoreV1Api(as_robot).list_namespaced_secret, NAMESPACE)
        review = client.AuthorizationV1Api(as_robot).create_self_subject_access_review(
            client.V1SelfSubjectAccessReview(
                spec=client.V1SelfSubjectAccessReviewSpec(
                    resource_attributes=client.V1ResourceAttributes(verb="get", resource="pods", namespace=NAMESPACE)
                )
            )
        )
        self.assertFalse(review.status.allowed)

    def test_create_from_yaml_and_job(self):
        utils.create_from_dict(
            client.ApiClient(),
            {
                "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": NAMESPACE},
                "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "x"}]}}},
            },
        )
        batch = client.BatchV1Api()
        self.eventually("the job", lambda: batch.read_namespaced_job("once", NAMESPACE).status.succeeded == 1)

    def test_dynamic_client_and_custom_kinds(self):
        client.ApiextensionsV1Api().create_custom_resource_definition(
            {
                "metadata": {"name": "gears.python.k8ts.test"},
                "spec": {
                    "group": "python.k8ts.test", "scope": "Namespaced", "names": {"plural": "gears", "kind": "Gear"},
                    "versions": [{
                        "name": "v1", "served": True, "storage": True, "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
                    }],
                },
            }
        )
        anything = dynamic.DynamicClient(client.ApiClient())
        found = []

        def discovered():
            anything.resources.invalidate_cache()
            try:
                found.append(anything.resources.get(api_version="python.k8ts.test/v1", kind="Gear"))
            except dynamic.exceptions.ResourceNotFoundError:
                return False
            return True

        self.eventually("the kind in discovery", discovered)
        gears = found[-1]
        body = {"apiVersion": "python.k8ts.test/v1", "kind": "Gear", "metadata": {"name": "g"}, "spec": {"teeth": 12}}
        gears.create(body=body, namespace=NAMESPACE)
        body["spec"]["teeth"] = 13
        applied = gears.server_side_apply(body=body, name="g", namespace=NAMESPACE, field_manager="python", force_conflicts=True)
        self.assertEqual(applied.spec.teeth, 13)
        gears.status.patch(
            body={"status": {"done": True}}, name="g", namespace=NAMESPACE, content_type="application/merge-patch+json"
        )
        self.assertTrue(gears.get(name="g", namespace=NAMESPACE).status.done)
        stale = gears.get(name="g", namespace=NAMESPACE).to_dict()
        gears.patch(body={"spec": {"teeth": 14}}, name="g", namespace=NAMESPACE, content_type="application/merge-patch+json")
        with self.assertRaises(ConflictError):
            gears.replace(body=stale, namespace=NAMESPACE)
        events = [event["type"] for event in gears.watch(namespace=NAMESPACE, timeout=1)]
        self.assertEqual(events, ["ADDED"])
        self.assertEqual(len(client.CustomObjectsApi().list_cluster_custom_object("python.k8ts.test", "v1", "gears")["items"]), 1)
        gears.delete(name="g", namespace=NAMESPACE)
        with self.assertRaises(NotFoundError):
            gears.get(name="g", namespace=NAMESPACE)
        pods = anything.resources.get(api_version="v1", kind="Pod")
        self.assertIsInstance(pods.get(namespace=NAMESPACE).items, list)

    def test_leader_election(self):
        led = threading.Event()

        def lead():
            led.set()

        thread = threading.Thread(
            target=lambda: leaderelection.LeaderElection(
                electionconfig.Config(
                    ConfigMapLock("leader", NAMESPACE, "first"), lease_duration=3, renew_deadline=2, retry_period=1,
                    onstarted_leading=lead, onstopped_leading=None,
                )
            ).run(),
            daemon=True,
        )
        thread.start()
        self.assertTrue(led.wait(20))


if __name__ == "__main__":
    unittest.main()
