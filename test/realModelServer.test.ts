// The gateway before a server that nobody here wrote: llama.cpp's own, with the model of 135 million parameters of the Llama image.
// Its wheel comes from the package index, so this runs in the full run only.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cached } from '../hack/cache/index.ts';
import { run } from '../hack/images/run.ts';
import { weights } from '../hack/images/weights.ts';
import { Stage, textOf } from '../inference-image/src/gateway/testing/harness.ts';

const isFull = env['AGENTFLEET_FULL'] === '1' && process.arch === 'x64';
const requirement = 'xllamacpp==2026.10.11549';
const wheelSha256 = 'c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261';

/** Two conversations at once, 1024 tokens each. */
const program = `
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 2048
params.n_parallel = 2
params.cpuparams.n_threads = 2
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
`;

/** A Python with the server in it. */
async function python(): Promise<string> {
  const { dir } = await cached('test-model-server', wheelSha256.slice(0, 16), async (target) => {
    const list = join(target, 'requirements.txt');
    await writeFile(list, `${requirement} --hash=sha256:${wheelSha256}\n`);
    const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-deps', '--no-compile', '--only-binary=:all:'];
    await run('python3', ['-m', 'pip', 'install', ...flags, '--require-hashes', '--target', join(target, 'packages'), '-r', list]);
    await rm(list);
  });
  return join(dir, 'packages');
}

describe.runIf(isFull)('a server of llama.cpp', () => {
  let server: ChildProcess;
  let stage: Stage;
  beforeAll(async () => {
    const { model } = await weights();
    server = spawn('python3', ['-c', program, model.file], {
      env: { ...env, PYTHONPATH: await python() },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const lines = createInterface({ input: server.stdout as NonNullable<typeof server.stdout> });
    const [origin] = (await once(lines, 'line')) as [string];
    stage = await Stage.open();
    await stage.models({ baseURLs: [`${origin}/v1`], model: 'smollm2', maxOutputTokens: 64, timeoutSeconds: 120 });
    await stage.start({}, 120_000);
  }, 600_000);
  afterAll(async () => {
    await stage.close();
    server.stdin?.end();
    server.kill('SIGKILL');
  });

  it('answers with its usage and log probabilities', async () => {
    const { status, body } = await stage.ask({ logprobs: true, temperature: 0 });
    expect(status).toBe(200);
    expect(body.choices[0]?.message.content).not.toBe('');
    expect(body.usage?.prompt_tokens).toBeGreaterThan(5);
    expect(body.usage?.completion_tokens).toBeLessThanOrEqual(64);
    expect(body.usage?.estimated).toBeUndefined();
    expect(body.choices[0]?.logprobs?.content?.[0]?.logprob).toBeLessThan(0);
  });

  it('streams the same, and gives several choices', async () => {
    const [whole] = (await stage.ask({ temperature: 0 })).body.choices;
    const told = await stage.stream({ temperature: 0 });
    expect(told.done).toBe(true);
    expect(textOf(told)).toBe(whole?.message.content);
    expect(told.chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(0);
    expect((await stage.ask({ n: 2 })).body.choices).toHaveLength(2);
  });

  it('takes tools; a model so small calls them or answers in words', async () => {
    const parameters = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] };
    const tools = [{ type: 'function', function: { name: 'bash', description: 'Runs a command.', parameters } }];
    const { status, body } = await stage.ask({ tools, messages: [{ role: 'user', content: 'List the files.' }] });
    expect(status).toBe(200);
    const { content, tool_calls: calls = [] } = body.choices[0]?.message ?? {};
    expect(typeof content === 'string' || calls.length > 0).toBe(true);
  });

  it('writes JSON by a schema', async () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'], additionalProperties: false };
    const { body } = await stage.ask({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } } });
    expect(JSON.parse(body.choices[0]?.message.content as string)).toEqual({ ok: expect.any(Boolean) as boolean });
  });

  it('refuses a conversation that is too long, with that code', async () => {
    const { body } = await stage.ask({ messages: [{ role: 'user', content: 'word '.repeat(3000) }] });
    expect(body.error).toMatchObject({ code: 'ContextExceeded', retryable: false });
  });
});
