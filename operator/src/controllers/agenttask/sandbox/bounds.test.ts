import type { ExpertPool, Sandbox, SandboxTemplate } from '@agentfleet/protocol/api';
import { describe, expect, test } from 'vitest';
import type { RuntimeClass } from '../../../runtime/resources.ts';
import { type ClusterCapabilities, mergedTemplate, sandboxNotAllowed } from './capabilities.ts';
import { newPool, newTask } from '../testing/objects.ts';

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

const pool = (template?: SandboxTemplate): ExpertPool => newPool(template === undefined ? {} : { sandbox: { template } });

const refusal = (sandbox: Sandbox, of = pool()): string | undefined => sandboxNotAllowed(newTask('one', { sandbox }), of, capabilities);

describe('what a task may say of its sandbox', () => {
  test('holds no RuntimeClass of its own but that of the pool', () => {
    const sandbox = { runtimeClassName: 'gpu' };
    expect(refusal(sandbox)).toBe(
      'spec.sandbox.runtimeClassName has gpu, which ExpertPool platform/coding does not let tasks choose; create the task again without it, or for a pool that has gpu in spec.sandbox.template',
    );
    expect(refusal(sandbox, pool({ runtimeClassName: 'gpu' }))).toBeUndefined();
  });

  test.each<readonly [string, Sandbox]>([
    ['nothing', {}],
    ['an image, sizes and resources', { image: 'tools:1', workspaceSizeLimit: '1Gi', resources: { limits: { memory: '1Gi' } } }],
    ['a kernel of its own', { runtimeClassName: 'gvisor' }],
    ['a machine of its own', { runtimeClassName: 'kata' }],
    ['a RuntimeClass that is not there, which is refused as such', { runtimeClassName: 'none' }],
  ])('may be %s', (_what, sandbox) => {
    expect(refusal(sandbox)).toBeUndefined();
  });

  test('is never another runtime than the pool has', () => {
    expect(refusal({ runtimeClassName: 'fast' }, pool({ runtimeClassName: 'gvisor' }))).toContain('has fast in');
    expect(refusal({ runtimeClassName: 'fast' }, pool({ runtimeClassName: 'fast' }))).toBeUndefined();
  });

  test('replaces what the pool sets, and leaves the rest of its pod as it is', () => {
    const template: SandboxTemplate = {
      image: 'a',
      nodeSelector: { sandboxes: 'yes-please' },
      tolerations: [{ key: 'sandboxes', operator: 'Exists' }],
      podMetadata: { labels: { team: 'a' }, annotations: { b: 'c' } },
    };
    expect(mergedTemplate(newTask('one', { sandbox: { image: 'b' } }), pool(template))).toEqual({ ...template, image: 'b' });
    expect(mergedTemplate(newTask('one'), pool())).toEqual({});
  });
});
