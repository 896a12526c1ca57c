import { describe, expect, it } from 'vitest';
import { compareVersions, ResourceClient } from '@agentfleet/kube';
import { configMaps, widgets, type ConfigMap, type Environment, type Widget } from './environment.ts';

/** Lists: pages, selectors, moments. */
export function listsContract(environment: () => Environment): void {
  const of = (): { maps: ResourceClient<ConfigMap>; things: ResourceClient<Widget>; namespace: string } => {
    const { transport, namespace } = environment();
    return { maps: new ResourceClient(transport, configMaps), things: new ResourceClient(transport, widgets), namespace };
  };

  describe('lists', () => {
    it('pages are all of one moment, whatever is written between them', async () => {
      const { maps, namespace } = of();
      for (let i = 0; i < 7; i += 1) await maps.create({ metadata: { name: `page-${i}`, namespace, labels: { pages: 'yes' } } });
      const names: string[] = [];
      const versions = new Set<string>();
      let pages = 0;
      for await (const page of maps.pages({ namespace, labelSelector: 'pages=yes', limit: 3 })) {
        names.push(...page.items.map((item) => item.metadata.name));
        versions.add(page.resourceVersion);
        if (pages === 0) await maps.create({ metadata: { name: 'page-9', namespace, labels: { pages: 'yes' } } });
        pages += 1;
      }
      expect(pages).toBe(3);
      expect(names).toEqual([0, 1, 2, 3, 4, 5, 6].map((i) => `page-${i}`));
      expect(versions.size).toBe(1);
    });

    it('items have kind and version', async () => {
      const { maps, namespace } = of();
      await maps.create({ metadata: { name: 'typed', namespace } });
      const [item] = await maps.list({ namespace, fieldSelector: 'metadata.name=typed' });
      expect(item).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap' });
    });

    it('every form of label selector chooses the same', async () => {
      const { maps, namespace } = of();
      const labels: Readonly<Record<string, Record<string, string>>> = {
        l1: { s: 'a' },
        l2: { s: 'b' },
        l3: { s: 'c', t: '1' },
        l4: { u: '1' },
      };
      for (const [name, own] of Object.entries(labels))
        await maps.create({ metadata: { name, namespace, labels: { forms: 'yes', ...own } } });
      const chosen = async (selector: string): Promise<string[]> =>
        (await maps.list({ namespace, labelSelector: `forms=yes,${selector}` })).map((item) => item.metadata.name).sort();
      expect(await chosen('s=a')).toEqual(['l1']);
      expect(await chosen('s==a')).toEqual(['l1']);
      expect(await chosen('s!=a')).toEqual(['l2', 'l3', 'l4']);
      expect(await chosen('s in (a,b)')).toEqual(['l1', 'l2']);
      expect(await chosen('s notin (a, b)')).toEqual(['l3', 'l4']);
      expect(await chosen('s')).toEqual(['l1', 'l2', 'l3']);
      expect(await chosen('!s')).toEqual(['l4']);
      expect(await chosen('s in (c),t=1')).toEqual(['l3']);
    });

    it('selectable fields choose, others are refused', async () => {
      const { things, namespace } = of();
      await things.create({ metadata: { name: 'f1', namespace }, spec: { owner: 'ann' } });
      await things.create({ metadata: { name: 'f2', namespace }, spec: { owner: 'bob' } });
      const found = await things.list({ namespace, fieldSelector: 'spec.owner=ann' });
      expect(found.map((item) => item.metadata.name)).toEqual(['f1']);
      await expect(things.list({ namespace, fieldSelector: 'spec.size=1' })).rejects.toMatchObject({ code: 400 });
    });

    it('versions grow with every write', async () => {
      const { maps, namespace } = of();
      const first = await maps.create({ metadata: { name: 'grow', namespace } });
      const second = await maps.patch({ namespace, name: 'grow' }, { data: { a: '1' } });
      expect(compareVersions(first.metadata.resourceVersion, second.metadata.resourceVersion)).toBeLessThan(0);
    });
  });
}
