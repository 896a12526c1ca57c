// Real processes of the real entry: one supervisor, and servers that it starts.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { env, execPath, kill } from 'node:process';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import type { ChildState } from './child.ts';

const entry = join(import.meta.dirname, '..', 'main.ts');

let running: ChildProcess | null = null;
afterEach(async () => {
  const child = running;
  running = null;
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  // A test that failed may have left a server that hears no word.
  for (const pid of await pidsOf(child.pid)) kill(pid, 'SIGKILL');
  child.kill('SIGKILL');
  await once(child, 'exit');
});

/** Ports that were free a moment ago. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

const builtin = { AGENTFLEET_ENGINE: 'Builtin', AGENTFLEET_ROLES: 'Policy', AGENTFLEET_ARTIFACT: 'policy-v1' };
const synth = { AGENTFLEET_ENGINE: 'Synth', AGENTFLEET_ROLES: 'Generalist' };

/** A supervisor with these servers, and what it logs. */
async function start(children: readonly object[], more: Readonly<Record<string, string>> = {}) {
  const own = {
    AGENTFLEET_SUPERVISE: JSON.stringify(children),
    AGENTFLEET_LISTEN: '127.0.0.1:0',
    AGENTFLEET_AUTHENTICATION: 'None',
    AGENTFLEET_DRAIN_SECONDS: '1',
    ...more,
  };
  const child = spawn(execPath, [entry, 'supervise'], { env: { PATH: env['PATH'], ...own }, stdio: ['ignore', 'pipe', 'inherit'] });
  running = child;
  const lines: Record<string, unknown>[] = [];
  const listening = Promise.withResolvers<string>();
  createInterface({ input: child.stdout }).on('line', (line) => {
    const record = JSON.parse(line) as Record<string, unknown>;
    lines.push(record);
    if ('servers' in record) listening.resolve((record['addresses'] as readonly string[])[0] ?? '');
  });
  child.once('exit', () => listening.reject(new Error('it ended before it listened')));
  return { child, lines, origin: await listening.promise };
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (let look = 0; look < 400; look += 1) {
    if (await holds()) return;
    await delay(50);
  }
  throw new Error(`never came true: ${what}`);
}

const ready = async (origin: string): Promise<boolean> => (await fetch(`${origin}/readyz`)).status === 200;
const statesOf = async (origin: string): Promise<readonly ChildState[]> =>
  ((await (await fetch(`${origin}/v1/children`)).json()) as { readonly children: readonly ChildState[] }).children;
const rolesOf = async (port: number): Promise<unknown> =>
  ((await (await fetch(`http://127.0.0.1:${port}/v1/info`)).json()) as { readonly roles: unknown }).roles;
/** Processes that a process started, the oldest first. */
const pidsOf = async (parent: number): Promise<readonly number[]> => {
  const text = await readFile(`/proc/${parent}/task/${parent}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
};
const isAlive = (pid: number): boolean => {
  try {
    return kill(pid, 0);
  } catch {
    return false;
  }
};

const endOf = (child: ChildProcess): Promise<unknown> => once(child, 'exit', { signal: AbortSignal.timeout(30_000) });

describe('the supervisor', () => {
  it('runs servers side by side, starts one again that ended, and ends with all of them', async () => {
    const [policy = 0, gen = 0] = await freePorts(2);
    const { child, lines, origin } = await start([
      { name: 'policy', port: policy, environment: builtin, gpus: [0] },
      { name: 'gen', port: gen, environment: synth, gpus: [0] },
    ]);
    expect((await fetch(`${origin}/livez`)).status).toBe(200);
    await until('all are ready', () => ready(origin));
    const state = { ready: true, restarts: 0, lastExit: null };
    expect(await statesOf(origin)).toEqual([
      { ...state, name: 'policy' },
      { ...state, name: 'gen' },
    ]);
    expect(await (await fetch(`${origin}/v1/info`)).json()).toEqual({ children: await statesOf(origin) });
    expect(await rolesOf(policy)).toEqual(['Policy']);
    expect(await rolesOf(gen)).toEqual(['Generalist']);

    const [first = 0, second = 0] = await pidsOf(child.pid ?? 0);
    // They share a GPU: the second one was not started before the first one answered.
    const listened = lines.filter(({ msg, servers }) => msg === 'listening' && servers === undefined);
    expect(listened.map(({ engine }) => engine)).toEqual(['Builtin', 'Synth']);
    kill(first, 'SIGKILL');
    await until('it is told as not ready', async () => !(await ready(origin)));
    expect(await rolesOf(gen)).toEqual(['Generalist']);
    await until('it is ready again', () => ready(origin));
    expect(await statesOf(origin)).toEqual([
      { name: 'policy', ready: true, restarts: 1, lastExit: { code: null, signal: 'SIGKILL' } },
      { ...state, name: 'gen' },
    ]);

    const [, third = 0] = await pidsOf(child.pid ?? 0);
    child.kill('SIGTERM');
    expect(await endOf(child)).toEqual([0, null]);
    expect([first, second, third].filter(isAlive)).toEqual([]);
    expect(lines.filter(({ msg }) => msg === 'stopping')).toHaveLength(3);
  });

  it('tells one that cannot start, and serves with the others', async () => {
    const [bad = 0, gen = 0] = await freePorts(2);
    const { origin } = await start([
      { name: 'bad', port: bad, environment: { AGENTFLEET_ENGINE: 'Magic' }, gpus: [0] },
      { name: 'gen', port: gen, environment: synth, gpus: [0] },
    ]);
    await until('the other one is ready', async () => (await statesOf(origin))[1]?.ready === true);
    expect(await (await fetch(`${origin}/readyz`)).json()).toEqual({ ready: false });
    const [state] = await statesOf(origin);
    expect(state).toMatchObject({ name: 'bad', ready: false, lastExit: { code: 1, signal: null } });
  });

  it('kills at the deadline what does not end', async () => {
    const [gen = 0] = await freePorts(1);
    const { child, origin } = await start([{ name: 'gen', port: gen, environment: synth }]);
    await until('it is ready', () => ready(origin));
    const [pid = 0] = await pidsOf(child.pid ?? 0);
    kill(pid, 'SIGSTOP'); // deaf to the word to stop
    child.kill('SIGINT');
    expect(await endOf(child)).toEqual([0, null]);
    expect(isAlive(pid)).toBe(false);
  });

  it('refuses a list that is none, in words', async () => {
    await expect(start([])).rejects.toThrow('it ended before it listened');
  });
});
