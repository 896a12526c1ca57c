import { describe, expect, it } from 'vitest';
import { ApiError, isAlreadyExists, isConflict, isInvalid, isNotFound, KubeError, ResourceClient } from '@agentfleet/kube';
import { configMaps, widgets, type ConfigMap, type Environment, type Widget } from './environment.ts';

async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error('it succeeded'),
    (error: unknown) => error,
  );
}

/** Create, read, update, delete. */
export function objectsContract(environment: () => Environment): void {
  const of = (): { maps: ResourceClient<ConfigMap>; things: ResourceClient<Widget>; namespace: string } => {
    const { transport, namespace } = environment();
    return { maps: new ResourceClient(transport, configMaps), things: new ResourceClient(transport, widgets), namespace };
  };
  const map = (name: string, data: Record<string, string> = {}): ConfigMap => ({ metadata: { name, namespace: of().namespace }, data });

  describe('objects', () => {
    it('a created object has uid, version, creation time and reads back', async () => {
      const { maps, namespace } = of();
      const made = await maps.create(map('made', { a: '1' }));
      expect(made.metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
      expect(made.metadata.resourceVersion).toMatch(/^[0-9]+$/);
      expect(made.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
      expect(await maps.get({ namespace, name: 'made' })).toEqual(made);
    });

    it('a second object of the name is AlreadyExists, an absent one NotFound', async () => {
      const { maps, namespace } = of();
      await maps.create(map('twice'));
      expect(isAlreadyExists(await failure(maps.create(map('twice'))))).toBe(true);
      expect(isNotFound(await failure(maps.get({ namespace, name: 'absent' })))).toBe(true);
      expect(await maps.find({ namespace, name: 'absent' })).toBeUndefined();
    });

    it('refuses a bad name, a version at creation, and a namespace that is not there', async () => {
      const { maps, namespace } = of();
      expect(isInvalid(await failure(maps.create(map('Bad_Name'))))).toBe(true);
      const versioned = { metadata: { name: 'versioned', namespace, resourceVersion: '1' } };
      expect(await failure(maps.create(versioned))).toMatchObject({ code: 500 });
      expect(isNotFound(await failure(maps.create({ metadata: { name: 'x', namespace: 'nowhere-at-all' } })))).toBe(true);
    });

    it('completes generateName', async () => {
      const { maps, namespace } = of();
      const made = await maps.create({ metadata: { generateName: 'gen-', namespace } });
      expect(made.metadata.name).toMatch(/^gen-[a-z0-9]{5}$/);
    });

    it('an update of an old version is a conflict and changes nothing', async () => {
      const { maps, namespace } = of();
      const old = await maps.create(map('stale', { a: '1' }));
      const fresh = await maps.update({ ...old, data: { a: '2' } });
      const error = await failure(maps.update({ ...old, data: { a: '3' } }));
      expect(isConflict(error)).toBe(true);
      expect(error).toBeInstanceOf(ApiError);
      expect((error as ApiError).retryable).toBe(false);
      expect(await maps.get({ namespace, name: 'stale' })).toEqual(fresh);
    });

    it('a write that changes nothing makes no version', async () => {
      const { maps } = of();
      const made = await maps.create(map('same', { a: '1' }));
      const again = await maps.update(made);
      expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
    });

    it('a merge patch merges maps, drops nulls, and heeds version and uid in it', async () => {
      const { maps, namespace } = of();
      const made = await maps.create(map('merged', { a: '1', b: '2' }));
      const name = { namespace, name: 'merged' };
      const patched = await maps.patch(name, { data: { b: null, c: '3' } });
      expect(patched.data).toEqual({ a: '1', c: '3' });
      expect(
        isConflict(await failure(maps.patch(name, { metadata: { resourceVersion: made.metadata.resourceVersion }, data: { d: '4' } }))),
      ).toBe(true);
      const other = '00000000-0000-0000-0000-000000000000';
      expect(await failure(maps.patch(name, { metadata: { uid: other }, data: { d: '4' } }))).toMatchObject({ code: 422 });
    });

    it('a dry run answers the object and stores nothing', async () => {
      const { maps, namespace } = of();
      const made = await maps.create(map('dry'), { dryRun: true });
      expect(made.metadata.name).toBe('dry');
      expect(await maps.find({ namespace, name: 'dry' })).toBeUndefined();
    });

    it('deletes only the incarnation that the precondition names', async () => {
      const { maps, namespace } = of();
      const made = await maps.create(map('once'));
      const name = { namespace, name: 'once' };
      const wrong = await failure(maps.delete(name, { uid: '00000000-0000-0000-0000-000000000000' }));
      expect(isConflict(wrong)).toBe(true);
      await maps.delete(name, { uid: made.metadata.uid ?? '' });
      expect(await maps.find(name)).toBeUndefined();
    });

    it('a finalizer keeps an object, terminating, until it is removed', async () => {
      const { maps, namespace } = of();
      const name = { namespace, name: 'held' };
      await maps.create({ metadata: { name: 'held', namespace, finalizers: ['contract.example.com/hold'] } });
      await maps.delete(name);
      const held = await maps.get(name);
      expect(held.metadata.deletionTimestamp).toBeDefined();
      expect(
        await failure(maps.patch(name, { metadata: { finalizers: ['contract.example.com/hold', 'contract.example.com/more'] } })),
      ).toMatchObject({ code: 422 });
      await maps.patch(name, { metadata: { finalizers: [], resourceVersion: held.metadata.resourceVersion } });
      expect(await maps.find(name)).toBeUndefined();
    });

    it('deletes a collection by selector', async () => {
      const { maps, namespace } = of();
      for (const [name, group] of [
        ['c1', 'x'],
        ['c2', 'x'],
        ['c3', 'y'],
      ] as const)
        await maps.create({ metadata: { name, namespace, labels: { collect: group } } });
      await maps.deleteCollection({ namespace, labelSelector: 'collect=x' });
      const left = await maps.list({ namespace, labelSelector: 'collect' });
      expect(left.map((item) => item.metadata.name)).toEqual(['c3']);
    });

    it('an abort rejects at once with AF_STOPPED', async () => {
      const { maps, namespace } = of();
      const error = await failure(maps.get({ namespace, name: 'x' }, { signal: AbortSignal.abort() }));
      expect(error).toBeInstanceOf(KubeError);
      expect((error as KubeError).code).toBe('AF_STOPPED');
    });
  });

  describe('status', () => {
    it('is dropped by writes to the object, and the rest by writes to the status', async () => {
      const { things, namespace } = of();
      const made = await things.create({ metadata: { name: 'apart', namespace }, spec: { size: 1 }, status: { phase: 'No' } });
      expect(made.status).toBeUndefined();
      expect(made.metadata.generation).toBe(1);
      const updated = await things.update({ ...made, spec: { size: 9 }, status: { phase: 'Yes' } }, { subresource: 'status' });
      expect(updated.status).toEqual({ phase: 'Yes' });
      expect(updated.spec).toEqual({ size: 1 });
      expect(updated.metadata.generation).toBe(1);
      const grown = await things.update({ ...updated, spec: { size: 2 }, status: { phase: 'Maybe' } });
      expect(grown.status).toEqual({ phase: 'Yes' });
      expect(grown.metadata.generation).toBe(2);
      const labelled = await things.patch({ namespace, name: 'apart' }, { metadata: { labels: { a: 'b' } } });
      expect(labelled.metadata.generation).toBe(2);
    });
  });
}
