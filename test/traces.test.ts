import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import type { AgentTask } from '@agentfleet/protocol/api';
import { agent, ask, openTracing, tool, traceOfTask } from '@agentfleet/protocol/tracing';
import { buildTasks, type PackTask } from '../eval/src/format/index.ts';
import { LocalPool } from '../eval/src/local/index.ts';
import { variantsOf, type Variant } from '../eval/src/run/index.ts';
import { recordSpans } from '../operator/src/controllers/agenttask/telemetry.ts';

/** Real processes: a machine that is busy with other things takes its time. */
vi.setConfig({ testTimeout: 300_000 });

const checkout = join(import.meta.dirname, '..');
const secretWords = 'The-sum-was-negative';

interface WireValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly boolValue?: boolean;
}
interface WireSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly { readonly key: string; readonly value: WireValue }[];
}
interface WireBatch {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly { readonly key: string; readonly value: WireValue }[] };
    readonly scopeSpans: readonly { readonly spans: readonly WireSpan[] }[];
  }[];
}
type Received = WireSpan & { readonly service: string };

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

async function served(answer: (path: string, body: string) => object): Promise<AsyncDisposable & { readonly url: string }> {
  const server: Server = createServer((request, response) => {
    void bodyOf(request).then((body) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer(request.url ?? '', body)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) };
}

/** A receiver of OTLP/HTTP with JSON, as opentelemetry-proto maps it. */
async function receiver() {
  const spans: Received[] = [];
  const texts: string[] = [];
  const server = await served((path, body) => {
    expect(path).toBe('/v1/traces');
    texts.push(body);
    for (const { resource, scopeSpans } of (JSON.parse(body) as WireBatch).resourceSpans) {
      const service = resource.attributes.find(({ key }) => key === 'service.name')?.value.stringValue ?? '';
      spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ ...span, service }))));
    }
    return { partialSuccess: {} };
  });
  return { spans, texts, url: server.url, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

const calls = [
  { name: 'bash', args: { command: 'python3 -m unittest' } },
  { name: 'edit_file', args: { path: 'sums.py', old_text: '-=', new_text: '+=' } },
  { name: 'submit', args: { answer: secretWords } },
];

/** A model that gives the n-th call at the n-th step. */
const model = () =>
  served((path, body) => {
    if (path.endsWith('/models')) return { data: [] };
    const { messages } = JSON.parse(body) as { readonly messages: readonly { readonly role: string }[] };
    const at = messages.filter(({ role }) => role === 'assistant').length;
    const { name, args } = calls[at] ?? { name: 'submit', args: { answer: 'more' } };
    const tool_calls = [{ id: `call-${at}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }];
    const message = { role: 'assistant', content: null, tool_calls };
    const usage = { prompt_tokens: 1000, completion_tokens: 10, total_tokens: 1010, prompt_tokens_details: { cached_tokens: 600 } };
    const choices = [{ index: 0, message, finish_reason: 'tool_calls', logprobs: null }];
    return { id: `r-${at}`, object: 'chat.completion', created: 1, model: 'scripted-2', choices, usage };
  });

const check =
  'import unittest\nfrom sums import total\n\n\nclass Sums(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(total([2, 3]), 5)\n';
const task = buildTasks(
  {
    language: 'python',
    files: { 'sums.py': 'def total(prices):\n    result = 0\n    for price in prices:\n        result += price\n    return result\n' },
    visible: { files: { 'test_sums.py': check } },
    hidden: { files: { 'hidden/test_more.py': check.replace('[2, 3]), 5', '[1, 1]), 2') } },
    tasks: [{ id: 'minus', goal: 'Make the tests pass.', break: [{ find: '+=', put: '-=' }] }],
  },
  { pack: 'mini', family: 'sums', half: 'dev' },
)[0] as PackTask;

const times = {
  created: '2026-01-01T00:00:00Z',
  assigned: '2026-01-01T00:00:02Z',
  ready: '2026-01-01T00:00:05Z',
  ended: '2026-01-01T00:01:00Z',
};

/** Returns the operator's statuses of a task over its life. */
function statuses(): readonly NonNullable<AgentTask['status']>[] {
  const condition = (type: string, status: string, reason: string, lastTransitionTime: string) => ({
    type,
    status,
    reason,
    lastTransitionTime,
    message: '',
  });
  const assignment = { attempt: 1, epoch: 1, since: times.assigned };
  const ready = [condition('SandboxReady', 'True', 'Ready', times.ready)];
  const ended = [
    ...ready,
    condition('Finished', 'True', 'Finished', times.ended),
    condition('Succeeded', 'True', 'ChecksHold', times.ended),
  ];
  const all = [
    { phase: 'Preparing', assignment },
    { phase: 'Running', assignment, conditions: ready },
    { phase: 'Succeeded', attempts: [{ attempt: 1 }], conditions: ended, finished: 'true' },
  ];
  return all as unknown as readonly NonNullable<AgentTask['status']>[];
}

const valueOf = ({ attributes }: WireSpan, key: string): unknown => {
  const { stringValue, intValue, boolValue } = attributes.find((one) => one.key === key)?.value ?? {};
  return stringValue ?? (intValue === undefined ? boolValue : Number(intValue));
};

test('a task is one connected trace: operator, worker, gateway, expert and keeper', async () => {
  await using sink = await receiver();
  await using upstream = await model();
  const tracing = { endpoint: sink.url, sampleRatio: 1 };
  const variant: Variant = { ...(variantsOf([])[0] as Variant), parts: ['Planner'] };
  const chat = {
    model: 'scripted',
    contextTokens: 32_000,
    maxOutputTokens: 1024,
    toolCalls: 'Native',
    timeoutSeconds: 60,
    endpoint: `${upstream.url}/v1`,
  } as const;
  let metadata: AgentTask['metadata'] = { name: '' };
  {
    await using pool = await LocalPool.open({ checkout, budget: { toolCalls: 100, wallSeconds: 120 }, model: chat, tracing });
    const attempted = await pool.attempt(task, variant, { seed: 1, round: 1, signal: new AbortController().signal });
    expect(attempted, attempted.message).toMatchObject({ result: 'Succeeded', usage: { tokensIn: 3000, tokensOut: 30 } });
  }
  const conversation = sink.spans.find(({ name }) => name.startsWith('invoke_agent'));
  const uid = valueOf(conversation as WireSpan, 'gen_ai.conversation.id') as string;
  metadata = { name: uid.slice('local-'.length), namespace: 'local', uid, creationTimestamp: times.created };
  const operator = await openTracing(tracing, { service: 'agentfleet-operator', version: 'test' });
  let before: AgentTask['status'];
  for (const status of statuses()) {
    recordSpans(operator, { metadata } as AgentTask, before, status);
    before = status;
  }
  await operator.close();

  const { spans } = sink;
  const { root } = traceOfTask({ metadata });
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]));
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  expect(byId.size).toBe(spans.length);
  const parentOf = ({ parentSpanId = '' }: WireSpan): Received | undefined => byId.get(parentSpanId);
  expect(spans.filter((span) => parentOf(span) === undefined).map(({ spanId, name }) => [spanId, name])).toEqual([[root.spanId, 'task']]);
  for (const { startTimeUnixNano, endTimeUnixNano } of spans) expect(BigInt(endTimeUnixNano) >= BigInt(startTimeUnixNano)).toBe(true);

  const namesOf = (service: string): ReadonlySet<string> =>
    new Set(spans.filter((span) => span.service === service).map(({ name }) => name));
  expect(namesOf('agentfleet-operator')).toEqual(new Set(['task', 'queue', 'sandbox']));
  const phases = ['prepare', 'baseline', 'solve', 'verify', 'close'];
  const tools = ['execute_tool bash', 'execute_tool edit_file', 'execute_tool submit'];
  for (const name of [...phases, ...tools]) expect(namesOf('agentfleet-worker')).toContain(name);
  expect(namesOf('agentfleet-keeper')).toContain('POST /v1/exec');
  expect([...namesOf('agentfleet-expert')]).toEqual([expect.stringMatching(/^POST \/v1\//)]);
  expect(namesOf('agentfleet-gateway')).toEqual(new Set(['POST /v1/chat/completions', 'chat scripted']));

  const asked = spans.filter(({ name }) => name === 'chat scripted');
  expect(asked).toHaveLength(3);
  const [first] = asked as [Received];
  const known = ['operation.name', 'provider.name', 'request.model', 'response.model', 'usage.input_tokens', 'usage.output_tokens'];
  expect(known.map((key) => valueOf(first, `gen_ai.${key}`))).toEqual(['chat', 'openai', 'scripted', 'scripted-2', 1000, 10]);
  expect([parentOf(first)?.name, parentOf(parentOf(first) as Received)?.kind]).toEqual(['POST /v1/chat/completions', 3]);
  const ran = spans.find(({ name, service }) => service === 'agentfleet-keeper' && name === 'POST /v1/exec') as Received;
  expect(parentOf(ran)?.service).toBe('agentfleet-worker');
  const bash = spans.find(({ name }) => name === 'execute_tool bash') as Received;
  expect(['gen_ai.tool.name', 'gen_ai.tool.call.id', 'agentfleet.call.ok'].map((key) => valueOf(bash, key))).toEqual([
    'bash',
    'call-0',
    expect.any(Boolean),
  ]);
  for (const text of sink.texts)
    for (const said of [secretWords, 'unittest', 'Make the tests pass', 'result +=']) expect(text).not.toContain(said);
});

test('attributes of models and tools have the names of the semantic conventions', () => {
  const known = new Set(Object.entries(conventions).flatMap(([name, value]) => (name.startsWith('ATTR_GEN_AI') ? [value] : [])));
  const ours = [
    ask.request({ provider: '', model: '' }),
    ask.answer({ finishReasons: [], inputTokens: 0, outputTokens: 0, cachedTokens: 0 }),
    tool.request('', ''),
    agent.request('', ''),
  ].flatMap((attributes) => Object.keys(attributes).filter((key) => key.startsWith('gen_ai.')));
  expect(ours.length).toBeGreaterThan(12);
  for (const key of ours) expect(known).toContain(key);
});
