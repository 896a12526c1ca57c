import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyLog } from './log/index.ts';
import { FakeRunner, issuer, killable, podUid, Signer, subject, ulid, waitUntil } from './testing/index.ts';

const key = 'a-key-of-the-link-that-is-long-enough';
let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'main-'));
  for (const name of ['workspace', 'home']) await mkdir(join(dir, name));
});

afterEach(() => rm(dir, { recursive: true, force: true }));

function start(env: Record<string, string>) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'main.ts')], { env: { PATH: process.env['PATH'], ...env } });
  const said = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk: Buffer) => (said.stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (said.stderr += chunk.toString()));
  const exit = new Promise<number | null>((resolve) => {
    child.once('exit', resolve);
  });
  return { child, said, exit };
}

describe('the process', () => {
  it('reports all faults of its environment and does not start', async () => {
    const { said, exit } = start({});
    expect(await exit).toBe(1);
    for (const name of ['AGENTFLEET_LINK_KEY', 'POD_UID', 'AGENTFLEET_CLIENT']) expect(said.stderr).toContain(name);
  });

  it('ends its command, syncs its log and exits within 5 s of SIGTERM', async () => {
    const signer = await Signer.create();
    await signer.writeJwks(join(dir, 'jwks.json'));
    const { child, said, exit } = start({
      AGENTFLEET_LISTEN: '127.0.0.1:0',
      AGENTFLEET_LINK: join(dir, 'link'),
      AGENTFLEET_LINK_KEY: key,
      AGENTFLEET_STORE: join(dir, 'store'),
      AGENTFLEET_ROOTS: `workspace=${dir}/workspace,home=${dir}/home`,
      AGENTFLEET_ISSUER: issuer,
      AGENTFLEET_JWKS: join(dir, 'jwks.json'),
      AGENTFLEET_CLIENT: subject,
      AGENTFLEET_ALLOW_UNENFORCED_NETWORK: 'true',
      POD_NAME: 'p',
      POD_NAMESPACE: 'n',
      POD_UID: podUid,
    });
    await waitUntil(() => said.stdout.includes('listening'), 15_000);
    // Not always the first line: the egress port may belong to another keeper on this machine.
    const listening = said.stdout.split('\n').find((line) => line.includes('listening')) ?? '';
    const { address, snapshots } = JSON.parse(listening) as { address: string; snapshots: object };
    expect(snapshots).toMatchObject({ asked: 'Auto', engine: 'CAS' });
    const runner = await FakeRunner.connected({ path: join(dir, 'link'), key, ...killable });
    await waitUntil(async () => (await fetch(`${address}/readyz`)).status === 200);
    const execId = ulid();
    const headers = { authorization: `Bearer ${await signer.token(podUid)}`, 'agentfleet-epoch': '1', 'content-type': 'application/json' };
    const command = fetch(`${address}/v1/exec`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ execId, tool: 'Shell', command: 'x' }),
    }).then((response) => response.text());
    await waitUntil(() => runner.frames.some(({ header }) => header.t === 'exec'));
    const started = performance.now();
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
    expect(performance.now() - started).toBeLessThan(5000);
    expect(await command).toContain('"killed":"Shutdown"');
    expect(await verifyLog(join(dir, 'store', 'events.log'))).toMatchObject({ ok: true });
    const journal = await readFile(join(dir, 'store', 'execs', `${execId}.ndjson`), 'utf8');
    expect(JSON.parse(journal.trim().split('\n').at(-1) ?? '')).toMatchObject({ type: 'end', killed: 'Shutdown' });
  });
});
