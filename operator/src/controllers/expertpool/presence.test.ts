import { describe, expect, test } from 'vitest';
import type { KubeObject } from '@agentfleet/kube';
import { resources } from '../../runtime/resources.ts';
import type { Manifest } from '../../operands/manifest.ts';
import { isGone, makesAnew } from './children.ts';

const { signal } = new AbortController();
const owner: KubeObject = { apiVersion: 'v1', kind: 'Owner', metadata: { name: 'a', namespace: 'n', uid: '1' } };
const answers = (found: KubeObject | undefined) => ({ find: () => Promise.resolve(found) });

describe('an owner', () => {
  test('is there while the server has the very same and does not remove it', async () => {
    expect(await isGone(answers(owner), owner, signal)).toBe(false);
    expect(await isGone(answers(undefined), owner, signal)).toBe(true);
    expect(await isGone(answers({ ...owner, metadata: { ...owner.metadata, uid: '2' } }), owner, signal)).toBe(true);
    const going = { ...owner.metadata, deletionTimestamp: '2030-01-01T00:00:00Z' };
    expect(await isGone(answers({ ...owner, metadata: going }), owner, signal)).toBe(true);
  });

  test('is asked for only when something is to be made', () => {
    const object = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's', namespace: 'n', labels: {} } };
    const wanted: readonly Manifest[] = [{ resource: resources.services, object }];
    expect(makesAnew(wanted, [{ resource: resources.services, object }])).toBe(false);
    expect(makesAnew(wanted, [{ resource: resources.deployments, object }])).toBe(true);
    expect(makesAnew(wanted, [])).toBe(true);
  });
});
