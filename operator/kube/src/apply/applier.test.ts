import { describe, expect, it } from 'vitest';
import { Informer } from '../cache/informer.ts';
import { ResourceClient } from '../client/client.ts';
import { systemClock } from '../runtime/clock.ts';
import { silentLog } from '../runtime/log.ts';
import { eventually, testBed, widgets, type Bed, type Widget } from '../testing/widget.ts';
import { Applier, contains, hasFinalizer, removeFinalizer, isControlledBy, controllerReference } from './applier.ts';

interface Scene extends AsyncDisposable {
  readonly applier: Applier<Widget>;
  readonly client: ResourceClient<Widget>;
  readonly writes: () => number;
  readonly seen: () => Promise<void>;
}

async function scene(bed: Bed): Promise<Scene> {
  const client = new ResourceClient(bed.transport, widgets);
  const informer = new Informer<Widget>({
    transport: bed.transport,
    resource: widgets,
    clock: systemClock,
    random: Math.random,
    log: silentLog,
  });
  const stop = new AbortController();
  const running = informer.run(stop.signal);
  await informer.waitForSync(5000);
  const close = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  return {
    applier: new Applier({ client, view: informer, fieldManager: 'test' }),
    client,
    writes: () => bed.server.writes.length,
    seen: () => eventually('the cache', () => informer.hasSeen(bed.server.version)),
    [Symbol.asyncDispose]: close,
  };
}

const metadata = { name: 'a', namespace: 'default' };

