import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { HarnessBrief, PoolBrief } from '@agentfleet/protocol/pool';
import { noDecisionModels } from '../../agent-image/src/decision/testing/noDecisionModels.ts';
import type { ChatModels, ForwardedRequest } from '../../agent-image/src/models/models.ts';
import { AttemptFailure } from '../../agent-image/src/base/failure.ts';
import { compute } from '../loop/loopBed.ts';
import { AttemptBed } from './attemptBed.ts';
import { pythonAgent, succeeded, walled, type Walled } from '../programs/badPrograms.ts';
import { broken, repository } from '../programs/image.ts';
import { shell, useNamespace } from './harness.ts';

/** Agent programs in a real pod: their model through egress, their isolation, and the judgement of their changes. */
const bench = useNamespace('agent-program');
let bed: AttemptBed;
beforeAll(async () => {
  bed = await AttemptBed.open();
});
afterAll(() => bed[Symbol.asyncDispose]());

const repaired = 'def add(a, b):\n    return a + b\n';
const spec = {
  goal: 'Make the tests pass.',
  workspace: { type: 'Inline', inline: { files: repository.files.map((file) => ({ ...file, mode: 0o644 })) } },
  checks: [{ name: 'unit', command: ['python3', '-m', 'unittest', '-v'], timeoutSeconds: 60 }],
} as unknown as Partial<AgentTaskSpec>;

function answering(asked: ForwardedRequest[], away: boolean): ChatModels {
  const message = { role: 'assistant', content: repaired };
  const usage = { prompt_tokens: 30, completion_tokens: 12, total_tokens: 42 };
  const answer = {
    id: '1',
    object: 'chat.completion',
    created: 1,
    model: 'llm',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
    usage,
  };
  return {
    complete: () => Promise.reject(new Error('no loop asks here')),
    forward: (_expert, request) => {
      asked.push(request);
      if (away) return Promise.reject(new AttemptFailure('Infrastructure', 'ModelUnreachable', 'the gateway is away'));
      // eslint-disable-next-line @typescript-eslint/require-await -- the body of an answer is asynchronous
      const body = (async function* () {
        yield Buffer.from(JSON.stringify(answer));
      })();
      return Promise.resolve({ status: 200, headers: new Headers({ 'content-type': 'application/json' }), body });
    },
  };
}

function poolOf(agent: string, words: readonly string[], acts: HarnessBrief['acts'] = 'Own'): Partial<PoolBrief> {
  const install = { command: ['python3', '-c', `open('/home/agent/agent.py', 'w').write(${JSON.stringify(agent)})`], timeoutSeconds: 60, network: 'None' } as const;
  const harness: HarnessBrief = { command: [...words], env: {}, input: 'Template', api: 'Chat', acts, model: 'llm', rounds: 1, stallSeconds: 60, install: { ...install, command: [...install.command] } };
  const experts = [
    { name: 'program', role: 'Generalist', engine: 'Harness', domains: ['*'], url: 'http://127.0.0.1:3128', harness },
    { name: 'llm', role: 'Specialist', engine: 'OpenAI', domains: ['*'], url: 'http://127.0.0.1:1', chat: { contextTokens: 32_768, maxOutputTokens: 2048, toolCalls: 'Native' } },
  ];
  return { experts } as unknown as Partial<PoolBrief>;
} // prettier-ignore

const rows: readonly Walled[] = [
  ...walled,
  { row: null, what: 'finds its model away', script: '', file: 'calc.py', ends: { result: 'Failed', class: 'Infrastructure', reason: 'ModelUnreachable' } },
]; // prettier-ignore

