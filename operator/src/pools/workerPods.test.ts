import { expect, it } from 'vitest';
import { isWorkerPod } from './resolve.ts';

const own = { 'agentfleet.dev/component': 'worker', 'agentfleet.dev/pool': 'coding' };

it.each([
  ['a worker', own, 'coding-worker', true],
  ['a pod that has its labels only', own, 'default', false],
  ['a pod that has its labels and no account', own, undefined, false],
  ['a worker of another pool', { ...own, 'agentfleet.dev/pool': 'other' }, 'coding-worker', false],
  ['an expert', { ...own, 'agentfleet.dev/component': 'expert' }, 'coding-worker', false],
  ['any pod', {}, 'coding-worker', false],
] as const)('%s', (_, labels, serviceAccountName, expected) => {
  const spec = serviceAccountName === undefined ? {} : { serviceAccountName };
  expect(isWorkerPod({ metadata: { name: 'p', namespace: 'platform', labels }, spec })).toBe(expected);
});
