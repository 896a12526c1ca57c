import { describe, expect, it } from 'vitest';
import { isApiError, ResourceClient } from '@agentfleet/kube';
import { configMaps, widgets, type ConfigMap, type Environment, type Widget } from './environment.ts';

/** Server-side apply. */
export function applyContract(environment: () => Environment): void {
  const of = (): { maps: ResourceClient<ConfigMap>; things: ResourceClient<Widget>; namespace: string } => {
    const { transport, namespace } = environment();
    return { maps: new ResourceClient(transport, configMaps), things: new ResourceClient(transport, widgets), namespace };
  };
  const a = { fieldManager: 'a' };
  const b = { fieldManager: 'b' };

  describe('apply', () => {
    it('creates, then merges the declarations of several managers', async () => {
      const { maps, namespace } = of();
      const metadata = { name: 'shared', namespace };
      await maps.apply({ metadata, data: { a: '1' } }, a);
      const both = await maps.apply({ metadata, data: { b: '2' } }, b);
      expect(both.data).toEqual({ a: '1', b: '2' });
      expect(both.metadata.managedFields?.map((entry) => `${entry.manager} ${entry.operation}`).sort()).toEqual(['a Apply', 'b Apply']);
    });

    it('removes fields that a manager no longer declares, unless another one does', async () => {
      const { maps, namespace } = of();
      const metadata = { name: 'dropped', namespace };
      await maps.apply({ metadata, data: { mine: '1', ours: '2' } }, a);
      await maps.apply({ metadata, data: { ours: '2' } }, b);
      const left = await maps.apply({ metadata, data: { more: '3' } }, a);
      expect(left.data).toEqual({ ours: '2', more: '3' });
    });

    it('refuses to take a field from another manager unless forced; the same value is no conflict', async () => {
      const { maps, namespace } = of();
      const metadata = { name: 'fought', namespace };
      await maps.apply({ metadata, data: { k: '1' } }, a);
      await maps.apply({ metadata, data: { k: '1' } }, { ...b, force: false });
      const error: unknown = await maps.apply({ metadata, data: { k: '2' } }, { ...b, force: false }).catch((thrown: unknown) => thrown);
      expect(isApiError(error) && error.reason).toBe('Conflict');
      expect(isApiError(error) && error.details?.causes?.[0]).toMatchObject({ reason: 'FieldManagerConflict', field: '.data.k' });
      const taken = await maps.apply({ metadata, data: { k: '2' } }, b);
      expect(taken.data).toEqual({ k: '2' });
      const released = await maps.apply({ metadata, data: {} }, a);
      expect(released.data).toEqual({ k: '2' });
    });

    it('the same declaration again makes no version', async () => {
      const { maps, namespace } = of();
      const metadata = { name: 'again', namespace };
      const first = await maps.apply({ metadata, data: { k: '1' } }, a);
      const second = await maps.apply({ metadata, data: { k: '1' } }, a);
      expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    });

    it('a field that an update changed belongs to the updater', async () => {
      const { maps, namespace } = of();
      const metadata = { name: 'updated', namespace };
      await maps.apply({ metadata, data: { k: '1' } }, a);
      await maps.patch(metadata, { data: { k: '9' } }, { fieldManager: 'hand' });
      await expect(maps.apply({ metadata, data: { k: '1' } }, { ...a, force: false })).rejects.toMatchObject({ code: 409 });
      expect((await maps.apply({ metadata, data: { k: '1' } }, a)).data).toEqual({ k: '1' });
    });

    it('merges lists of maps by their key', async () => {
      const { things, namespace } = of();
      const metadata = { name: 'parts', namespace };
      await things.apply({ metadata, spec: { parts: [{ name: 'x', count: 1 }] } }, a);
      const both = await things.apply({ metadata, spec: { parts: [{ name: 'y', count: 2 }] } }, b);
      expect(both.spec?.parts).toEqual([
        { name: 'x', count: 1 },
        { name: 'y', count: 2 },
      ]);
      const left = await things.apply({ metadata, spec: { parts: [{ name: 'z' }] } }, a);
      expect(left.spec?.parts?.map((part) => part.name).sort()).toEqual(['y', 'z']);
    });

    it('a status is applied apart, condition by condition', async () => {
      const { things, namespace } = of();
      const metadata = { name: 'told', namespace };
      const condition = (type: string): object => ({
        type,
        status: 'True',
        reason: 'Yes',
        message: '',
        lastTransitionTime: '2030-01-01T00:00:00Z',
      });
      await expect(things.applyStatus({ metadata, status: { phase: 'X' } }, a)).rejects.toMatchObject({ code: 404 });
      await things.apply({ metadata, spec: { size: 1 } }, a);
      await things.applyStatus({ metadata, status: { phase: 'X', conditions: [condition('A')] } }, a);
      const applied = await things.applyStatus({ metadata, status: { conditions: [condition('B')] } }, b);
      expect(applied.spec).toEqual({ size: 1 });
      expect(applied.status?.conditions?.map((one) => one.type)).toEqual(['A', 'B']);
      expect(applied.metadata.generation).toBe(1);
    });

    it('needs a field manager', async () => {
      const { transport, namespace } = environment();
      const path = `/api/v1/namespaces/${namespace}/configmaps/nobody`;
      const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'nobody' } };
      await expect(transport.request({ method: 'PATCH', path, body, contentType: 'application/apply-patch+yaml' })).rejects.toMatchObject({
        code: 422,
      });
    });
  });
}
