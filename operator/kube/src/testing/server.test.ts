import { describe, expect, it } from 'vitest';
import { defineResource, type KubeObject } from '../api/resource.ts';
import { ResourceClient } from '../client/client.ts';
import { faultAtWrite } from './faults.ts';
import { eventually, testBed, widgets } from './widget.ts';

interface Pod extends KubeObject {
  readonly spec: { readonly nodeName?: string; readonly containers: readonly { readonly name: string }[] };
}

const pods = defineResource<Pod>('v1', 'Pod', 'pods');
const name = { namespace: 'default', name: 'a' };

describe('the fake API server', () => {
  it('breaks exactly the write that a test names', async () => {
    for (const kind of ['before', 'lost-response'] as const) {
      await using bed = await testBed();
      const client = new ResourceClient(bed.transport, widgets);
      bed.server.onRequest = faultAtWrite(1, { kind });
      await client.create({ metadata: name });
      await expect(client.patch(name, { spec: { size: 1 } })).rejects.toMatchObject({ code: 'AF_API_UNREACHABLE' });
      expect((await client.get(name)).spec).toEqual(kind === 'before' ? undefined : { size: 1 });
      await client.patch(name, { spec: { size: 2 } });
      expect(bed.server.writes.map((write) => write.verb)).toEqual(['create', 'patch', 'patch']);
    }
  });

  it('keeps a pod on a node until it is deleted without grace', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, pods);
    await client.create({ metadata: name, spec: { nodeName: 'n', containers: [{ name: 'c' }] } });
    await client.delete(name);
    expect((await client.get(name)).metadata).toMatchObject({ deletionGracePeriodSeconds: 30 });
    await client.delete(name, { gracePeriodSeconds: 0 });
    expect(await client.find(name)).toBeUndefined();
  });

  it('answers a subresource that a kind declares', async () => {
    const subresources = { token: (object: unknown, body: unknown): Record<string, unknown> => ({ object, body }) };
    await using bed = await testBed({ kinds: [{ resource: widgets, subresources }] });
    const client = new ResourceClient(bed.transport, widgets);
    await client.create({ metadata: name });
    expect(await client.createSubresource(name, 'token', { ask: 1 })).toMatchObject({ object: { metadata: name }, body: { ask: 1 } });
    await expect(client.createSubresource(name, 'none', {})).rejects.toMatchObject({ code: 404 });
  });

  it('a list goes on to a 410 when its moment was compacted', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    for (let i = 0; i < 4; i += 1) await client.create({ metadata: { ...name, name: `a${i}` } });
    const pages = client.pages({ limit: 2 });
    await pages.next();
    await client.delete({ ...name, name: 'a3' });
    bed.server.compact();
    await expect(pages.next()).rejects.toMatchObject({ code: 410, reason: 'Expired' });
  });

  it('a list that may goes on after that, with what is there now', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    for (let i = 0; i < 5; i += 1) await client.create({ metadata: { ...name, name: `a${i}` } });
    const names: string[] = [];
    for await (const { items } of client.pages({ limit: 2, resume: true })) {
      names.push(...items.map(({ metadata }) => metadata.name));
      if (names.length > 2) continue;
      await client.delete({ ...name, name: 'a3' });
      bed.server.compact();
    }
    expect(names).toEqual(['a0', 'a1', 'a2', 'a4']);
  });

  it('orphans dependents on request', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    const owner = await client.create({ metadata: name });
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Widget', name: 'a', uid: owner.metadata.uid ?? '' }];
    await client.create({ metadata: { ...name, name: 'child', ownerReferences } });
    await client.delete(name, { propagationPolicy: 'Orphan' });
    await eventually('no owner', () => bed.server.objects(widgets)[0]?.metadata.ownerReferences?.length === 0);
    expect(bed.server.objects(widgets)).toHaveLength(1);
  });
});
