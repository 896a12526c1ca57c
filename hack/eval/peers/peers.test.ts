import type { ChatCompletion, ChatRequest } from '@agentfleet/protocol/chat';
import { afterEach, describe, expect, test } from 'vitest';
import { Endpoint, estimatedTokens, type Exchange } from './endpoint.ts';
import { promptOf } from './miniSweAgent.ts';
import { besideMs, figuresOf, quickest, recordOf, requestsBetween } from './record.ts';
import { replyOf, scriptedModel, type Agent } from './scripted.ts';
import { scripts, type TaskScript } from './scripts.ts';
import { kindOf } from './trace.ts';

const script: TaskScript = {
  task: 'pack/family/one',
  steps: [
    { says: 'look', kind: 'look', command: 'ls' },
    { says: 'read', kind: 'read', path: 'a.py' },
    { says: 'edit', kind: 'edit', path: 'a.py', before: 'x = "1"\n', after: 'x = 2\n' },
    { says: 'check', kind: 'check', command: 'sh check.sh' },
    { says: 'done', kind: 'submit' },
  ],
};

/** A conversation in which the model answered so often. */
const after = (replies: number): ChatRequest => ({
  model: 'm',
  messages: [
    { role: 'user', content: 'goal' },
    ...Array.from({ length: replies }, () => [
      { role: 'assistant', content: 'a' } as const,
      { role: 'tool', content: 'b' } as const,
    ]).flat(),
  ],
});

function callOf(agent: Agent, replies: number): readonly [name: string, args: unknown] {
  const { body } = replyOf(script, agent, after(replies));
  const [choice] = (body as ChatCompletion).choices;
  const call = choice?.message.tool_calls?.[0]?.function;
  return [call?.name ?? '', JSON.parse(call?.arguments ?? 'null')];
}

test('each agent is answered by calls of its own tools, a step for each reply before', () => {
  expect(Array.from(script.steps, (_, at) => callOf('agentfleet', at))).toEqual([
    ['bash', { command: 'ls' }],
    ['read_file', { path: 'a.py' }],
    ['edit_file', { path: 'a.py', old_text: 'x = "1"\n', new_text: 'x = 2\n' }],
    ['run_checks', {}],
    ['submit', { answer: 'Done; the checks pass.' }],
  ]);
  expect(Array.from(script.steps, (_, at) => callOf('mini-swe-agent', at)[0])).toEqual(script.steps.map(() => 'bash'));
  expect(callOf('mini-swe-agent', 1)).toEqual(['bash', { command: 'cat a.py' }]);
  expect(callOf('mini-swe-agent', 2)[1]).toEqual({ command: expect.stringContaining(String.raw`before = "x = \"1\"\n"`) as string });
  expect(callOf('mini-swe-agent', 4)).toEqual(['bash', { command: 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT' }]);
  expect(replyOf(script, 'agentfleet', after(5)).status).toBe(400);
});

test('every script looks first, and hands in last', () => {
  for (const { steps } of scripts.values()) expect([steps[0]?.kind, steps.at(-1)?.kind]).toEqual(['look', 'submit']);
  expect(scripts.size).toBe(6);
});

test('the prompt names the check as a shell takes it', () => {
  const visible = { command: ['sh', '-c', "echo 'a b'"], timeoutSeconds: 1, files: {}, start: 'fails' } as const;
  expect(promptOf({ goal: 'Do it.', visible })).toBe(`Do it.\n\nThis check must pass: sh -c 'echo '\\''a b'\\'''`);
});

describe('the endpoint', () => {
  const open: Endpoint[] = [];
  afterEach(async () => {
    for (const endpoint of open.splice(0)) await endpoint[Symbol.asyncDispose]();
  });

  test('answers, counts tokens by bytes, and starts again', async () => {
    const endpoint = await Endpoint.open(scriptedModel(script, 'agentfleet'));
    open.push(endpoint);
    const ask = async (replies: number): Promise<number> => {
      const response = await fetch(`${endpoint.url}/chat/completions`, { method: 'POST', body: JSON.stringify(after(replies)) });
      await response.arrayBuffer();
      return response.status;
    };
    expect([await ask(0), await ask(1), await ask(5)]).toEqual([200, 200, 400]);
    const [first] = endpoint.exchanges;
    expect(first?.tokensIn).toBe(estimatedTokens({ messages: after(0).messages, tools: [] }));
    expect(first?.promptBytes).toBe(Buffer.byteLength(JSON.stringify({ messages: after(0).messages, tools: [] })));
    expect(endpoint.exchanges.map(({ status }) => status)).toEqual([200, 200, 400]);
    endpoint.play(scriptedModel(script, 'mini-swe-agent'));
    expect(endpoint.exchanges).toEqual([]);
  });
});

const exchange = (arrivedMs: number, answeredMs: number, status = 200): Exchange => ({
  arrivedMs,
  answeredMs,
  status,
  promptBytes: 400,
  tokensIn: 100,
  tokensOut: 10,
});

test('a record counts answered requests, and the time from each answer to the next request', () => {
  const exchanges = [exchange(0, 100), exchange(150, 200), exchange(210, 230, 500), exchange(280, 300)];
  expect(besideMs(exchanges)).toEqual([50, 10, 50]);
  const facts = { agent: 'a', version: '1', task: 't', model: 'm', solved: true, ended: '', wallSeconds: 1 };
  const record = recordOf({ ...facts, exchanges });
  expect(record).toMatchObject({ steps: 3, tokensIn: 300, tokensOut: 30, besideMs: [50, 80] });
  expect(quickest([record, { ...record, besideMs: [60, 20] }]).map(({ besideMs }) => besideMs)).toEqual([[50, 20]]);
  expect(figuresOf([record, record])).toEqual({ steps: 4, p50Ms: 65, p99Ms: 80, promptTokens: 100 });
});

test('requests count for the step in which they began, those to the model by their paths; later ones do not count', () => {
  const traced = [
    { what: 'POST /v1/notes', beganMs: 101, endedMs: 104 },
    { what: 'POST /v1/chat/completions', beganMs: 120, endedMs: 204 },
    { what: 'POST /v1/exec', beganMs: 205, endedMs: 225 },
    { what: 'POST /v1/notes', beganMs: 301, endedMs: 302 },
  ];
  expect(requestsBetween([exchange(50, 100), exchange(150, 200), exchange(280, 300)], traced)).toEqual([
    { step: 0, what: 'POST /v1/notes', ms: 3 },
    { step: 1, what: 'POST /v1/exec', ms: 20 },
    { step: 0, what: 'gateway, to the model', ms: 30 },
    { step: 1, what: 'gateway, from the model', ms: 4 },
  ]);
});

test.each([
  ['GET', '/v1/snapshots/s0002/diff?from=s0001', 'GET /v1/snapshots/*/diff'],
  ['POST', '/v1/exec/01JD0000000000000000000000/wait', 'POST /v1/exec/*/wait'],
  ['GET', '/v1/files?path=a', 'GET /v1/files'],
])('%s %s is a request of the kind %s', (method, path, kind) => {
  expect(kindOf(method, path)).toBe(kind);
});
