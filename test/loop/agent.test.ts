import { expect, test, vi } from 'vitest';
import type { AttemptContext } from '../../agent-image/src/attempt/index.ts';
import { systemClock } from '@agentfleet/kube';
import type { ConversationMessage } from '@agentfleet/protocol/chat';
import type { Note } from '@agentfleet/protocol/keeper';
import { AttemptFailure } from '../../agent-image/src/base/failure.ts';
import { createDialer } from '../../agent-image/src/egress/index.ts';
import { startMcpServer } from '../../agent-image/src/tools/testing/startMcpServer.ts';
import { AgentBed, eachBed, runnerOfTests, ScriptedModels, steps, type Reply } from './agentBed.ts';
import { nothing, taskFor, type AttemptRun } from './loopBed.ts';
import { wrongSign } from './tasks.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** The tool loop on a real keeper and a real runner, with a model that answers by a script. */
const { binary, describe } = await runnerOfTests();
const spec = taskFor(wrongSign.files, wrongSign.command);

const repair = steps(
  { text: 'I look first.', calls: [['bash', { command: 'cat calc.py; echo looked >> seen.txt' }]] },
  {
    calls: [
      ['edit_file', { path: 'calc.py', old_text: 'a - b', new_text: 'a + b' }],
      ['run_checks', {}],
    ],
  },
  { text: 'It holds.', calls: [['submit', { answer: 'The sign was wrong.' }]] },
);

const conversation = [
  'Assistant: I look first.',
  'Tool: def add(a, b):\n    return a - b\n[exit status 0, # s; files: seen.txt (new)]',
  'Assistant: ',
  'Tool: changed calc.py\n1 | def add(a, b):\n2 |     return a + b',
  'Tool: unit: holds (exit status 0, # s; of 1 test 1 passed)\npass now, failed at the start (1): test_calc.Calc.test_add\n\nall checks hold',
];

