import type { ExpertPool, Sandbox } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import type { RuntimeClass } from '../../runtime/resources.ts';
import { type ClusterCapabilities, mergedTemplate, sandboxNotAllowed } from './nodeAbility.ts';
import { newPool, newTask } from './testing/objects.ts';

const runtimeClass = (name: string, handler: string): RuntimeClass => ({ metadata: { name }, handler });
const capabilities: ClusterCapabilities = {
  nodes: [],
  runtimeClasses: [
    runtimeClass('gvisor', 'runsc'),
    runtimeClass('kata', 'kata-qemu'),
    runtimeClass('gpu', 'nvidia'),
    runtimeClass('fast', 'crun'),
  ],
};

const pool = (policy: Partial<ExpertPool['spec']['policy']> = {}, template?: Sandbox): ExpertPool =>
  newPool({ policy, ...(template === undefined ? {} : { sandbox: { template } }) });

const refusal = (sandbox: Sandbox, of = pool()): string | undefined => sandboxNotAllowed(newTask('one', { sandbox }), of, capabilities);

const opened = { podMetadata: { labels: { app: 'web' } } };

describe('what a task may say of its sandbox', () => {
  test.each<readonly [string, Sandbox, string, string, Partial<ExpertPool['spec']['policy']>]>([
    ['a label', opened, 'podMetadata.labels', 'app', { allowedPodLabels: ['app'] }],
    [
      'an annotation',
      { podMetadata: { annotations: { 'x/y': 'z' } } },
      'podMetadata.annotations',
      'x/y',
      { allowedPodAnnotations: ['x/y'] },
    ],
    ['a node label', { nodeSelector: { role: 'infra' } }, 'nodeSelector', 'role', { allowedNodeLabels: ['role'] }],
    ['a taint', { tolerations: [{ key: 'gpu', operator: 'Exists' }] }, 'tolerations', 'gpu', { allowedTolerations: ['gpu'] }],
    ['a priority', { priorityClassName: 'top' }, 'priorityClassName', 'top', { allowedPriorityClasses: ['top'] }],
    ['a RuntimeClass', { runtimeClassName: 'gpu' }, 'runtimeClassName', 'gpu', { allowedRuntimeClasses: ['gpu'] }],
  ])('holds %s only where the pool lists it', (_what, sandbox, field, value, policy) => {
    const list = Object.keys(policy)[0] ?? '';
    expect(refusal(sandbox)).toBe(
      `spec.sandbox.${field} has ${value}, which ExpertPool platform/coding does not let tasks choose; create the task again without it, or add ${value} to spec.policy.${list} of the pool`,
    );
    expect(refusal(sandbox, pool({ [list]: ['another'] }))).toContain(`add ${value}`);
    expect(refusal(sandbox, pool(policy))).toBeUndefined();
  });

  test.each<readonly [string, Sandbox]>([
    ['nothing', {}],
    ['an image, sizes and resources', { image: 'tools:1', workspaceSizeLimit: '1Gi', resources: { limits: { memory: '1Gi' } } }],
    ['empty fields', { podMetadata: { labels: {} }, nodeSelector: {}, tolerations: [] }],
    ['a kernel of its own', { runtimeClassName: 'gvisor' }],
    ['a machine of its own', { runtimeClassName: 'kata' }],
    ['a RuntimeClass that is not there, which is refused as such', { runtimeClassName: 'none' }],
  ])('may be %s', (_what, sandbox) => {
    expect(refusal(sandbox)).toBeUndefined();
  });

  test('is never every taint, and never another runtime than the pool has', () => {
    const all: Sandbox = { tolerations: [{ operator: 'Exists' }] };
    expect(refusal(all, pool({ allowedTolerations: ['gpu'] }))).toContain('name the keys of the taints');
    expect(refusal({ runtimeClassName: 'fast' }, pool({}, { runtimeClassName: 'gvisor' }))).toContain('allowedRuntimeClasses');
    expect(refusal({ runtimeClassName: 'fast' }, pool({}, { runtimeClassName: 'fast' }))).toBeUndefined();
  });

  test('is added to what the pool says, and takes nothing of it away', () => {
    const template: Sandbox = {
      image: 'a',
      nodeSelector: { sandboxes: 'yes-please' },
      tolerations: [{ key: 'sandboxes', operator: 'Exists' }],
      podMetadata: { labels: { team: 'a' }, annotations: { b: 'c' } },
    };
    const empty: Sandbox = { image: 'b', nodeSelector: {}, tolerations: [], podMetadata: {} };
    expect(mergedTemplate(newTask('one', { sandbox: empty }), pool({}, template))).toEqual({ ...template, image: 'b' });
    const more: Sandbox = { nodeSelector: { zone: 'z' }, tolerations: [{ key: 'gpu', operator: 'Exists' }], ...opened };
    expect(mergedTemplate(newTask('one', { sandbox: more }), pool({}, template))).toMatchObject({
      nodeSelector: { sandboxes: 'yes-please', zone: 'z' },
      tolerations: [{ key: 'sandboxes' }, { key: 'gpu' }],
      podMetadata: { labels: { team: 'a', app: 'web' }, annotations: { b: 'c' } },
    });
    expect(mergedTemplate(newTask('one'), pool())).toEqual({});
  });
});
