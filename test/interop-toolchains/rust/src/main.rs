//! kube-rs' ordinary calls against the cluster of KUBECONFIG. Prints one line a check; ends with 1 when one fails.
use std::{future::Future, pin::pin, sync::Arc, time::Duration};

use anyhow::{Context, Result, bail, ensure};
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Pod, ServiceAccount},
    policy::v1::PodDisruptionBudget,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt,
    api::{
        ApiResource, DeleteParams, DynamicObject, EvictParams, ListParams, LogParams, Patch, PatchParams, PostParams, WatchEvent,
        WatchParams,
    },
    discovery::Discovery,
    runtime::{
        WatchStreamExt,
        controller::{Action, Controller},
        finalizer::{self, Event, finalizer},
        reflector,
        wait::{await_condition, conditions},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(group = "rust.k8ts.test", version = "v1", kind = "Cog", namespaced, status = "CogStatus")]
pub struct CogSpec {
    teeth: i32,
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, JsonSchema)]
pub struct CogStatus {
    seen: i32,
}

const NAMESPACE: &str = "default";
const PATIENCE: Duration = Duration::from_secs(60);

fn maps(client: &Client) -> Api<ConfigMap> {
    Api::namespaced(client.clone(), NAMESPACE)
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name, "labels": {"rust": "yes"}}, "data": {"a": "b"}})).unwrap()
}

fn code<T: std::fmt::Debug>(result: kube::Result<T>) -> Result<u16> {
    match result {
        Err(kube::Error::Api(status)) => Ok(status.code),
        other => bail!("{other:?}"),
    }
}

async fn calls(client: Client) -> Result<()> {
    let maps = maps(&client);
    let made = maps.create(&PostParams::default(), &config_map("crud")).await?;
    let mut next = made.clone();
    next.data.as_mut().unwrap().insert("c".into(), "d".into());
    let replaced = maps.replace("crud", &PostParams::default(), &next).await?;
    ensure!(code(maps.replace("crud", &PostParams::default(), &made).await)? == 409);
    ensure!(replaced.data.as_ref().unwrap().len() == 2);
    let apply = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"applied": "1"}});
    let merge = json!({"data": {"merge": "2"}});
    maps.patch("crud", &PatchParams::apply("rust").force(), &Patch::Apply(&apply)).await?;
    maps.patch("crud", &PatchParams::default(), &Patch::Merge(&merge)).await?;
    let patched = maps.patch("crud", &PatchParams::default(), &Patch::Strategic(json!({"data": {"a": null}}))).await?;
    ensure!(patched.data.unwrap().keys().map(String::as_str).eq(["applied", "c", "merge"]));
    let metadata = maps.get_metadata("crud").await?;
    ensure!(metadata.labels()["rust"] == "yes");
    ensure!(maps.list_metadata(&ListParams::default().labels("rust=yes")).await?.items.len() == 1);
    maps.delete("crud", &DeleteParams::default()).await?;
    ensure!(maps.get_opt("crud").await?.is_none());
    ensure!(code(maps.create(&PostParams::default(), &config_map("Bad_Name")).await)? == 422);
    Ok(())
}

async fn watches(client: Client) -> Result<()> {
    let maps = maps(&client);
    let start = maps.list(&ListParams::default()).await?.metadata.resource_version.context("no version")?;
    let mut stream = maps.watch(&WatchParams::default().labels("rust=yes").timeout(20), &start).await?.boxed();
    maps.create(&PostParams::default(), &config_map("watched")).await?;
    maps.delete("watched", &DeleteParams::default()).await?;
    let mut seen = vec![];
    while let Some(event) = stream.try_next().await? {
        match event {
            WatchEvent::Added(map) => seen.push(format!("added {}", map.name_any())),
            WatchEvent::Deleted(map) => seen.push(format!("deleted {}", map.name_any())),
            _ => continue,
        }
        if seen.len() == 2 {
            break;
        }
    }
    ensure!(seen == ["added watched", "deleted watched"], "{seen:?}");
    Ok(())
}

/// Both strategies of the watcher: list and watch, and a streamed list.
async fn reflectors(client: Client) -> Result<()> {
    for (name, config) in [("reflected", watcher::Config::default()), ("streamed", watcher::Config::default().streaming_lists())] {
        let maps = maps(&client);
        let (reader, writer) = reflector::store();
        let stream = reflector(writer, watcher(maps.clone(), config.labels("rust=yes"))).applied_objects();
        let task = tokio::spawn(async move { pin!(stream).for_each(|_| async {}).await });
        reader.wait_until_ready().await?;
        maps.create(&PostParams::default(), &config_map(name)).await?;
        tokio::time::timeout(PATIENCE, async {
            while !reader.state().iter().any(|map| map.name_any() == name) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await
        .with_context(|| format!("{name} did not come"))?;
        task.abort();
        maps.delete(name, &DeleteParams::default()).await?;
    }
    Ok(())
}

async fn reconcile(cog: Arc<Cog>, client: Arc<Client>) -> Result<Action, finalizer::Error<kube::Error>> {
    let cogs: Api<Cog> = Api::namespaced((*client).clone(), NAMESPACE);
    finalizer(&cogs, "rust.k8ts.test/cleanup", cog, |event| async {
        if let Event::Apply(cog) = event {
            let owned = json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": cog.name_any(), "ownerReferences": [cog.controller_owner_ref(&()).unwrap()]},
                "data": {"teeth": cog.spec.teeth.to_string()},
            });
            let params = PatchParams::apply("cogs").force();
            maps(&client).patch(&cog.name_any(), &params, &Patch::Apply(&owned)).await?;
            let status = json!({"apiVersion": "rust.k8ts.test/v1", "kind": "Cog", "status": {"seen": cog.spec.teeth}});
            cogs.patch_status(&cog.name_any(), &params, &Patch::Apply(&status)).await?;
        }
        Ok::<_, kube::Error>(Action::await_change())
    })
    .await
}

