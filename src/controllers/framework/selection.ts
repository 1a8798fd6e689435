// Owns the meaning of --controllers: "*" is all that are on by default, "name" switches on, "-name" off.

export interface Selectable {
  readonly name: string;
  /** Only when named. */
  readonly offByDefault?: boolean;
}

/** The chosen ones in their own order. Throws on names that do not exist. Old names ("deployment") are understood. */
export function selectControllers<T extends Selectable>(all: readonly T[], flag: readonly string[]): T[] {
  const known = new Map(all.flatMap((one) => [[one.name, one.name] as const, [oldName(one.name), one.name] as const]));
  const [on, off] = [new Set<string>(), new Set<string>()];
  for (const word of flag) {
    if (word === '*') continue;
    const name = known.get(word.replace(/^-/, ''));
    if (name === undefined) throw new Error(`--controllers: "${word}" is not in the list of known controllers`);
    (word.startsWith('-') ? off : on).add(name);
  }
  const star = flag.includes('*');
  return all.filter(({ name, offByDefault }) => on.has(name) || (!off.has(name) && star && !offByDefault));
}

/** Before 1.27 names had no "-controller" at the end and no dashes inside. */
function oldName(name: string): string {
  const aliases: Readonly<Record<string, string>> = {
    'garbage-collector-controller': 'garbagecollector',
    'pod-garbage-collector-controller': 'podgc',
    'node-lifecycle-controller': 'nodelifecycle',
    'node-ipam-controller': 'nodeipam',
    'ttl-after-finished-controller': 'ttl-after-finished',
    'root-ca-certificate-publisher-controller': 'root-ca-cert-publisher',
    'certificatesigningrequest-signing-controller': 'csrsigning',
    'certificatesigningrequest-approving-controller': 'csrapproving',
    'certificatesigningrequest-cleaner-controller': 'csrcleaner',
    'bootstrap-signer-controller': 'bootstrapsigner',
    'token-cleaner-controller': 'tokencleaner',
    'clusterrole-aggregation-controller': 'clusterrole-aggregation',
    'serviceaccount-token-controller': 'serviceaccount-token',
    'horizontal-pod-autoscaler-controller': 'horizontalpodautoscaling',
    'persistentvolume-binder-controller': 'persistentvolume-binder',
    'persistentvolume-protection-controller': 'pv-protection',
    'persistentvolumeclaim-protection-controller': 'pvc-protection',
    'persistentvolume-attach-detach-controller': 'attachdetach',
    'ephemeral-volume-controller': 'ephemeral-volume',
    'endpoints-controller': 'endpoint',
    'taint-eviction-controller': 'taint-eviction',
  };
  return aliases[name] ?? name.replace(/-controller$/, '');
}
