import type { Kubectl } from '../../hack/sandbox/index.ts';

interface Listed {
  readonly items: readonly { readonly kind: string; readonly metadata: { readonly name: string; readonly namespace?: string } }[];
}

/** Objects that appear and vanish in every cluster. */
const passing: ReadonlySet<string> = new Set(['events', 'events.events.k8s.io', 'componentstatuses', 'leases.coordination.k8s.io']);

/** Every object of the cluster as `resource namespace/name`, of all resources that can be listed, but events and Leases. */
export async function allObjects(kubectl: Kubectl): Promise<ReadonlySet<string>> {
  const names = await kubectl.text(['api-resources', '--verbs=list', '-o', 'name', '--cached=false']);
  const resources = names.split('\n').filter((name) => name !== '' && !name.endsWith('.metrics.k8s.io') && !passing.has(name));
  const lists = await Promise.all(
    resources.map(async (resource) => {
      const { items } = await kubectl.json<Listed>(['get', resource, '-A']);
      return items.map(({ metadata: { name, namespace = '' } }) => `${resource} ${namespace}/${name}`);
    }),
  );
  return new Set(lists.flat());
}