async fn controls(client: Client) -> Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &Cog::crd()).await?;
    let name = "cogs.rust.k8ts.test";
    tokio::time::timeout(PATIENCE, await_condition(crds, name, conditions::is_crd_established())).await??;
    let cogs: Api<Cog> = Api::namespaced(client.clone(), NAMESPACE);
    let controller = Controller::new(cogs.clone(), watcher::Config::default())
        .owns(maps(&client), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(200)), Arc::new(client.clone()));
    let task = tokio::spawn(controller.for_each(|_| async {}));
    cogs.create(&PostParams::default(), &Cog::new("one", CogSpec { teeth: 12 })).await?;
    let seen = |teeth: i32| {
        let cogs = cogs.clone();
        async move {
            let condition = move |cog: Option<&Cog>| cog.and_then(|cog| cog.status.as_ref()).is_some_and(|status| status.seen == teeth);
            tokio::time::timeout(PATIENCE, await_condition(cogs, "one", condition)).await??;
            Ok::<_, anyhow::Error>(())
        }
    };
    seen(12).await?;
    cogs.patch("one", &PatchParams::default(), &Patch::Merge(json!({"spec": {"teeth": 13}}))).await?;
    seen(13).await?;
    ensure!(maps(&client).get("one").await?.data.unwrap()["teeth"] == "13");
    let uid = cogs.get("one").await?.uid().context("no uid")?;
    cogs.delete("one", &DeleteParams::foreground()).await?;
    tokio::time::timeout(PATIENCE, await_condition(cogs, "one", conditions::is_deleted(&uid))).await??;
    tokio::time::timeout(PATIENCE, async {
        while maps(&client).get_opt("one").await?.is_some() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok::<_, kube::Error>(())
    })
    .await??;
    task.abort();
    Ok(())
}

async fn workloads(client: Client) -> Result<()> {
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), NAMESPACE);
    let labels = json!({"app": "rust-web"});
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "rust-web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {
            "metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]},
        }},
    }))?;
    deployments.create(&PostParams::default(), &deployment).await?;
    let completed = conditions::is_deployment_completed();
    tokio::time::timeout(PATIENCE, await_condition(deployments.clone(), "rust-web", completed)).await??;
    let mut scale = deployments.get_scale("rust-web").await?;
    scale.spec.as_mut().unwrap().replicas = Some(3);
    deployments.replace_scale("rust-web", &PostParams::default(), &scale).await?;
    deployments.restart("rust-web").await?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let pod = pods.list(&ListParams::default().labels("app=rust-web").limit(1)).await?.items.remove(0);
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), NAMESPACE);
    ensure!(budgets.list(&ListParams::default()).await?.items.is_empty());
    pods.evict(&pod.name_any(), &EvictParams::default()).await?;
    let remaining = pods.list(&ListParams::default().labels("app=rust-web")).await?;
    if let Some(pod) = remaining.items.iter().find(|pod| pod.meta().deletion_timestamp.is_none()) {
        ensure!(pods.logs(&pod.name_any(), &LogParams::default()).await.is_err());
    }
    let accounts: Api<ServiceAccount> = Api::namespaced(client, NAMESPACE);
    let token = accounts.create_token_request("default", &PostParams::default(), &Default::default()).await?;
    ensure!(token.status.and_then(|status| status.token).is_some_and(|token| token.starts_with("ey")));
    Ok(())
}

async fn discovers(client: Client) -> Result<()> {
    ensure!(client.apiserver_version().await?.minor == "37");
    for discovery in [Discovery::new(client.clone()).run().await?, Discovery::new(client.clone()).run_aggregated().await?] {
        ensure!(discovery.has_group("apps") && discovery.has_group(""));
    }
    let resource = ApiResource::erase::<ConfigMap>(&());
    let objects: Api<DynamicObject> = Api::namespaced_with(client, NAMESPACE, &resource);
    ensure!(objects.list(&ListParams::default()).await?.items.iter().any(|map| map.name_any() == "kube-root-ca.crt"));
    Ok(())
}

async fn check<F: Future<Output = Result<()>>>(name: &str, work: F) -> bool {
    match work.await {
        Ok(()) => println!("ok {name}"),
        Err(error) => {
            println!("not ok {name}: {error:?}");
            return false;
        }
    }
    true
}

#[tokio::main]
async fn main() -> Result<()> {
    let client = Client::try_default().await?;
    let mut good = check("discovery", discovers(client.clone())).await;
    good &= check("create, replace, patch, delete", calls(client.clone())).await;
    good &= check("watch", watches(client.clone())).await;
    good &= check("reflectors", reflectors(client.clone())).await;
    good &= check("controller", controls(client.clone())).await;
    good &= check("workloads", workloads(client)).await;
    std::process::exit(i32::from(!good));
}
