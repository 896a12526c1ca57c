// Agent programs that nobody here wrote, with the flags of the examples, in a real pod: the real gateway, and a provider by script.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog, systemClock } from '@agentfleet/kube';
import type { AgentTaskSpec } from '@agentfleet/protocol/api';
import type { PoolBrief } from '@agentfleet/protocol/pool';
import { ChatModelsClient } from '../../agent-image/src/models/index.ts';
import { up } from '../../hack/cluster/index.ts';
import { Stage } from '../../inference-image/src/gateway/testing/harness.ts';
import { chunk, FakeProvider, stream, tell, usage, type Script } from '../../inference-image/src/gateway/testing/provider.ts';
import { AttemptBed } from './attemptBed.ts';
import { shell, useNamespace } from './harness.ts';
import { imageWithPrograms, programs } from './programs/image.ts';

/** They are a gigabyte: the long run installs them. */
const full = process.env['AGENTFLEET_FULL'] === '1';

const bench = useNamespace('programs');
const provider = new FakeProvider();
let bed: AttemptBed;
let stage: Stage;
let models: ChatModelsClient;
let toolsImage: string;

/** What an example gives its program. */
interface Example {
  readonly command: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly install: { readonly command: readonly string[] };
  readonly api: string;
}

async function example(name: string): Promise<Example> {
  const text = await readFile(join(import.meta.dirname, `../../examples/harness/${name}.yaml`), 'utf8');
  const { spec } = load(text) as { spec: { experts: readonly { engine: { harness: Example } }[] } };
  return spec.experts[0]!.engine.harness;
}

beforeAll(async () => {
  const packages = await Promise.all(['codex', 'claude-code'].map(async (name) => (await example(name)).install.command.at(-1) ?? ''));
  toolsImage = await imageWithPrograms(await up({ tier: 'node' }), packages);
  bed = await AttemptBed.open();
  const url = await provider.start();
  stage = await Stage.open();
  await stage.models({ baseURLs: [url], maxOutputTokens: 8000, timeoutSeconds: 60 });
  await stage.start();
  const tokens = { token: () => Promise.resolve('worker-token'), forget: () => undefined };
  models = new ChatModelsClient({ tokens, audience: 'gateway', clock: systemClock, random: Math.random, log: silentLog });
}, 900_000);
afterAll(async () => {
  await models.close();
  await stage.close();
  await provider.stop();
  await bed[Symbol.asyncDispose]();
});

const broken = 'def add(a, b):\n    return a - b\n';
const files = {
  'calc.py': broken,
  'test_calc.py':
    'import unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n',
};
const spec = {
  goal: 'Make the tests pass.',
  workspace: { type: 'Inline', inline: { files: Object.entries(files).map(([path, content]) => ({ path, content, mode: 0o644 })) } },
  checks: [{ name: 'unit', command: ['python3', '-m', 'unittest', '-v'], timeoutSeconds: 60 }],
} as unknown as Partial<AgentTaskSpec>;

interface Asked {
  readonly stream?: boolean;
  readonly messages: readonly { readonly role: string; readonly tool_calls?: readonly unknown[] }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** How each program is given a command to run. */
const shells: Readonly<Record<string, (command: string) => object>> = {
  bash: (command) => ({ command }),
  Bash: (command) => ({ command, description: 'Runs it' }),
  shell: (command) => ({ command: ['sh', '-c', command] }),
  shell_command: (command) => ({ command }),
  exec_command: (cmd) => ({ cmd }),
};

/** A model that has the commands run, one a step, by the tool that the program offers, and then says that it is done. */
function model(commands: readonly string[]): Script {
  return (call, response) => {
    const { messages, tools = [], stream: isStream } = call.body as unknown as Asked;
    const tool = tools.map(({ function: { name } }) => name).find((name) => Object.hasOwn(shells, name));
    const at = messages.filter(({ role, tool_calls: calls = [] }) => role === 'assistant' && calls.length > 0).length;
    const command = tool === undefined ? undefined : [...commands, ...(tool === 'bash' ? [submit] : [])][at];
    const calls =
      command === undefined || tool === undefined
        ? {}
        : {
            tool_calls: [
              { id: `call_${at}`, type: 'function', function: { name: tool, arguments: JSON.stringify(shells[tool]?.(command)) } },
            ],
          };
    const message = { role: 'assistant', content: command === undefined ? 'Done.' : 'I go on.', ...calls };
    if (isStream !== true) return tell([message])(call, response);
    const streamed = 'tool_calls' in calls ? { ...message, tool_calls: calls.tool_calls.map((one) => ({ index: 0, ...one })) } : message;
    const end = chunk({}, 'tool_calls' in calls ? 'tool_calls' : 'stop');
    return stream([chunk(streamed), end, { ...(chunk({}) as object), choices: [], usage }])(call, response);
  };
}

/** How mini-swe-agent is ended. */
const submit = 'echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT';

async function poolOf(name: string): Promise<Partial<PoolBrief>> {
  const { command, env = [], api } = await example(name);
  const words = command.map((word) => word.replace('/home/agent/.local', programs));
  const variables = Object.fromEntries(env.map(({ name: key, value }) => [key, value]));
  const harness = { command: words, env: variables, input: 'Template', api, model: 'expert', rounds: 1, stallSeconds: 120 };
  const chat = { contextTokens: 128_000, maxOutputTokens: 8000, toolCalls: 'Native' };
  const experts = [
    { name: 'program', role: 'Generalist', engine: 'Harness', domains: ['*'], url: 'http://127.0.0.1:3128', harness },
    { name: 'expert', role: 'Specialist', engine: 'OpenAI', domains: ['*'], url: stage.origin, chat },
  ];
  return { experts } as unknown as Partial<PoolBrief>;
}

const look = 'cat calc.py';
const solve = [look, "sed -i 's/a - b/a + b/' calc.py", 'python3 -m unittest'];
const spoil = [look, "sed -i 's/a - b/a * b/' calc.py && touch extra.py"];

test.runIf(full).each(['mini-swe-agent', 'codex', 'claude-code'])(
  '%s solves a task, and one that it fails is undone',
  { timeout: 600_000 },
  async (name) => {
    for (const commands of [solve, spoil]) {
      const own = await bench.open({ toolsImage });
      provider.play(model(commands));
      const run = bed.begin(own, { spec, pool: await poolOf(name), models });
      const outcome = await bed.engine.run(run.context);
      const solved = commands === solve;
      const ends = solved
        ? { result: 'Succeeded', reason: 'ChecksHold' }
        : { result: 'Failed', class: 'CheckFailed', reason: 'StillFails' };
      expect(outcome, JSON.stringify(outcome)).toMatchObject(ends);
      expect(provider.calls.length).toBeGreaterThanOrEqual(commands.length);
      expect(run.reported.usage?.tokensIn).toBeGreaterThanOrEqual(100 * commands.length);
      const left = (await shell(own, 'cat calc.py; ls')).stdout;
      expect(left).toContain(solved ? 'a + b' : 'a * b');
      if (solved) continue;
      expect(await bed.engine.rollback(run.context, 'Initial')).toMatchObject({ verified: true });
      expect((await shell(own, 'cat calc.py; ls')).stdout).toBe(`${broken}calc.py\ntest_calc.py\n`);
    }
  },
);
