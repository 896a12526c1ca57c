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
