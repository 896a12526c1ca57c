import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { example } from './engines/synth/propose.ts';

let folder: string;
let child: ChildProcess | null = null;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'inference-'));
});
afterEach(async () => {
  child?.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

function start(env: Readonly<Record<string, string>>, ...args: readonly string[]): ChildProcess {
  child = spawn(execPath, [join(import.meta.dirname, 'main.ts'), ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  return child;
}

async function addresses(process: ChildProcess): Promise<readonly string[]> {
  for await (const line of createInterface({ input: process.stdout as NonNullable<typeof process.stdout> })) {
    const record = JSON.parse(line) as { readonly msg: string; readonly addresses: readonly string[] };
    if (record.msg === 'listening') return record.addresses;
  }
  throw new Error('it ended before it listened');
}

function overSocket(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const call = httpRequest({ socketPath, path: '/v1/generate', method: 'POST', headers }, (response) => resolve(text(response)));
    call.on('error', reject);
    call.end(JSON.stringify(example));
  });
}

describe('the process', () => {
  it('answers over HTTP and over its socket, and ends on SIGTERM', async () => {
    const socket = join(folder, 'inference.sock');
    const process = start({ AGENTFLEET_LISTEN: '127.0.0.1:0', AGENTFLEET_AUTHENTICATION: 'None', AGENTFLEET_SOCKET: socket });
    const [http] = await addresses(process);
    const body = JSON.stringify(example);
    const response = await fetch(`${http}/v1/generate`, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    const { stats: _one, ...overHttp } = (await response.json()) as Record<string, unknown>;
    const { stats: _other, ...local } = JSON.parse(await overSocket(socket)) as Record<string, unknown>;
    expect(local).toEqual(overHttp);
    expect((await fetch(`${http}/readyz`)).status).toBe(200);
    process.kill('SIGTERM');
    expect(await once(process, 'exit')).toEqual([0, null]);
  });

  it('is a model gateway with that word, ready when it knows its models, and ends on SIGTERM', async () => {
    const models = join(folder, 'models.json');
    const env = { AGENTFLEET_LISTEN: '127.0.0.1:0', AGENTFLEET_AUTHENTICATION: 'None', AGENTFLEET_GATEWAY_MODELS: models };
    const process = start(env, 'gateway');
    const [http] = await addresses(process);
    expect((await fetch(`${http}/readyz`)).status).toBe(503);
    const model = { name: 'expert', engine: 'Replay', recording: folder, maxOutputTokens: 1, concurrency: 1, timeoutSeconds: 1 };
    await writeFile(models, JSON.stringify({ format: 'agentfleet.dev/gateway/v1', models: [model] }));
    expect((await fetch(`${http}/readyz`)).status).toBe(200);
    const body = JSON.stringify({ model: 'expert', messages: [{ role: 'user', content: 'x' }] });
    const response = await fetch(`${http}/v1/chat/completions`, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    expect(await response.json()).toMatchObject({ error: { code: 'RecordMismatch' } });
    process.kill('SIGTERM');
    expect(await once(process, 'exit')).toEqual([0, null]);
  });

  it('holds a GPU as long as its pod may: the word to stop is for its tenants first', async () => {
    const process = start({}, 'hold-gpu');
    for await (const line of createInterface({ input: process.stdout as NonNullable<typeof process.stdout> })) {
      expect(JSON.parse(line)).toMatchObject({ msg: 'holding' });
      break;
    }
    process.kill('SIGTERM');
    process.kill('SIGINT');
    expect(await once(process, 'exit')).toEqual([0, null]);
  });

  it('reports every fault of its environment and does not start', async () => {
    const process = start({ AGENTFLEET_ENGINE: 'Magic', LOG_LEVEL: 'loud' });
    const printed = await text(process.stderr as NonNullable<typeof process.stderr>);
    expect(printed).toMatch(/AGENTFLEET_ENGINE: .*\n[\s\S]*LOG_LEVEL: /);
    expect(process.exitCode ?? (await once(process, 'exit'))[0]).toBe(1);
  });
});