describe('Applier', () => {
  it('writes once, however often and however soon the same is applied', async () => {
    await using bed = await testBed();
    await using stage = await scene(bed);
    const first = await stage.applier.apply({ metadata, spec: { size: 1 } });
    expect(first.written).toBe(true);
    expect((await stage.applier.apply({ metadata, spec: { size: 1 } })).written).toBe(false);
    await stage.seen();
    const again = await stage.applier.apply({ spec: { size: 1 }, metadata });
    expect(again).toMatchObject({ written: false, object: { spec: { size: 1 } } });
    expect(stage.writes()).toBe(1);
  });

  it('writes when the declaration changes, also when it only drops a field', async () => {
    await using bed = await testBed();
    await using stage = await scene(bed);
    await stage.applier.apply({ metadata, spec: { size: 1, list: ['x'] } });
    await stage.seen();
    const result = await stage.applier.apply({ metadata, spec: { size: 1 } });
    expect(result.written).toBe(true);
    expect(result.object?.spec).toEqual({ size: 1 });
  });

  it('writes on the version that was decided from or not at all, and what is in place stays so on a newer one', async () => {
    await using bed = await testBed();
    await using stage = await scene(bed);
    const old = (await stage.client.create({ metadata })).metadata.resourceVersion;
    const newer = await stage.client.patch(metadata, { metadata: { labels: { theirs: 'yes' } } }, { fieldManager: 'other' });
    const applying = stage.applier.apply({ metadata, spec: { size: 1 } }, undefined, old);
    await expect(applying).rejects.toMatchObject({ code: 409 });
    const made = await stage.applier.apply({ metadata, spec: { size: 1 } }, undefined, newer.metadata.resourceVersion);
    expect(made.written).toBe(true);
    await stage.seen();
    const again = await stage.applier.apply({ metadata, spec: { size: 1 } }, undefined, made.object?.metadata.resourceVersion);
    expect(again.written).toBe(false);
  });

  it('puts drift right, and leaves alone what it does not declare', async () => {
    await using bed = await testBed();
    await using stage = await scene(bed);
    await stage.applier.apply({ metadata, spec: { size: 1 } });
    await stage.client.patch(metadata, { metadata: { labels: { theirs: 'yes' } } }, { fieldManager: 'other' });
    await stage.seen();
    expect((await stage.applier.apply({ metadata, spec: { size: 1 } })).written).toBe(false);
    await stage.client.patch(metadata, { spec: { size: 9 } }, { fieldManager: 'other' });
    await stage.seen();
    const fixed = await stage.applier.apply({ metadata, spec: { size: 1 } });
    expect(fixed.object).toMatchObject({ spec: { size: 1 }, metadata: { labels: { theirs: 'yes' } } });
  });

  it('makes an object anew that was deleted, or deleted and made', async () => {
    await using bed = await testBed();
    await using stage = await scene(bed);
    await stage.applier.apply({ metadata, spec: { size: 1 } });
    await stage.client.delete(metadata);
    await stage.seen();
    expect((await stage.applier.apply({ metadata, spec: { size: 1 } })).written).toBe(true);
    await stage.client.delete(metadata);
    await stage.client.create({ metadata, spec: { size: 1 } });
    await stage.seen();
    expect((await stage.applier.apply({ metadata, spec: { size: 1 } })).written).toBe(true);
  });

  it('writes again after a lost answer', async () => {
    await using bed = await testBed();
    await using stage = await scene(bed);
    bed.server.onRequest = ({ verb }) => (verb === 'apply' ? { kind: 'lost-response' } : undefined);
    await expect(stage.applier.apply({ metadata, spec: { size: 1 } })).rejects.toMatchObject({ code: 'AF_API_UNREACHABLE' });
    bed.server.onRequest = undefined;
    await stage.seen();
    expect((await stage.applier.apply({ metadata, spec: { size: 1 } })).written).toBe(true);
    expect(bed.server.objects(widgets)).toHaveLength(1);
  });

  it('does not take for granted what was in place before a write whose answer was lost', async () => {
    await using bed = await testBed();
    await using stage = await scene(bed);
    await stage.applier.apply({ metadata, spec: { size: 1 } });
    await stage.seen();
    bed.server.watches.freeze('widgets.test.example.com');
    bed.server.onRequest = ({ verb }) => (verb === 'apply' ? { kind: 'lost-response' } : undefined);
    await stage.applier.apply({ metadata, spec: { size: 2 } }).catch(() => {});
    bed.server.onRequest = undefined;
    expect((await stage.applier.apply({ metadata, spec: { size: 1 } })).written).toBe(true);
    expect(bed.server.objects(widgets)[0]?.spec).toEqual({ size: 1 });
  });

  it('contains: every declared field, lists of the same length, more fields allowed', () => {
    expect(contains({ a: 1, b: { c: [{ d: 1, e: 2 }] } }, { b: { c: [{ d: 1 }] } })).toBe(true);
    expect(contains({ b: { c: [{ d: 1 }, { d: 2 }] } }, { b: { c: [{ d: 1 }] } })).toBe(false);
    expect(contains({ a: '1' }, { a: 1 })).toBe(false);
    expect(contains({}, { a: undefined })).toBe(true);
  });
});

describe('finalizers and owners', () => {
  it('removes a finalizer only from what was read', async () => {
    await using bed = await testBed();
    const client = new ResourceClient(bed.transport, widgets);
    const held = await client.create({ metadata: { ...metadata, finalizers: ['x.example.com/hold'] } });
    expect(hasFinalizer(held, 'x.example.com/hold')).toBe(true);
    await client.delete(metadata);
    await expect(removeFinalizer(client, held, 'x.example.com/hold')).rejects.toMatchObject({ code: 409 });
    const dying = await client.get(metadata);
    await removeFinalizer(client, dying, 'x.example.com/hold');
    expect(await client.find(metadata)).toBeUndefined();
  });

  it('knows its controller by uid', () => {
    const owner = (uid: string): Widget => ({ apiVersion: 'v1', kind: 'Widget', metadata: { name: 'o', uid, namespace: 'default' } });
    const owned = { metadata: { name: 'c', namespace: 'default', ownerReferences: [controllerReference(owner('1'))] } };
    expect(isControlledBy(owned, owner('1'))).toBe(true);
    expect(isControlledBy(owned, owner('2'))).toBe(false);
  });
});
