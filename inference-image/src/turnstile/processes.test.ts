// Real processes of the real entries: a turnstile, what waits before an engine, engines, and our servers beside them.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { env, execPath } from 'node:process';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { asking } from '../engines/testing/request.ts';
import { FakeGpu } from '../engines/vllm/testing/gpu.ts';
import { freePort } from '../engines/vllm/testing/place.ts';

const server = join(import.meta.dirname, '..', 'main.ts');
const engine = join(import.meta.dirname, '..', 'engines', 'vllm', 'testing', 'main.ts');
const patience = { timeout: 50_000, interval: 100 };

let gpu: FakeGpu;
let gpuOrigin: string;
let weights: string;
let running: Set<ChildProcess>;
beforeEach(async () => {
  gpu = new FakeGpu();
  gpuOrigin = await gpu.listen();
  weights = await mkdtemp(join(tmpdir(), 'weights-'));
  for (const name of ['config.json', 'model.safetensors']) await writeFile(join(weights, name), '{}');
  running = new Set();
});
afterEach(async () => {
  const left = [...running];
  running.clear();
  for (const child of left) child.kill('SIGKILL');
  await Promise.all(
    left.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null).map((child) => once(child, 'exit')),
  );
  await gpu.close();
  await rm(weights, { recursive: true });
});

function start(entry: string, words: readonly string[], own: Readonly<Record<string, string>>): ChildProcess {
  const child = spawn(execPath, [entry, ...words], {
    env: { PATH: env['PATH'], LOG_LEVEL: 'error', ...own },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Starts it again whenever it ends, as a kubelet does, until the test is over. */
function keep(begin: () => ChildProcess): { child: ChildProcess } {
  const kept = { child: begin() };
  const again = (): void => {
    const own = running;
    kept.child.once('exit', () => {
      void delay(300).then(() => {
        // The set of a test that is over is not the one of now.
        if (own !== running || own.size === 0) return;
        kept.child = begin();
        again();
      });
    });
  };
  again();
  return kept;
}

interface Pod {
  readonly url: string;
  readonly engine: { child: ChildProcess };
}

/** What the kubelet does with the containers of a pod. */
async function startPod(name: string, turnstile: string): Promise<Pod> {
  const [enginePort, port] = [await freePort(), await freePort()];
  const turn = {
    AGENTFLEET_TURNSTILE: turnstile,
    AGENTFLEET_TURN_ITEM: name,
    AGENTFLEET_POD_NAME: `${name}-0`,
    AGENTFLEET_POD_IP: '127.0.0.1',
    AGENTFLEET_UPSTREAM: `http://127.0.0.1:${enginePort}`,
  };
  expect(await once(start(server, ['await-turn'], turn), 'exit')).toEqual([0, null]);
  const words = [weights, '--served-model-name', name, '--host', '127.0.0.1', '--port', String(enginePort), '--enable-sleep-mode'];
  const stage = `--additional-config=${JSON.stringify({ gpu: gpuOrigin, loadMs: 200, answerMs: 50 })}`;
  const kept = keep(() => start(engine, [...words, stage], { GPU_DEVICE_0: 'gpu-0', VLLM_SERVER_DEV_MODE: '1' }));
  await answers(`http://127.0.0.1:${enginePort}/health`);
  const own = {
    AGENTFLEET_ENGINE: 'VLLM',
    AGENTFLEET_ROLES: 'Generalist',
    AGENTFLEET_MODEL: name,
    AGENTFLEET_LISTEN: `127.0.0.1:${port}`,
    AGENTFLEET_AUTHENTICATION: 'None',
  };
  start(server, [], { ...turn, ...own });
  const url = `http://127.0.0.1:${port}`;
  await answers(`${url}/readyz`);
  return { url, engine: kept };
}

async function answers(url: string): Promise<void> {
  await vi.waitFor(async () => expect((await fetch(url)).status).toBe(200), patience);
}

/** Asks until it is answered, as the agent does. */
async function answered({ url }: Pod): Promise<void> {
  const body = JSON.stringify(asking({ path: 'calc.py', content: 'def add(a, b):\n    return a - b\n' }));
  for (let tries = 0; tries < 120; tries += 1) {
    const response = await fetch(`${url}/v1/generate`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
    const text = await response.text();
    if (response.ok) return;
    expect([response.status, text]).toEqual([503, expect.stringContaining('AF_ENGINE_UNAVAILABLE')]);
    await delay(250);
  }
  throw new Error(`${url} never answered`);
}

test('two engines answer all while their turnstile and one of them are killed, and never share the GPU', async () => {
  const port = await freePort();
  const turnstile = keep(() =>
    start(server, ['turnstile'], {
      AGENTFLEET_LISTEN: `127.0.0.1:${port}`,
      AGENTFLEET_AUTHENTICATION: 'None',
      AGENTFLEET_TURN_SECONDS: '1',
    }),
  );
  const pods = await Promise.all(['ada', 'bob'].map((name) => startPod(name, `http://127.0.0.1:${port}`)));
  // Both loaded in their turn: neither found the other one there.
  expect([new Set(gpu.record), gpu.refused]).toEqual([new Set(['ada', 'bob']), []]);
  const rounds = async (pod: Pod): Promise<void> => {
    for (let round = 0; round < 6; round += 1) await answered(pod);
  };
  const loading = Promise.all(pods.flatMap((pod) => [rounds(pod), rounds(pod)]));
  const turns = gpu.record.length;
  await vi.waitFor(() => expect(gpu.record.length).toBeGreaterThan(turns), patience);
  turnstile.child.kill('SIGKILL');
  const [, bob] = pods as [Pod, Pod];
  await vi.waitFor(async () => expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200), patience);
  bob.engine.child.kill('SIGKILL');
  await loading;
  await Promise.all(pods.map(answered));
  // The one that was killed comes by itself, perhaps while there is no room; the other one never does.
  expect(gpu.refused.filter((who) => !who.startsWith('bob '))).toEqual([]);
}, 120_000);
