import { expect, vi } from 'vitest';
import type { ConversationMessage } from '@agentfleet/protocol/chat';
import { AgentBed, runnerOfTests, ScriptedModels, type Reply } from './agentBed.ts';
import { taskFor } from './loopBed.ts';

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 });

/** What a model reads of checks that do not hold, on a real keeper and a real runner. */
const { binary, test } = await runnerOfTests();

const suite = (lines: number): string =>
  `import unittest\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n` +
  ['a', 'b', 'c']
    .map((name) => `    def test_${name}(self):\n        self.assertEqual(add(2, 3), 5, '${name}\\n' * ${lines})\n`)
    .join('\n');

const lastOf = (messages: readonly ConversationMessage[]): string => messages.at(-1)?.text ?? '';
const reading = /read_file \{handle: "([^"]+)", from_line: (\d+)\} reads all about unit\]/;

test('what a report of the checks leaves out is read by its handle, of a submission too', async () => {
  await using bed = await AgentBed.open(binary);
  const files = { 'calc.py': 'def add(a, b):\n    return a - b\n', 'test_calc.py': suite(1200) };
  const read = (text: string): Reply => {
    const [, handle, from] = reading.exec(text) ?? [];
    return { calls: [['read_file', { handle, from_line: Number(from) }]] };
  };
  const models = new ScriptedModels(({ messages }, n) => {
    if (n === 1) return { calls: [['run_checks', {}]] };
    if (n === 2 || n === 4) return read(lastOf(messages));
    return n === 3 ? { calls: [['submit', { answer: 'done' }]] } : 'I stop.';
  });
  await bed.engine.run(bed.begin(taskFor(files, ['python3', '-m', 'unittest', '-v']), models).context);
  const seen = models.requests.map(({ messages }) => lastOf(messages));
  expect(seen[1]).toContain('[without its output about 2 tests, for want of room: test_b (test_calc.Calc.test_b), test_c');
  expect(seen[2]).toMatch(/^ *\d+ \| unit: does not hold/);
  expect(seen[3]).toMatch(/^The submission was refused: unit: does not hold.*as it was shown before: test_a/s);
  expect(seen[4]).toMatch(/^ *\d+ \| unit: does not hold/);
});

test('a test in a file of code that was changed is refused before anything is proved', async () => {
  await using bed = await AgentBed.open(binary);
  const lib = 'pub fn add(a: u8, b: u8) -> u8 { a - b }\n\n#[test]\nfn adds() {\n    assert_eq!(add(1, 2), 3);\n}\n';
  const edits = [
    { old_text: 'a - b', new_text: 'a + b' },
    { old_text: 'add(1, 2), 3', new_text: '3, 3' },
  ];
  const models = new ScriptedModels((_, n) =>
    n === 1 ? { calls: [['edit_file', { path: 'lib.rs', edits }], ['submit', { answer: 'done' }]] } : 'I stop.',
  ); // prettier-ignore
  await bed.engine.run(bed.begin(taskFor({ 'lib.rs': lib }, ['grep', '-q', 'a + b', 'lib.rs']), models).context);
  expect(lastOf(models.requests[1]?.messages ?? [])).toMatch(
    /^The submission was refused: unit: holds .*\n\nthe result is refused: lib\.rs was changed: its test adds is protected as it was; undo it;/s,
  );
});

test('files of a small window are read from their beginning on, and an account of files that were never written is refused once', async () => {
  await using bed = await AgentBed.open(binary);
  const source = Array.from({ length: 400 }, (_, n) => `# line ${n + 1}, with some words\n`).join('');
  const models = new ScriptedModels((_, n) => {
    if (n === 1) return { calls: ['a.py', 'b.py'].map((path) => ['read_file', { path }] as const) };
    if (n === 2)
      return {
        calls: [
          ['bash', { command: 'echo ok > made.txt' }],
          ['submit', { answer: 'Wrote made.txt and docs/guide/made.md.' }],
        ],
      };
    return { calls: [['submit', { answer: 'Wrote made.txt; docs/guide/made.md is left.' }]] };
  });
  const task = taskFor({ 'a.py': source, 'b.py': 'b = 1\n' }, ['grep', '-q', 'ok', 'made.txt']);
  const { context } = bed.begin(task, models);
  const experts = context.pool.experts.map((expert) => ({
    ...expert,
    chat: { contextTokens: 12_000, maxOutputTokens: 2000, toolCalls: 'Native' as const },
  }));
  const outcome = await bed.engine.run({ ...context, pool: { ...context.pool, experts } });
  const [first = '', second = ''] = (models.requests[1]?.messages ?? []).filter(({ role }) => role === 'Tool').map(({ text }) => text);
  expect(first).toMatch(/^ *1 \| # line 1, .*\[a\.py: lines 1 to \d+ of 400; from_line \d+ reads on\]$/s);
  expect(first).not.toContain('are not shown');
  expect(second).toBe('1 | b = 1\n[b.py: 1 line]');
  expect(lastOf(models.requests[2]?.messages ?? [])).toMatch(
    /^The submission was refused: your account names docs\/guide\/made\.md: there is no such file/,
  );
  expect(outcome.result).toBe('Succeeded');
});