test.each(rows)('a program that $what', { timeout: 240_000 }, async ({ what, script, file, vendor, ends, says }) => {
  const own = await bench.open();
  const asked: ForwardedRequest[] = [];
  const pool = poolOf(pythonAgent(script), ['python3', '/home/agent/agent.py', '{{goal}}', file]);
  const run = bed.begin(own, { spec, pool, models: answering(asked, ends.reason === 'ModelUnreachable') });
  const outcome = await bed.engine.run(run.context);
  expect(outcome, JSON.stringify(outcome)).toMatchObject(ends);
  if (says !== undefined) expect(outcome.message).toMatch(says);
  const asksModel = vendor !== 'models.example';
  const one = [['/v1/chat/completions', 'llm']];
  expect(asked.map(({ path, body }) => [path, (JSON.parse(body) as { model: string }).model])).toEqual(asksModel ? one : []);
  if (asksModel && ends.reason !== 'ModelUnreachable') expect(run.reported.usage).toMatchObject({ tokensIn: 30, tokensOut: 12 });
  expect((await shell(own, 'cat calc.py')).stdout).toBe(ends.result === 'Succeeded' ? repaired : broken);
  expect((await shell(own, 'ls /home/agent /etc')).stdout).not.toContain('left.py');
  const refused: unknown[] = [];
  for await (const record of own.clientWith({}).events()) {
    if (record.type === 'Noted' && record.body['kind'] === 'Egress') refused.push(record.body['data']);
  }
  expect(refused).toMatchObject(vendor === undefined ? [] : [{ requests: [{ host: vendor, port: 443, decision: 'NotListed' }] }]);
  if (!what.startsWith('leaks')) return;
  // A stolen key opens nothing: the endpoint ended with the attempt. The program's output is redacted.
  const ask = 'curl -sS -m 5 -H "Authorization: Bearer $(cat leaked)" http://127.0.0.1:3128/v1/models; echo "exit $?"';
  expect((await shell(own, 'wc -c < leaked')).stdout.trim()).toBe('62');
  expect((await shell(own, ask)).stdout).toMatch(/^exit [1-9]/m);
  expect(run.messages.join('\n')).toMatch(/my key is \[REDACTED/);
  expect(run.messages.join('\n')).not.toContain('sk-agentfleet-');
});

test('a program that acts by tools: its own writes are denied, and both gates judge each call', { timeout: 240_000 }, async () => {
  const own = await bench.open();
  const agent = await readFile(join(import.meta.dirname, '../programs/acts_by_tools.py'), 'utf8');
  const pool = poolOf(agent, ['python3', '/home/agent/agent.py', '{{goal}}'], 'Tools');
  const judged: string[] = [];
  const plain = noDecisionModels({ compute, experts: [] });
  const secondOpinion: typeof plain.secondOpinion = async (act) => {
    judged.push(act.subject);
    const opinion = await plain.secondOpinion(act);
    return act.subject.includes('vetoed') ? { ...opinion, allowed: false, why: 'unsafe 0.9' } : opinion;
  };
  const run = bed.begin(own, { spec, pool, models: answering([], false), decisionModels: { ...plain, secondOpinion } });
  const outcome = await bed.engine.run(run.context);
  expect(outcome, JSON.stringify(outcome)).toMatchObject(succeeded);
  const calls: Readonly<Record<string, unknown>>[] = [];
  const children: unknown[] = [];
  for await (const { type, body } of own.clientWith({}).events()) {
    if (type === 'ExecEnded')
      children.push(...((body['commands'] as readonly { readonly argv: unknown }[] | undefined) ?? []).map(({ argv }) => argv));
    if (type === 'Noted' && body['kind'] === 'ProgramCall') calls.push(body['data'] as Readonly<Record<string, unknown>>);
  }
  expect(children).toContainEqual(['sleep', '1']);
  expect(calls).toMatchObject([
    { tool: 'edit_file', ok: false, changed: false, refused: expect.stringMatching(/test_calc\.py is protected/) as unknown },
    { tool: 'bash', ok: false, refused: expect.stringMatching(/^network: /) as unknown },
    { tool: 'bash', ok: false, refused: expect.stringMatching(/^exfil: /) as unknown },
    { tool: 'bash', ok: false, refused: expect.stringMatching(/^gate 2: unsafe 0\.9/) as unknown },
    { tool: 'edit_file', ok: true, changed: true, snapshot: expect.any(String) as unknown },
    { tool: 'bash', ok: true, changed: false },
    { tool: 'run_checks', ok: true },
  ]);
  expect(judged.filter((subject) => subject.includes('vetoed'))).not.toEqual([]);
  expect((await shell(own, 'ls')).stdout).not.toMatch(/vetoed/);
  expect((await shell(own, 'cat calc.py')).stdout).toBe(repaired);
});
