import { describe, expect, it } from 'vitest';
import { controllerReference, ResourceClient } from '@agentfleet/kube';
import { configMaps, namespaces, type ConfigMap, type Environment } from './environment.ts';

/** Actions of the server itself: it collects garbage and empties namespaces. */
export function ownersContract(environment: () => Environment): void {
  const gone = async (client: ResourceClient, name: { namespace?: string; name: string }): Promise<boolean> => {
    for (let i = 0; i < 200; i += 1) {
      if ((await client.find(name)) === undefined) return true;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    return false;
  };

  describe('owners', () => {
    it('an object whose only owner is absent is deleted', async (context) => {
      const { transport, namespace, controllers } = environment();
      context.skip(!controllers, 'an API server alone collects nothing');
      const maps = new ResourceClient<ConfigMap>(transport, configMaps);
      const owner = await maps.create({ metadata: { name: 'owner', namespace } });
      const other = await maps.create({ metadata: { name: 'other', namespace } });
      const ownerReferences = [controllerReference(owner, false)];
      await maps.create({ metadata: { name: 'child', namespace, ownerReferences } });
      const shared = [...ownerReferences, { ...controllerReference(other, false), controller: false }];
      await maps.create({ metadata: { name: 'two-owners', namespace, ownerReferences: shared } });
      await maps.delete({ namespace, name: 'owner' });
      expect(await gone(maps, { namespace, name: 'child' })).toBe(true);
      expect(await maps.find({ namespace, name: 'two-owners' })).toBeDefined();
    });

    it('a namespace is removed with all its objects and accepts no new ones', async (context) => {
      const { transport, controllers } = environment();
      context.skip(!controllers, 'an API server alone empties nothing');
      const maps = new ResourceClient<ConfigMap>(transport, configMaps);
      const spaces = new ResourceClient(transport, namespaces);
      const name = `gone-${Math.floor(Math.random() * 1e9)}`;
      await spaces.create({ metadata: { name } });
      await maps.create({ metadata: { name: 'held', namespace: name, finalizers: ['contract.example.com/hold'] } });
      await spaces.delete({ name });
      await expect(maps.create({ metadata: { name: 'late', namespace: name } })).rejects.toMatchObject({ code: 403 });
      for (let i = 0; i < 100 && (await maps.get({ namespace: name, name: 'held' })).metadata.deletionTimestamp === undefined; i += 1) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      await maps.patch({ namespace: name, name: 'held' }, { metadata: { finalizers: [] } });
      expect(await gone(spaces, { name })).toBe(true);
    });
  });
}
