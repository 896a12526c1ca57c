import { afterAll, beforeAll, expect, test } from 'vitest';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { HarnessBrief, PoolBrief } from '@agentfleet/protocol/pool';
import type { ChatModels, ForwardedRequest } from '../../agent-image/src/models/models.ts';
import { AttemptFailure } from '../../agent-image/src/base/failure.ts';
import { AttemptBed } from './attemptBed.ts';
import { shell, useNamespace } from './harness.ts';

/** Agent programs in a real pod: their model by the way out, the walls around them, and what becomes of what they leave. */
const bench = useNamespace('agent-program');
let bed: AttemptBed;
beforeAll(async () => {
  bed = await AttemptBed.open();
});
afterAll(() => bed[Symbol.asyncDispose]());

const repaired = 'def add(a, b):\n    return a + b\n';
const files = {
  'calc.py': 'def add(a, b):\n    return a - b\n',
  'test_calc.py':
    'import unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n',
};
const spec = {
  goal: 'Make the tests pass.',
  workspace: { type: 'Inline', inline: { files: Object.entries(files).map(([path, content]) => ({ path, content, mode: 0o644 })) } },
  checks: [{ name: 'unit', command: ['python3', '-m', 'unittest', '-v'], timeoutSeconds: 60 }],
} as unknown as Partial<AgentTaskSpec>;

/** Asks its vendor first, which is refused; then the endpoint. */
const agent = `import json, os, sys, urllib.request
try:
    urllib.request.urlopen('https://api.vendor.example/v1', timeout=20)
except Exception as error:
    print('vendor:', error, flush=True)
body = json.dumps({'model': 'any', 'messages': [{'role': 'user', 'content': sys.argv[1]}]}).encode()
headers = {'authorization': 'Bearer ' + os.environ['OPENAI_API_KEY'], 'content-type': 'application/json'}
request = urllib.request.Request(os.environ['OPENAI_BASE_URL'] + '/chat/completions', body, headers)
answer = json.load(urllib.request.urlopen(request, timeout=60))['choices'][0]['message']['content']
open(sys.argv[2], 'w').write(answer)
`;

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

function poolOf(words: readonly string[]): Partial<PoolBrief> {
  const install = { command: ['python3', '-c', `open('/home/agent/agent.py', 'w').write(${JSON.stringify(agent)})`], timeoutSeconds: 60, network: 'None' } as const;
  const harness: HarnessBrief = { command: [...words], env: {}, input: 'Template', api: 'Chat', model: 'llm', rounds: 1, stallSeconds: 60, install: { ...install, command: [...install.command] } };
  const experts = [
    { name: 'program', role: 'Generalist', engine: 'Harness', domains: ['*'], url: 'http://127.0.0.1:3128', harness },
    { name: 'llm', role: 'Specialist', engine: 'OpenAI', domains: ['*'], url: 'http://127.0.0.1:1', chat: { contextTokens: 32_768, maxOutputTokens: 2048, toolCalls: 'Native' } },
  ];
  return { experts } as unknown as Partial<PoolBrief>;
} // prettier-ignore

test.each([
  { what: 'solves it by its model', file: 'calc.py', ends: { result: 'Succeeded', reason: 'ChecksHold' }, after: repaired },
  { what: 'writes its home folder', file: '/home/agent/left.py', ends: { result: 'Failed', class: 'PolicyViolation', reason: 'HarnessRefused' } },
  { what: 'writes outside of all roots', file: '/etc/left.py', ends: { result: 'Failed', class: 'Stuck', reason: 'HarnessFailed' } },
  { what: 'finds its model away', file: 'calc.py', ends: { result: 'Failed', class: 'Infrastructure', reason: 'ModelUnreachable' } },
])('a program that $what', { timeout: 240_000 }, async ({ file, ends, after = files['calc.py'] }) => {
  const own = await bench.open();
  const asked: ForwardedRequest[] = [];
  const pool = poolOf(['python3', '/home/agent/agent.py', '{{goal}}', file]);
  const run = bed.begin(own, { spec, pool, models: answering(asked, ends.reason === 'ModelUnreachable') });
  const outcome = await bed.engine.run(run.context);
  expect(outcome, JSON.stringify(outcome)).toMatchObject(ends);
  expect(asked.map(({ path, body }) => [path, (JSON.parse(body) as { model: string }).model])).toEqual([['/v1/chat/completions', 'llm']]);
  if (ends.reason !== 'ModelUnreachable') expect(run.reported.usage).toMatchObject({ tokensIn: 30, tokensOut: 12 });
  expect((await shell(own, 'cat calc.py')).stdout).toBe(after);
  expect((await shell(own, 'ls /home/agent /etc')).stdout).not.toContain('left.py');
  const refused: unknown[] = [];
  for await (const { type, body } of own.clientWith({}).events()) if (type === 'Noted' && body['kind'] === 'Egress') refused.push(body['data']);
  expect(refused).toMatchObject([{ requests: [{ host: 'api.vendor.example', port: 443, decision: 'NotListed' }] }]);
}); // prettier-ignore
