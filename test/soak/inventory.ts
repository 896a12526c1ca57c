import type { Kubectl } from '../../hack/sandbox/index.ts';

/** Kinds of objects that a fleet makes in a namespace of a pool and its tasks. */
const kinds = [
  'configmaps',
  'deployments',
  'endpointslices',
  'jobs',
  'leases',
  'networkpolicies',
  'persistentvolumeclaims',
  'poddisruptionbudgets',
  'pods',
  'podtemplates',
  'resourceclaims',
  'rolebindings',
  'roles',
  'secrets',
  'serviceaccounts',
  'services',
  'statefulsets',
];

interface Listed {
  readonly items: readonly { readonly kind: string; readonly metadata: { readonly name: string } }[];
}

/** `Kind/name` of all objects of a namespace that are no tasks, orders or events. */
export async function inventory(kubectl: Kubectl, namespace: string): Promise<ReadonlySet<string>> {
  const { items } = await kubectl.json<Listed>(['-n', namespace, 'get', kinds.join(',')]);
  return new Set(items.map(({ kind, metadata }) => `${kind}/${metadata.name}`));
}

/** Lists what came since and belongs to no present pod: pods of workers and gateways are replaced, and their Leases with them. Pure. */
export function orphansOf(before: ReadonlySet<string>, now: ReadonlySet<string>, replaced: ReadonlySet<string>): readonly string[] {
  return [...now].filter((one) => !before.has(one) && !replaced.has(one.slice(one.indexOf('/') + 1)));
}

/** Keys of the storage that belong to a task which is none of those, by the uid that stands in them. Pure. */
export function foreignKeys(keys: readonly string[], uids: ReadonlySet<string>): readonly string[] {
  const uid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
  return keys.filter((key) => {
    const found = uid.exec(key)?.[0];
    return found !== undefined && !uids.has(found);
  });
}
