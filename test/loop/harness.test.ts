import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';
import type { Outcome } from '../../agent-image/src/attempt/index.ts';
import type { HarnessBrief, PoolBrief } from '@agentfleet/protocol/pool';
import { AgentBed, removeRunner, ScriptedModels, steps } from './agentBed.ts';
import { taskFor } from './loopBed.ts';
import { waitUntil } from '../../sandbox-image/keeper/src/testing/index.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Agent programs of all manners, as scripts, on a real keeper and a real runner without any wall. */
const built = await AgentBed.build();
const files = {
  'calc.py': 'def add(a, b):\n    return a - b\n',
  'test_calc.py':
    'import unittest\n\nfrom calc import add\n\n\nclass Calc(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(add(2, 3), 5)\n',
};
const spec = taskFor(files, ['python3', '-m', 'unittest', '-v'], 'Make add add {{key}}.');
const repairs = "printf 'def add(a, b):\\n    return a + b\\n' > calc.py";

interface Row {
  readonly what: string;
  readonly script: string;
  readonly harness?: Partial<HarnessBrief>;
  readonly ends: Pick<Outcome, 'result' | 'reason'> & Partial<Pick<Outcome, 'class'>>;
  readonly says?: RegExp;
}

const failed = (reason: Outcome['reason'], cls: Outcome['class']): Row['ends'] => ({ result: 'Failed', reason, class: cls }) as Row['ends'];
const succeeded: Row['ends'] = { result: 'Succeeded', reason: 'ChecksHold' };

const rows: readonly Row[] = [
  { what: 'solves it by its goal, which keeps templates in it', script: `test "$1" = 'Make add add {''{key}}.' && ${repairs}`, ends: succeeded },
  { what: 'reads the goal from its standard input', script: `grep -q 'Make add add' && ${repairs}`, harness: { input: 'Stdin' }, ends: succeeded },
  { what: 'solves it in the second run, by what was handed back', script: `if grep -q 'earlier run' /tmp/agentfleet/goal.md; then ${repairs}; else echo '# looked' >> calc.py; fi`, ends: succeeded },
  { what: 'leaves a process in the background', script: `sleep 611 & ${repairs}`, ends: succeeded },
  { what: 'prints 100 MB', script: `head -c 100000000 /dev/zero | tr '\\0' 'x'; ${repairs}`, ends: succeeded },
  { what: 'is missing', script: '', harness: { command: ['no-such-agent', '{{goal}}'] }, ends: failed('HarnessMissing', 'InvalidInput'), says: /no-such-agent cannot be started/ },
  { what: 'cannot be installed', script: repairs, harness: { install: { command: ['false'], timeoutSeconds: 10, network: 'None' } }, ends: failed('HarnessMissing', 'InvalidInput'), says: /correct harness\.install/ },
  { what: 'wants a terminal', script: "echo 'stdin is not a terminal' >&2; exit 1", ends: failed('HarnessTerminalNeeded', 'InvalidInput'), says: /the flag by which/ },
  { what: 'wants a login', script: "echo 'Please log in: open https://login.example in your browser'; exit 1", ends: failed('HarnessLoginNeeded', 'InvalidInput'), says: /\{\{key\}\}/ },
  { what: 'waits for a login', script: "echo x > calc.py; echo 'Please log in: open https://login.example'; sleep 612", harness: { stallSeconds: 2 }, ends: failed('HarnessLoginNeeded', 'InvalidInput') },
  { what: 'does nothing, and ignores stop', script: "echo x > calc.py; trap '' TERM; (trap '' TERM; sleep 613) & while :; do sleep 613; done", harness: { stallSeconds: 2 }, ends: failed('HarnessStalled', 'Stuck'), says: /for 2 s/ },
  { what: 'fails and changes nothing', script: 'echo no model; exit 3', ends: failed('HarnessFailed', 'Stuck'), says: /exit status 3.*no model/s },
  { what: 'ends and changes nothing', script: 'echo done', ends: failed('HarnessNoChange', 'Stuck') },
  { what: 'edits tests', script: "echo 'import unittest' > test_calc.py", ends: failed('HarnessRefused', 'PolicyViolation'), says: /test_calc\.py/ },
]; // prettier-ignore

describe.skipIf('why' in built)('an agent program', () => {
  const binary = 'binary' in built ? built.binary : '';
  afterAll(() => removeRunner(binary));

  const poolOf = (script: string, harness: Partial<HarnessBrief> = {}): PoolBrief => {
    const brief = { command: ['/bin/sh', '-c', script, 'agent', '{{goal}}'], env: {}, input: 'Template', api: 'None', rounds: 2, stallSeconds: 60 };
    const expert = { name: 'program', role: 'Generalist', engine: 'Harness', domains: ['*'], url: 'http://127.0.0.1:3128', harness: { ...brief, ...harness } };
    const pool = { pool: { name: 'coding', namespace: 'platform' }, maxBudget: {}, egress: { registries: [], environment: {} }, verifier: null };
    return { ...pool, experts: [expert] } as unknown as PoolBrief;
  }; // prettier-ignore
  const none = new ScriptedModels(steps());

  test.each(rows)('$what', async ({ script, harness, ends, says }) => {
    await using bed = await AgentBed.open(binary);
    const run = bed.begin(spec, none, { pool: poolOf(script, harness) });
    const outcome = await bed.engine.run(run.context);
    expect(outcome).toMatchObject(ends);
    if (says !== undefined) expect(outcome.message).toMatch(says);
    const [workspace] = (await run.context.keeper.info()).roots;
    const calc = await readFile(join(workspace?.path ?? '', 'calc.py'), 'utf8');
    if (ends.result === 'Failed' && ends.reason !== 'StillFails') expect(calc).toBe(files['calc.py']);
    const { running } = await run.context.keeper.info();
    expect(running).toBeNull();
  });

  test('a run that a worker left is run again on the tree before it', async () => {
    await using bed = await AgentBed.open(binary);
    const script = `if test -e half; then exit 9; fi; echo x > half; if test -e ${bed.harness.dir}/again; then rm half; ${repairs}; else sleep 614; fi`;
    const first = bed.begin(spec, none, { pool: poolOf(script) });
    const ended = bed.engine.run(first.context).catch((error: unknown) => error);
    const workspace = (await first.context.keeper.info()).roots[0]?.path ?? '';
    await waitUntil(() => readFile(join(workspace, 'half')).then(Boolean, () => false), 60_000);
    first.abort('Lost');
    await ended;
    await writeFile(join(bed.harness.dir, 'again'), '');
    const second = bed.begin(spec, none, { pool: poolOf(script) });
    expect(await bed.engine.run(second.context)).toMatchObject(succeeded);
  });
});
