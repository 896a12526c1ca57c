import { describe, expect, it } from 'vitest';
import type { Pod } from '../runtime/resources.ts';
import { podTrouble } from './podTrouble.ts';

/** A pod whose only container waits to be started again after it ended so. */
function crashed(terminated: object): Pod {
  const container = {
    name: 'engine',
    ready: false,
    restartCount: 3,
    state: { waiting: { reason: 'CrashLoopBackOff' } },
    lastState: { terminated },
  };
  return { metadata: { name: 'one' }, spec: {}, status: { phase: 'Running', containerStatuses: [container] } } as unknown as Pod;
}

describe('the trouble of a pod', () => {
  it('is that of its memory limit, with the cure', () => {
    expect(podTrouble(crashed({ exitCode: 137, reason: 'OOMKilled' }))).toBe(
      'container engine: CrashLoopBackOff after exit code 137 (OOMKilled); it took more memory than its limit: raise resources.container.limits.memory',
    );
  });

  it.each([
    'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.2 GiB',
    'ValueError: No available memory for the cache blocks. Try increasing gpu_memory_utilization',
    'Free memory on device (3.1/39.4 GiB) is less than desired GPU memory utilization (0.45, 17.7 GiB)',
  ])('is that of its GPU where the engine logs: %s', (message) => {
    expect(podTrouble(crashed({ exitCode: 1, reason: 'Error', message }))).toContain(
      'give a larger resources.memory.budget or fewer kvTokens',
    );
  });

  it('is its last message where it ended by something else', () => {
    expect(podTrouble(crashed({ exitCode: 2, reason: 'Error', message: 'no such\nfile' }))).toBe(
      'container engine: CrashLoopBackOff after exit code 2: no such file',
    );
  });

  it('is reported of one that has just ended, too', () => {
    const pod = crashed({});
    const [container] = pod.status?.containerStatuses ?? [];
    const ended = { ...container, state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } };
    const now = { ...pod, status: { ...pod.status, containerStatuses: [ended] } } as unknown as Pod;
    expect(podTrouble(now)).toBe(
      'container engine ended with 137 (OOMKilled); it took more memory than its limit: raise resources.container.limits.memory',
    );
  });
});
