import { silentLog } from '../runtime/log.ts';
import { describe, expect, it } from 'vitest';
import { defineResource } from '../api/resource.ts';
import { ResourceClient } from '../client/client.ts';
import { follow } from '../testing/follower.ts';
import { eventually, testBed, widgets, type Widget } from '../testing/widget.ts';

describe('Informer', () => {
  it('a new object under an old name is a deletion and an addition', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    const name = { namespace: 'default', name: 'again' };
    const first = await client.create({ metadata: name, spec: { size: 1 } });
    await using follower = follow(bed);
    await follower.informer.waitForSync(5000);
    bed.server.watches.freeze('widgets.test.example.com');
    await client.delete(name);
    const second = await client.create({ metadata: name, spec: { size: 2 } });
    bed.server.compact();
    bed.server.watches.disconnect();
    bed.server.watches.thaw('widgets.test.example.com');
    await eventually('the second', () => follower.informer.hasSeen(second.metadata.resourceVersion ?? ''));
    expect(follower.faults).toEqual([]);
    expect(follower.reported.get(first.metadata.uid ?? '')).toBe('deleted');
    expect(follower.reported.get(second.metadata.uid ?? '')).toBe('2');
  });

  it('goes on after a handler threw, calls late handlers with what is there, and indexes', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    const errors: unknown[] = [];
    const bySize = (object: Widget): string[] => [String(object.spec?.size)];
    await using follower = follow(bed, { indexers: { size: bySize }, log: { ...silentLog, error: (_, fields) => errors.push(fields) } });
    const { informer } = follower;
    informer.addHandler({
      onAdd: () => {
        throw new Error('a bad handler');
      },
    });
    await informer.waitForSync(5000);
    for (const size of [1, 1, 2]) await client.create({ metadata: { generateName: 'i-', namespace: 'default' }, spec: { size } });
    await eventually('three objects', () => informer.lister.size === 3);
    expect(errors).toHaveLength(3);
    expect(informer.lister.byIndex('size', '1')).toHaveLength(2);
    const [one] = informer.lister.byIndex('size', '2');
    await client.patch(one?.metadata ?? { name: '' }, { spec: { size: 1 } });
    await eventually('the index', () => informer.lister.byIndex('size', '1').length === 3);
    expect(informer.lister.byIndex('size', '2')).toEqual([]);
    expect(() => informer.lister.byIndex('none', '')).toThrow(/no index/);
    const late: string[] = [];
    informer.addHandler({ onAdd: (object) => late.push(object.metadata.name) });
    expect(late).toHaveLength(3);
    expect(informer.lister.list()[0]?.metadata.managedFields).toBeUndefined();
  });

  it('reconnects when the stream falls silent, and relists when its version never comes', async () => {
    await using bed = await testBed({ bookmarkMs: 60_000 });
    const client = new ResourceClient(bed.transport, widgets);
    await using follower = follow(bed, { stallMs: 50, watchList: false });
    await follower.informer.waitForSync(5000);
    const lists = (): number => bed.server.requests.filter((request) => request.verb === 'list').length;
    const before = lists();
    await eventually('another list', () => lists() > before);
    const made = await client.create({ metadata: { name: 'seen', namespace: 'default' } });
    await eventually('the object', () => follower.informer.hasSeen(made.metadata.resourceVersion ?? ''));
    expect(follower.faults).toEqual([]);
  });

  it('does not relist at a disconnect: it goes on from the last version, also one of a bookmark', async () => {
    await using bed = await testBed({ bookmarkMs: 20 });
    await using follower = follow(bed, { watchList: false });
    await follower.informer.waitForSync(5000);
    const other = new ResourceClient(bed.transport, {
      ...widgets,
      group: '',
      version: 'v1',
      plural: 'configmaps',
      kind: 'ConfigMap',
      apiVersion: 'v1',
    });
    await other.create({ metadata: { name: 'other', namespace: 'default' } });
    await eventually('the bookmark', () => follower.informer.hasSeen(bed.server.version));
    bed.server.compact();
    bed.server.watches.disconnect();
    await eventually('a second watch', () => bed.server.requests.filter((request) => request.verb === 'watch').length >= 2);
    await eventually('an open watch', () => bed.server.watches.size === 1);
    expect(bed.server.requests.filter((request) => request.verb === 'list')).toHaveLength(1);
  });

  it('loses no object to a damaged line', async () => {
    await using bed = await testBed({ bookmarkMs: 20 });
    const client = new ResourceClient(bed.transport, widgets);
    await using follower = follow(bed);
    await follower.informer.waitForSync(5000);
    await eventually('a watch', () => bed.server.watches.size === 1);
    bed.server.watches.damage('widgets.test.example.com');
    await client.create({ metadata: { namespace: 'default', name: 'damaged' } });
    await client.create({ metadata: { namespace: 'default', name: 'next' } });
    await eventually('the object', () => follower.informer.lister.get('default/damaged') !== undefined);
  });

  it('ignores an event that is older than what it has seen', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    await using follower = follow(bed);
    await follower.informer.waitForSync(5000);
    const name = { namespace: 'default', name: 'a' };
    const old = await client.create({ metadata: name, spec: { size: 1 } });
    const shown = ({ metadata }: Widget): Promise<void> =>
      eventually('the version', () => follower.informer.hasSeen(metadata.resourceVersion ?? ''));
    const fresh = await client.patch(name, { spec: { size: 2 } });
    await shown(fresh);
    const inject = (type: string, object: Widget): void =>
      bed.server.watches.inject('widgets.test.example.com', `${JSON.stringify({ type, object })}\n`);
    inject('MODIFIED', old);
    inject('DELETED', old);
    const last = await client.patch(name, { spec: { size: 3 } });
    await shown(last);
    expect(follower.informer.lister.get('default/a')?.spec).toEqual({ size: 3 });
    expect([...follower.reported.values()]).toEqual(['3']);
    expect(follower.faults).toEqual([]);
  });

  it('follows some namespaces, each from its own version, and nothing of others', async () => {
    await using bed = await testBed({ bookmarkMs: 60_000 });
    const client = new ResourceClient(bed.transport, widgets);
    const create = (namespace: string, name: string): Promise<Widget> =>
      client.create({ metadata: { namespace, name }, spec: { size: 1 } });
    const namespaces = new ResourceClient(bed.transport, defineResource('v1', 'Namespace', 'namespaces', false));
    for (const name of ['a', 'b', 'c']) await namespaces.create({ metadata: { name } });
    await create('a', 'first');
    await create('c', 'first');
    await using follower = follow(bed, { namespaces: ['a', 'b'] });
    const { informer } = follower;
    await informer.waitForSync(5000);
    expect(informer.lister.list().map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)).toEqual(['a/first']);
    // A version that b shows proves nothing about a; and a namespace that is not followed is not waited for.
    const inB = await create('b', 'second');
    await eventually('the second', () => informer.hasSeen(inB.metadata.resourceVersion ?? '', 'b/second'));
    expect(informer.hasSeen(inB.metadata.resourceVersion ?? '', 'a/first')).toBe(false);
    expect(informer.hasSeen(inB.metadata.resourceVersion ?? '')).toBe(false);
    expect(informer.hasSeen('999999', 'c/first')).toBe(true);
    await client.delete({ namespace: 'a', name: 'first' });
    // A new list of one namespace lets go of nothing in the other one.
    bed.server.compact();
    bed.server.watches.disconnect();
    await eventually('the first is gone', () => informer.lister.size === 1);
    expect(informer.lister.get('b/second')?.metadata.uid).toBe(inB.metadata.uid);
    await eventually('both are followed', () => informer.state === 'watching');
    expect(informer.lister.size).toBe(1);
    const followed = bed.server.requests.filter(({ verb }) => verb === 'list' || verb === 'watch');
    expect(new Set(followed.map(({ namespace }) => namespace))).toEqual(new Set(['a', 'b']));
    expect(follower.faults).toEqual([]);
  });

  it('stops during a list without opening a watch', async () => {
    await using bed = await testBed();
    bed.server.onRequest = ({ verb }) => (verb === 'list' ? { kind: 'delay', ms: 100 } : undefined);
    const follower = follow(bed, { watchList: false });
    await eventually('the list', () => bed.server.requests.length > 0);
    await follower[Symbol.asyncDispose]();
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(bed.server.requests.map((request) => request.verb)).toEqual(['list']);
    expect(follower.informer.state).toBe('stopped');
  });
});
