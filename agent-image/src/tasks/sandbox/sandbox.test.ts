import { describe, expect, it } from 'vitest';
import { TokenSource } from '@agentfleet/kube';
import { VirtualClock } from '@agentfleet/kube/testing';
import type { AgentTask } from '@agentfleet/protocol/api';
import { floorOf, probed, tooWeak, SandboxPod } from './connect.ts';

describe('tokens for sandboxes', () => {
  const pod = { name: 'worker-0', namespace: 'platform', uid: 'u' };

  function bench(lifeMs = 3_600_000) {
    const clock = new VirtualClock();
    const state = { asked: 0, fail: false };
    const client = {
      createSubresource: (): Promise<unknown> => {
        state.asked += 1;
        if (state.fail) return Promise.reject(new Error('no'));
        const expirationTimestamp = new Date(clock.now() + lifeMs).toISOString();
        return Promise.resolve({ status: { token: `t${state.asked}`, expirationTimestamp } });
      },
    } as unknown as ConstructorParameters<typeof TokenSource>[0]['client'];
    return { clock, state, source: new TokenSource({ client, pod, account: { namespace: pod.namespace, name: 'worker' }, clock }) };
  }

  it('are kept until 80 % of their life, one for each sandbox, asked for once at a time', async () => {
    const { clock, source, state } = bench();
    expect(await Promise.all([source.token('a'), source.token('a'), source.token('b')])).toEqual(['t1', 't1', 't2']);
    await clock.advance(0.79 * 3_600_000);
    expect(await source.token('a')).toBe('t1');
    await clock.advance(0.02 * 3_600_000);
    expect(await source.token('a')).toBe('t3');
    source.forget('a');
    expect(await source.token('a')).toBe('t4');
    expect(state.asked).toBe(4);
  });

  it('go by the life that the server gives', async () => {
    const { clock, source } = bench(600_000);
    await source.token('a');
    await clock.advance(490_000);
    expect(await source.token('a')).toBe('t2');
  });

  it('stay in use when they cannot be renewed; the first one must be had', async () => {
    const { clock, source, state } = bench();
    state.fail = true;
    await expect(source.token('a')).rejects.toThrow('no');
    state.fail = false;
    expect(await source.token('a')).toBe('t2');
    await clock.advance(3_000_000);
    state.fail = true;
    expect(await Promise.all([source.token('a'), source.token('a')])).toEqual(['t2', 't2']);
    expect(await source.token('a')).toBe('t2');
    expect(state.asked).toBe(3);
    state.fail = false;
    await clock.advance(10_000);
    expect(await source.token('a')).toBe('t4');
  });
});

describe('the sandbox pod', () => {
  const open = { uid: 'u-1', address: '10.0.0.7' };
  const reported = (sandbox?: typeof open, name = 'fix-1'): AgentTask =>
    ({ status: { assignment: { sandbox: name }, ...(sandbox && { sandbox }) } }) as unknown as AgentTask;
  const why = ({ lost }: SandboxPod): unknown => (lost.aborted ? (lost.reason as Error).message : undefined);

  it('is awaited until the operator reports its address', async () => {
    const pod = new SandboxPod('fix-1');
    pod.see(reported());
    const waiting = pod.ready(new AbortController().signal);
    pod.see(reported(open, 'fix-0'));
    pod.see(reported(open));
    expect(await waiting).toEqual(open);
    expect(await pod.ready(new AbortController().signal)).toEqual(open);
    expect(why(pod)).toBeUndefined();
  });

  it.for([
    [undefined, 'fix-1', 'sandbox pod fix-1 is lost: it was deleted, or has ended'],
    [{ ...open, uid: 'u-2' }, 'fix-2', 'sandbox pod fix-1 is lost: the task has another one, fix-2'],
  ] as const)('is lost when it is reported no more, and not before it was told', ([next, name, message]) => {
    const pod = new SandboxPod('fix-1');
    pod.see(reported());
    pod.see(reported(open));
    pod.see(reported({ ...open }));
    expect(why(pod)).toBeUndefined();
    pod.see(reported(next, name));
    expect(why(pod)).toBe(message);
  });

  it('waits no longer than it may', async () => {
    const stop = new AbortController();
    const waiting = new SandboxPod('fix-1').ready(stop.signal);
    stop.abort('Quiesce');
    await expect(waiting).rejects.toBe('Quiesce');
  });
});

describe('the wall', () => {
  const task = (minIsolation?: string): AgentTask => ({ spec: { policy: { minIsolation } } }) as unknown as AgentTask;

  it.for([
    ['Container', undefined, 'Container'],
    ['Seccomp', 'Landlock', 'Landlock'],
    ['UserNamespace', 'Landlock', 'UserNamespace'],
  ] as const)('of a pool with %s and a task with %s is %s', ([minIsolation, own, floor]) => {
    expect(floorOf({ minIsolation }, task(own))).toBe(floor);
  });

  it('is unknown while it is probed', () => {
    const isolation = {
      level: 'Landlock',
      seccomp: true,
      landlockABI: 5,
      userNamespace: false,
      runtimeClass: null,
      guestKernel: null,
      noNewPrivs: true,
      capEff: '0',
    } as const;
    const network = { state: 'Enforced', probedAt: null, targets: [] } as const;
    expect(probed({ isolation: null, network })).toBeUndefined();
    expect(probed({ isolation, network: { ...network, state: 'Probing' } })).toBeUndefined();
    expect(probed({ isolation, network })).toEqual({ level: 'Landlock', network: 'Enforced' });
  });

  it('may have an unenforced network only where the pool allows it', () => {
    const found = { level: 'Landlock', network: 'NotEnforced' } as const;
    expect(tooWeak(found, 'Seccomp', true)).toBeUndefined();
    expect(tooWeak(found, 'Seccomp', false)?.reason).toBe('NetworkNotEnforced');
    expect(tooWeak({ level: 'Seccomp', network: 'Enforced' }, 'Landlock', true)?.message).toMatch(/isolation Seccomp and needs Landlock/);
    const alias = { level: 'UserNamespace', network: 'Enforced', runtimeClass: 'fast' } as const;
    expect(tooWeak(alias, 'RuntimeClass', true)?.message).toMatch(/not known to be another one than the node's.*RuntimeClass fast/);
  });
});
