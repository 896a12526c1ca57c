import { describe, expect, it } from 'vitest';
import { systemClock } from '@agentfleet/kube';
import { SandboxSession } from './sandboxSession.ts';
import type { Meter } from './meter.ts';
import type { AttemptContext } from './ports.ts';

/** SandboxSession whose keeper and durable log write down what they are asked, in order. */
function open(durable: () => Promise<void> = () => Promise.resolve()) {
  const order: string[] = [];
  const keeper = {
    note: (kind: string, { command }: { readonly command?: string }): Promise<void> => {
      order.push(`${kind} ${command ?? ''}`);
      return Promise.resolve();
    },
    declareSecrets: (secrets: readonly { readonly name: string }[]) => {
      order.push(`secrets ${secrets.map(({ name }) => name).join()}`);
      return Promise.resolve({ declared: secrets.length });
    },
    run: ({ command }: { readonly command: string }) => {
      order.push(`run ${command}`);
      return Promise.resolve({ stdout: '', stderr: '', end: { cpuMs: 1 } });
    },
  };
  const context = {
    keeper,
    clock: systemClock,
    signal: new AbortController().signal,
    assignment: { attempt: 1 },
    task: { spec: { policy: { network: { mode: 'Loopback' } } } },
    used: {},
    intentDurable: async () => {
      await durable();
      order.push('durable');
    },
  } as unknown as AttemptContext;
  const meter = { add: () => undefined } as unknown as Meter;
  const egress = { environment: {}, close: () => Promise.resolve() };
  return {
    order,
    session: new SandboxSession(context, meter, { roots: [{ name: 'workspace', path: '/workspace' }] }, () => Promise.resolve(egress)),
  };
}

const act = { action: 'sha256:1', state: 'root', candidate: 'c', once: true };
const reach = { mode: 'Allowed', hosts: [], rules: { open: [] }, environment: {} } as const;

describe('a command that may not be undone', () => {
  it.each([
    ['an act of an expert', { act }],
    ['one that may reach hosts', { reach }],
  ])('is declared, and the declaration is durable, before it runs: %s', async (_, more) => {
    const { order, session } = open();
    await session.exec({ command: 'git push', timeoutSeconds: 1, ...more });
    expect(order).toEqual(['Intent git push', 'durable', 'run git push']);
  });

  it('runs when the keeper knows what its environment keeps secret', async () => {
    const { order, session } = open();
    const known = { ...reach, environment: { npm_config__authToken: 'correct-horse-battery' } };
    await session.exec({ command: 'npm ci', timeoutSeconds: 1, reach: known });
    expect(order).toEqual(['Intent npm ci', 'durable', 'secrets npm_config__authToken', 'run npm ci']);
  });

  it('does not run when its declaration cannot be stored', async () => {
    const { order, session } = open(() => Promise.reject(new Error('the store is away')));
    await expect(session.exec({ command: 'rm -r legacy', timeoutSeconds: 1, act })).rejects.toThrow('the store is away');
    expect(order).toEqual(['Intent rm -r legacy']);
  });

  it('is not what checks are: they are not held up', async () => {
    const { order, session } = open();
    await session.exec({ command: 'npm test', timeoutSeconds: 1 });
    expect(order).toEqual(['run npm test']);
  });
});
