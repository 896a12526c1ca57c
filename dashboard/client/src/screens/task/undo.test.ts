import type { AgentTask } from '@agentfleet/protocol/api';
import { expect, test } from 'vitest';
import { undoName, undoTask } from './undo.tsx';

test.each([
  ['fix', [], 'fix-undo'],
  ['fix', ['fix-undo', 'fix-undo-2'], 'fix-undo-3'],
  [`${'x'.repeat(57)}-y.z`, [], `${'x'.repeat(57)}-undo`],
  ['x'.repeat(63), [`${'x'.repeat(58)}-undo`], `${'x'.repeat(56)}-undo-2`],
])('the undo of %s beside %j has a name that is free and not too long', (name, known, made) => {
  expect(undoName(name, (one) => known.includes(one))).toBe(made);
  expect(made.length).toBeLessThanOrEqual(63);
});

test('the undo of a task has its steps of setup with what they need: hosts, and time', () => {
  const setup = [{ name: 'deps', command: ['npm', 'ci'], network: 'Allowed', timeoutSeconds: 5000 }];
  const network = { mode: 'Allowed', hosts: [{ host: 'registry.npmjs.org', port: 443 }] };
  const workspace = { type: 'Git', git: { url: 'https://example.com/a', ref: 'main' } };
  const spec = { workspace, setup, policy: { profile: 'Permissive', network }, deadlineSeconds: 7200, budget: {} };
  const task = { metadata: { name: 'fix', namespace: 'ns' }, spec } as unknown as AgentTask;
  expect(undoTask(task, 'diff', { name: 'fix-undo-2', ref: 'agentfleet/fix' })).toMatchObject({
    metadata: { name: 'fix-undo-2' },
    spec: { workspace: { git: { ref: 'agentfleet/fix' } }, setup, policy: { network }, deadlineSeconds: 7200 },
  });
});