describe('the tool loop', () => {
  let bed: AgentBed;
  eachBed(async () => (bed = await AgentBed.open(binary)));

  /** Returns the next request of the last worker: the conversation in the log, without differences of times and ids. */
  const said = (messages: readonly ConversationMessage[]): readonly string[] =>
    messages.map(({ role, text }) => `${role}: ${text.replaceAll(/\d+\.\d+ s\b/g, '# s').replaceAll(bed.harness.dir, '')}`);

  /** A worker that dies once a keeper's call is done for the n-th time that `dies` counts. */
  function dying(run: AttemptRun, dies: (method: string, argument: unknown) => boolean, nth: number): AttemptContext {
    let left = nth;
    // A crash keeps a prefix of a batch.
    const one = async (all: readonly Note[]): Promise<void> => {
      for (const { kind, data } of all) await keeper.note(kind, data);
    };
    const keeper: AttemptContext['keeper'] = new Proxy(run.context.keeper, {
      get(target, name: string) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        const call = method as (...args: unknown[]) => unknown;
        if (name === 'noteAll') return one;
        if (name === 'events' || name === 'exec' || name === 'follow') return call.bind(target);
        return async (...args: unknown[]): Promise<unknown> => {
          run.context.signal.throwIfAborted();
          const answer: unknown = await call.apply(target, args);
          if (dies(name, args[0])) left -= 1;
          if (left === 0) run.abort('Lost');
          run.context.signal.throwIfAborted();
          return answer;
        };
      },
    });
    return { ...run.context, keeper };
  }

  test('repairs a bug by looking, editing, checking and handing in', async () => {
    const models = new ScriptedModels(repair);
    const run = bed.begin(spec, models);
    const outcome = await bed.engine.run(run.context);
    expect(outcome).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold' });
    expect(said(models.requests.at(-1)?.messages ?? []).slice(2)).toEqual(conversation);
    expect(run.reported.usage).toMatchObject({ tokensIn: 3006, tokensOut: 150 });
  });

  const refused: Reply = { calls: [['bash', { command: 'frob a' }]] };
  const refuses = { why: 'Policy: unsafe', unsafe: 1, risk: null, energy: null, pSuccess: null };

  /** The planner calls every step risky, and the scores of gate 2 refuse `refused`. */
  function risky(models: ScriptedModels): Partial<AttemptContext> {
    const plain = bed.begin(spec, models).context.decisionModels;
    const control: typeof plain.control = async () => ({ ...(await plain.control([])), risk: 0.9 });
    const secondOpinion: typeof plain.secondOpinion = ({ subject }) => Promise.resolve({ allowed: !subject.includes('frob'), ...refuses });
    return { decisionModels: { ...plain, control, secondOpinion } };
  }

  test('asks for more proposals where risk is high and scores would refuse the first one, and for no more of others', async () => {
    const models = new ScriptedModels((request, n) => (n === 2 ? refused : repair(request, n)));
    const run = bed.begin(spec, models, risky(models));
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded' });
    expect(models.requests.map(({ n }) => n)).toEqual([1, 1, 3, 1]);
    const again =
      'You replied to this with `bash {"command":"frob a"}`, which would be refused and was not done: gate 2: Policy: unsafe. Reply again, in another way.';
    expect(models.requests.map(({ messages }) => messages.filter(({ text }) => text === again).length)).toEqual([0, 0, 1, 0]);
    expect(models.requests[2]?.messages.slice(0, -1)).toEqual(models.requests[1]?.messages);
    expect((await bed.notes()).filter(({ kind }) => kind === 'ReplyChosen').map(({ data }) => data['signals'])).toMatchObject([
      { more: null, k: 1 },
      { more: 'Refused', k: 2 },
      { more: null, k: 1 },
    ]);
  });

  test('asks for no more where a rule would refuse the first one: the refusal says what is allowed', async () => {
    const forbidden: Reply = { calls: [['edit_file', { path: 'test_calc.py', old_text: '5', new_text: '-1' }]] };
    const models = new ScriptedModels((_, n) => (n === 1 ? forbidden : 'I give up.'));
    await bed.engine.run(bed.begin(spec, models, risky(models)).context);
    expect(models.requests.slice(0, 2).map(({ n }) => n)).toEqual([1, 1]);
    expect(said(models.requests[1]?.messages ?? []).at(-1)).toMatch(/^Tool: refused.*protected.*Allowed instead/s);
  });

  test('acts on the proposal that it has where more of them cannot be had', async () => {
    const models = new ScriptedModels((request, n) => {
      if (request.n > 1) throw new AttemptFailure('AgentError', 'InvalidRequest', 'n must be 1');
      return n === 2 ? refused : repair(request, n);
    });
    const run = bed.begin(spec, models, risky(models));
    await bed.engine.run(run.context);
    expect(models.requests.map(({ n }) => n).slice(0, 4)).toEqual([1, 1, 3, 1]);
    expect((await bed.notes()).filter(({ kind }) => kind === 'ReplyChosen').map(({ data }) => data['signals'])[1]).toMatchObject({ k: 1 });
  });

  test('takes the prompt of several proposals, which a gateway counts for each, for no measure of its length', async () => {
    const look = (n: number): Reply => ({ calls: [['bash', { command: `seq 1 ${1500 + n}` }]] });
    const models = new (class extends ScriptedModels {
      override async complete(...args: Parameters<ScriptedModels['complete']>) {
        const reply = await super.complete(...args);
        return args[1].n === 1 ? reply : { ...reply, usage: { ...reply.usage, input: 90_000 } };
      }
    })((_, n) => (n === 1 ? refused : n < 4 ? look(n) : 'I give up.'));
    await bed.engine.run(bed.begin(spec, models, risky(models)).context);
    expect(models.requests.map(({ n }) => n).slice(0, 3)).toEqual([1, 3, 1]);
    const seen = said(models.requests.at(-1)?.messages ?? []).filter((line) => line.startsWith('Tool: 1\n'));
    expect(seen.map((line) => line.includes('are not shown'))).toEqual([false, false]);
  });

  test.each([
    ['names the tool that reads the rest', [], /read_file \{handle: "out-1\.0", from_line: \d+\} reads it/, 'a handle reads the rest'],
    ['names no tool that the task does not have', ['read_file'], /the rest was not kept/, 'the rest is not kept'],
  ])('a result that is cut %s', async (_, deny, hint, reported) => {
    const models = new ScriptedModels(
      steps({ calls: [['bash', { command: 'seq 100000' }]] }, { calls: [['submit', { unreachable: true, answer: 'no' }]] }),
    );
    await bed.engine.run(bed.begin({ ...spec, tools: { deny } }, models).context);
    const { messages = [] } = models.requests.at(-1) ?? {};
    expect(messages.at(-1)?.text).toMatch(hint);
    expect(messages.find((message) => message.role === 'User')?.text).toContain(reported);
    if (deny.length > 0) expect(JSON.stringify(models.requests)).not.toContain('read_file');
  });

  const testOf = (name: string, body: string): string =>
    `import unittest\n\nfrom calc import add\n\n\nclass ${name}(unittest.TestCase):\n    def test_more(self):\n        ${body}\n`;

  test('keeps a test module that the model adds beside its change', async () => {
    const added = testOf('More', 'self.assertEqual(add(-2, 3), 1)');
    const calls: [string, object][] = [
      ['edit_file', { path: 'calc.py', old_text: 'a - b', new_text: 'a + b' }],
      ['edit_file', { path: 'test_more.py', new_text: added }],
      ['run_checks', {}],
      ['submit', { answer: 'The sign was wrong; one more test.' }],
    ];
    const models = new ScriptedModels(steps({ calls }));
    const run = bed.begin(spec, models);
    const outcome = await bed.engine.run(run.context);
    expect(outcome, outcome.message).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold' });
    expect(run.reported.patch).toContain('+++ b/test_more.py');
    const texts = (await bed.notes()).filter(({ kind }) => kind === 'CallObserved').map(({ data }) => String(data['text']));
    expect(texts[2]).toContain('new since the start (1): test_more.More.test_more');
  });

  test.each<readonly [how: string, path: string, content: string, kind: 'refused' | 'unproved']>([
    ['stops the tests from failing', 'test_aa.py', `${testOf('A', 'pass')}\nunittest.TestCase.assertEqual = lambda *_: None\n`, 'unproved'],
    ['takes the place of a test', 'test_calc.py', testOf('Calc', 'pass'), 'refused'],
    ['is loaded before tests', 'conftest.py', 'import calc\ncalc.add = lambda a, b: a + b\n', 'refused'],
    ['takes the place of a package', 'unittest/__init__.py', 'def main(): pass\n', 'refused'],
  ])('is not fooled by a new file that %s', async (_, path, content, kind) => {
    // By a command, because its output is not read before it is done.
    const write = { command: `mkdir -p $(dirname ${path}); cat > ${path}`, stdin: content };
    const models = new ScriptedModels(
      steps({ calls: [['bash', write]] }, { calls: [['submit', { answer: 'done' }]] }, 'I stop.', 'I stop.', 'I stop.'),
    );
    const outcome = await bed.engine.run(bed.begin(spec, models).context);
    expect(outcome.result, outcome.message).toBe('Failed');
    const messages = models.requests.flatMap((request) => request.messages.map(({ text }) => text)).join('\n');
    if (kind === 'refused') expect(messages).toMatch(/refused(?:, nothing was done| and undone)/);
    else expect(messages).toMatch(/The submission was refused: in a fresh container without the new tests \(test_aa\.py\)/);
  });

  test('does not submit when a call before it in the same reply failed', async () => {
    const fix = (old_text: string): [string, object] => ['edit_file', { path: 'calc.py', old_text, new_text: 'a + b' }];
    const submit: [string, object] = ['submit', { answer: 'The sign was wrong.' }];
    const models = new ScriptedModels(steps({ calls: [fix('a * b'), submit] }, { calls: [fix('a - b'), submit] }));
    const outcome = await bed.engine.run(bed.begin(spec, models).context);
    expect(outcome, outcome.message).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold' });
    const texts = models.requests[1]?.messages.map(({ text }) => text) ?? [];
    expect(texts.at(-1)).toBe('Not run: an earlier call of this reply failed or was refused; submit once that is settled.');
  });

  test('ends at once when the model reports that the goal cannot be reached', async () => {
    const cannot = steps({ calls: [['submit', { answer: 'The test contradicts itself.', unreachable: true }]] });
    const run = bed.begin(spec, new ScriptedModels(cannot));
    const outcome = await bed.engine.run(run.context);
    expect(outcome).toMatchObject({ result: 'Failed', class: 'Stuck', reason: 'GoalUnreachable' });
    expect(outcome.message).toContain('The test contradicts itself.');
  });

  const notes = ['ConversationBegan', 'ModelAsked', 'ModelReplied', 'ReplyChosen', 'CallObserved'];
  const isNote = (method: string, kind: unknown): boolean => method === 'note' && notes.includes(String(kind));

  test.each<readonly [what: string, dies: (method: string, argument: unknown) => boolean]>([
    ['a command had ended that the model has not seen', (method, body) => method === 'run' && JSON.stringify(body).includes('echo looked')],
    ['a file was written that the model has not seen', (method, path) => method === 'writeFile' && String(path).endsWith('calc.py')],
  ])('goes on when a worker died after %s, and does nothing twice', async (_, dies) => {
    const first = bed.begin(spec, new ScriptedModels(repair));
    // The workspace is imported by a write, too.
    const imported = dies('writeFile', 'calc.py') ? 2 : 1;
    await expect(bed.engine.run(dying(first, dies, imported))).rejects.toBe('Lost');
    const second = bed.begin(spec, new ScriptedModels(repair));
    expect(await bed.engine.run(second.context)).toMatchObject({ result: 'Succeeded' });
    expect(await bed.ran('echo looked')).toBe(1);
    expect(second.reported.patch).toMatch(/^\+    return a \+ b$/m);
    expect(second.reported.patch?.match(/^\+looked$/gm)).toHaveLength(1);
    const texts = (await bed.notes()).filter(({ kind }) => kind === 'CallObserved').map(({ data }) => String(data['text']));
    expect(texts.filter((text) => text.startsWith('changed calc.py'))).toHaveLength(1);
  });

  /** A lost worker's attempt is closed, and the next one continues; one that hands over leaves the attempt open. */
  test('continues at the same message when a worker dies at any of them, and runs nothing twice', async () => {
    const whole = new ScriptedModels(repair);
    await bed.engine.run(bed.begin(spec, whole).context);
    const expected = said(whole.requests.at(-1)?.messages ?? []);
    const boundaries = (await bed.notes()).filter(({ kind }) => notes.includes(kind)).length;
    expect(boundaries).toBeGreaterThan(12);
    for (let nth = 1; nth <= boundaries; nth += 1) {
      await using own = await AgentBed.open(binary);
      const first = own.begin(spec, new ScriptedModels(repair));
      await expect(own.engine.run(dying(first, isNote, nth))).rejects.toBe('Lost');
      const models = new ScriptedModels(repair);
      // The report of a closed attempt is in the totals of the task; the report lags behind the log.
      const earlier = nth % 2 === 1 ? (first.reported.usage ?? nothing) : nothing;
      const second = own.begin(spec, models, { used: { earlier, before: nothing } }, 1 + (nth % 2));
      const lastNote = (await own.notes()).at(-1)?.kind;
      expect(await own.engine.run(second.context), `after note ${nth}`).toMatchObject({ result: 'Succeeded' });
      const kinds = (await own.notes()).map(({ kind }) => kind);
      expect(kinds.filter((kind) => kind === 'ModelReplied')).toHaveLength(3);
      expect(kinds.filter((kind) => kind === 'CallObserved')).toHaveLength(4);
      expect(await own.ran('echo looked'), `after note ${nth}`).toBe(1);
      const messages = models.requests.at(-1)?.messages;
      if (messages !== undefined)
        expect(said(messages).map((line) => line.replaceAll(own.harness.dir, ''))).toEqual(expected.slice(0, messages.length));
      expect(second.reported.patch).not.toContain('looked\n+looked');
      // Each request is paid for once, whatever was reported; one with a lost reply at its reservation.
      const { tokensIn = 0 } = second.reported.usage ?? {};
      const paid = earlier.tokensIn + tokensIn;
      if (lastNote === 'ModelAsked') expect(paid, `after note ${nth}`).toBeGreaterThan(3006);
      else expect(Math.abs(paid - 3003), `after note ${nth}: ${paid}`).toBeLessThanOrEqual(3);
    }
  });

  test('works 60 steps through one loss of its worker in the middle of a call, and does each of them once', async () => {
    const call = (name: string, args: object): Reply => ({ calls: [[name, args]] });
    const trail = Array.from({ length: 58 }, (_, n) => call('bash', { command: `echo line-${n} >> trail.txt` }));
    const fix = call('edit_file', { path: 'calc.py', old_text: 'a - b', new_text: 'a + b' });
    const play = steps(...trail, fix, call('submit', { answer: 'The sign was wrong.' }));
    const at = 5 + (20_261_128 % 50);
    const first = bed.begin(spec, new ScriptedModels(play));
    const isMade = (method: string, body: unknown): boolean => method === 'run' && JSON.stringify(body).includes(`line-${at} `);
    await expect(bed.engine.run(dying(first, isMade, 1))).rejects.toBe('Lost');
    const second = bed.begin(spec, new ScriptedModels(play));
    const outcome = await bed.engine.run(second.context);
    expect(outcome, outcome.message).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold' });
    const kinds = (await bed.notes()).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'CallObserved')).toHaveLength(60);
    const added = second.reported.patch?.match(/^\+line-\d+$/gm);
    expect(added).toEqual(trail.map((_, n) => `+line-${n}`));
  }, 180_000); // prettier-ignore

  test.each<readonly [what: string, note: string, called: number]>([
    ['was made and the model has not seen its answer', 'McpCalled', 1],
    ['was about to be made', 'Intent', 0],
  ])('does not repeat a call of an MCP server that %s when the worker died', async (_, note, called) => {
    const { port, process: server } = await startMcpServer();
    await using own = await AgentBed.open(binary, { web: { openDialer: createDialer({ clock: systemClock, env: {} }) } });
    const docs = { name: 'docs', url: `http://127.0.0.1:${port}/mcp`, headers: [], timeoutSeconds: 10, readOnly: false };
    const tools = { deny: [], timeouts: {}, mcpServers: [docs] };
    const play = steps({ calls: [['docs__count', {}]] }, { calls: [['docs__count', { words: 'again' }]] }, 'I stop.');
    const begin = (): AttemptRun & { readonly models: ScriptedModels } => {
      const models = new ScriptedModels(play);
      const run = own.begin({ ...spec, tools: { mcpServers: [{ name: 'docs' }] } } as never, models);
      return Object.assign(run, { models, context: { ...run.context, pool: { ...run.context.pool, tools, credentials: [] } } });
    };
    const first = begin();
    await expect(own.engine.run(dying(first, (method, kind) => method === 'note' && kind === note, 1))).rejects.toBe('Lost');
    const second = begin();
    expect(await own.engine.run(second.context)).toMatchObject({ class: 'Stuck', reason: 'NoAct' });
    server.kill('SIGKILL');
    const notes = await own.notes();
    const texts = notes.filter(({ kind }) => kind === 'CallObserved').map(({ data }) => String(data['text']));
    expect(texts).toEqual([
      expect.stringMatching(
        /^refused, nothing was done: an earlier worker began its commands and their end was not seen: they may be done/,
      ),
      `call ${called + 1}`,
    ]);
    const offered = [first, second].flatMap(({ models }) => models.requests.map((request) => JSON.stringify(request.tools)));
    expect(offered.length).toBeGreaterThan(2);
    expect(new Set(offered).size).toBe(1);
    expect(offered[0]).toContain('"docs__count"');
  });

  /** A sandbox whose container dies at each note, when it is in the log: at the first of a kind before the worker knows that. */
  function losing(run: AttemptRun, container: 'keeper' | 'tools'): AttemptContext {
    const met = new Set<string>();
    const keeper: AttemptContext['keeper'] = new Proxy(run.context.keeper, {
      get(target, name: string) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        if (name === 'note')
          return (kind: string, data: Readonly<Record<string, unknown>>): Promise<unknown> => keeper.noteAll([{ kind, data }]);
        if (name !== 'noteAll') return method.bind(target) as unknown;
        return async (all: readonly [Note, ...Note[]]): Promise<unknown> => {
          const written = await target.noteAll(all);
          const own = all.map(({ kind }) => kind).filter((kind) => notes.includes(kind));
          if (own.length === 0) return written;
          await bed.kill(container);
          if (container === 'tools' || own.every((kind) => met.has(kind))) return written;
          for (const kind of own) met.add(kind);
          throw Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' });
        };
      },
    });
    return { ...run.context, keeper };
  }

  test.each(['keeper', 'tools'] as const)(
    'has the same conversation and end when the container %s dies at every message',
    async (container) => {
      if (container === 'keeper') await bed.withKeeperProcess();
      const run = bed.begin(spec, new ScriptedModels(repair));
      const outcome = await bed.engine.run(losing(run, container));
      expect(outcome, outcome.message).toMatchObject({ result: 'Succeeded', reason: 'ChecksHold' });
      expect(await bed.ran('echo looked')).toBe(1);
      expect(run.reported.patch?.match(/^\+looked$/gm)).toHaveLength(1);
      expect(run.reported.usage).toMatchObject({ tokensIn: 3006, tokensOut: 150 });
      // A worker that takes over reads the same messages and charges.
      const transcript = await bed.transcript();
      expect(transcript.charges.map(({ usage }) => usage)).toEqual(
        [1, 2, 3].map((n) => ({ input: 1000 + n, cachedInput: 0, output: 50, estimated: false })),
      );
      expect(said(transcript.messages).slice(2)).toEqual([
        ...conversation,
        'Assistant: It holds.',
        expect.stringMatching(/^Tool: handed in/),
      ]);
    },
  );

  /** Refuses this many requests after the first one as too long. */
  const overflowing = (count: number): ScriptedModels =>
    new ScriptedModels((request, n) => {
      if (n > 1 && n - 2 < count) throw new AttemptFailure('AgentError', 'ContextExceeded', 'the conversation is too long');
      return repair(request, n);
    });

  test('shortens a conversation that the provider calls too long, and pays for no refusal', async () => {
    const run = bed.begin(spec, overflowing(1));
    expect(await bed.engine.run(run.context)).toMatchObject({ result: 'Succeeded' });
    // The first step, the summary of it, which a call for an answer has asked for again, and all three steps again, whose messages it replaced.
    expect(run.reported.usage).toMatchObject({ tokensIn: 1001 + 1003 + 1004 + 1005 + 1006 + 1007, tokensOut: 300 });
  });

  test('ends when every request is called too long, and names the cure', async () => {
    const run = bed.begin(spec, overflowing(Infinity));
    const outcome = await bed.engine.run(run.context);
    expect(outcome).toMatchObject({ class: 'InvalidInput', reason: 'ContextTooSmall' });
    expect(outcome.message).toContain('set contextTokens of the engine');
  });
});
