import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { systemClock } from '@agentfleet/kube';
import type { HarnessBrief, PoolBrief } from '@agentfleet/protocol/pool';
import { AttemptFailure } from '../../agent-image/src/base/failure.ts';
import { noDecisionModels } from '../../agent-image/src/decision/testing/noDecisionModels.ts';
import { createDialer, createEgress } from '../../agent-image/src/egress/index.ts';
import { AgentBed, runnerOfTests, ScriptedModels, steps } from './agentBed.ts';
import { manners, repairs, succeeded, walled } from '../programs/badPrograms.ts';
import { files } from '../programs/image.ts';
import { compute, taskFor, type AttemptRun } from './loopBed.ts';
import { waitUntil } from '../../sandbox-image/keeper/src/testing/index.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

/** Agent programs of all manners, as scripts, on a real keeper and a real runner without any wall. */
const { binary, describe } = await runnerOfTests();
const spec = taskFor(files, ['python3', '-m', 'unittest', '-v'], 'Make add add {{key}}.');
// Split, so that secret scanners do not report this file.
const token = ['ghp', '0123456789abcdefghijABCDEFGHIJ456789'].join('_');
const marked = '[REDACTED:Token]';
/** Rows of docs/harnesses.md that are tested elsewhere: in a pod, or not at all, because they take an hour. */
const elsewhere = [...walled.map(({ row }) => row), 'runs for an hour'];

test('each bad program of docs/harnesses.md is played, and ends with its class and reason there', async () => {
  const docs = await readFile(join(import.meta.dirname, '../../docs/harnesses.md'), 'utf8');
  const table = docs.slice(docs.indexOf('## What a bad program gets')).matchAll(/^\| ([^-\s][^|]*?) +\| (\S[^|]*?) +\| (\S[^|]*?) +\|$/gm);
  const rows = [...table].slice(1).map(([, row = '', reason = '', cure = '']) => ({ row, reason, cure }));
  expect(rows.length).toBeGreaterThan(10);
  const played = [...manners, ...walled].filter(({ row }) => row !== null);
  expect(rows.map(({ row }) => row).filter((row) => !played.some((one) => one.row === row) && !elsewhere.includes(row))).toEqual([]);
  for (const { row, ends, what } of played) {
    const found = rows.find((one) => one.row === row);
    if (ends.result === 'Failed') for (const word of [ends.class, `\`${ends.reason}\``]) expect(found?.reason, what).toContain(word);
    else expect(found?.reason, what).toMatch(/^none: /);
  }
});

/** Returns the output of programs, by the notes of the event log, and how much of it was cut. */
async function outputOf(bed: AgentBed): Promise<{ readonly text: string; readonly cut: number }> {
  const notes = (await bed.notes()).filter(({ kind }) => kind === 'ProgramOutput').map(({ data }) => data);
  const cut = notes.map(({ omitted, dropped }) => Number(omitted ?? 0) + Number(dropped ?? 0));
  return { text: notes.map(({ text }) => String(text)).join(''), cut: cut.reduce((sum, one) => sum + one, 0) };
}

describe('an agent program', () => {
  const poolOf = (script: string, harness: Partial<HarnessBrief> = {}): PoolBrief => {
    const brief = { command: ['/bin/sh', '-c', script, 'agent', '{{goal}}'], env: {}, input: 'Template', api: 'None', rounds: 2, stallSeconds: 60 };
    const expert = { name: 'program', role: 'Generalist', engine: 'Harness', domains: ['*'], url: 'http://127.0.0.1:3128', harness: { ...brief, ...harness } };
    const pool = { pool: { name: 'coding', namespace: 'platform' }, maxBudget: {}, egress: { registries: [], environment: {} }, verifier: null };
    return { ...pool, experts: [expert] } as unknown as PoolBrief;
  }; // prettier-ignore
  const none = new ScriptedModels(steps());

  test.each(manners)('$what', async ({ what, script, harness, ends, says, spec: more }) => {
    await using bed = await AgentBed.open(binary);
    const run = bed.begin({ ...spec, ...more }, none, { pool: poolOf(script, harness) });
    const outcome = await bed.engine.run(run.context);
    expect(outcome).toMatchObject(ends);
    if (says !== undefined) expect(outcome.message).toMatch(says);
    const [workspace] = (await run.context.keeper.info()).roots;
    const calc = await readFile(join(workspace?.path ?? '', 'calc.py'), 'utf8');
    if (ends.result === 'Failed' && ends.reason !== 'StillFails') expect(calc).toBe(files['calc.py']);
    const { running } = await run.context.keeper.info();
    expect(running).toBeNull();
    const printed = await outputOf(bed);
    expect(printed.text.length).toBeLessThan(65_536);
    if (what === 'prints 100 MB') expect(printed.text.length + printed.cut).toBe(100_000_000);
  });

  test('its output is in the log while it runs, and then the commands of its children; both without secrets', async () => {
    await using bed = await AgentBed.open(binary);
    const go = join(bed.harness.dir, 'go');
    const waits = `while ! test -e ${go}; do sleep 0.1; done`;
    const run = bed.begin(spec, none, {
      pool: poolOf(`echo I begin with ${token}; sh -c 'sleep 1; true' ${token}; ${waits}; ${repairs}; echo done >&2`),
    });
    const outcome = bed.engine.run(run.context);
    await waitUntil(async () => (await outputOf(bed)).text !== '', 60_000);
    expect((await run.context.keeper.info()).running).not.toBeNull();
    expect((await outputOf(bed)).text).toBe(`I begin with ${marked}\n`);
    await writeFile(go, '');
    expect(await outcome).toMatchObject(succeeded);
    expect((await outputOf(bed)).text).toBe(`I begin with ${marked}\ndone\n`);
    const seen: unknown[] = [];
    for await (const { type, body } of run.context.keeper.events())
      if (type === 'ExecEnded' && Array.isArray(body['commands'])) seen.push(...body['commands']);
    const child = { argv: ['sh', '-c', 'sleep 1; true', marked] };
    expect(seen).toEqual(expect.arrayContaining([expect.objectContaining(child), expect.objectContaining({ argv: ['sleep', '1'] })]));
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

  describe('that acts by tools', () => {
    const program = join(import.meta.dirname, '../programs/leaves_acts.py');
    const openEgress = createEgress(createDialer({ clock: systemClock, env: {} }));
    const plain = noDecisionModels({ compute, experts: [] });

    const toolsPool = (bed: AgentBed, how: 'ends' | 'stays'): PoolBrief => {
      const { port } = bed.harness.running.keeper.parts.egress;
      const command = ['python3', program, '{{key}}', String(port), how];
      const chat = { contextTokens: 32_768, maxOutputTokens: 2048, toolCalls: 'Native' };
      const model = { name: 'gen', role: 'Specialist', engine: 'OpenAI', domains: ['*'], url: 'http://127.0.0.1:1', chat };
      const { experts, ...pool } = poolOf('', { command, api: 'Chat', model: 'gen', acts: 'Tools', rounds: 1 });
      return { ...pool, experts: [...experts, model] } as unknown as PoolBrief;
    };
    const treeOf = async ({ context }: AttemptRun): Promise<readonly string[]> =>
      (await readdir((await context.keeper.info()).roots[0]?.path ?? '')).filter((name) => !name.startsWith('__')).toSorted();

    test('ends: calls that wait are not done, and the one under way is cancelled and undone before the result is judged', async () => {
      await using bed = await AgentBed.open(binary, { openEgress });
      const run = bed.begin(spec, none, { pool: toolsPool(bed, 'ends') });
      expect(await bed.engine.run(run.context)).toMatchObject(succeeded);
      expect(await treeOf(run)).toEqual(['begun.txt', 'calc.py', 'test_calc.py']);
      const { keeper, assignment } = run.context;
      expect(await bed.engine.rollback(bed.begin(spec, none, { keeper, assignment }).context, 'Initial')).toMatchObject({ verified: true });
      expect(await treeOf(run)).toEqual(['calc.py', 'test_calc.py']);
      expect([await bed.ran('half.txt'), await bed.ran('taken-back.txt'), await bed.ran('late.txt')]).toEqual([1, 0, 0]);
      expect((await bed.notes()).filter(({ kind }) => kind === 'ProgramCall')).toHaveLength(1);
    });

    test('stays: once a call has ended the attempt, those that wait are not done', async () => {
      await using bed = await AgentBed.open(binary, { openEgress });
      const secondOpinion: typeof plain.secondOpinion = async (act) => {
        if (!act.subject.includes('spent')) return plain.secondOpinion(act);
        await delay(500); // the others come meanwhile
        throw new AttemptFailure('BudgetExceeded', 'TokensExceeded', 'the budget is spent');
      };
      const run = bed.begin(spec, none, { pool: toolsPool(bed, 'stays'), decisionModels: { ...plain, secondOpinion } });
      expect(await bed.engine.run(run.context)).toMatchObject({ class: 'BudgetExceeded', reason: 'TokensExceeded' });
      expect(await treeOf(run)).toEqual(['calc.py', 'test_calc.py']);
      expect([await bed.ran('spent.txt'), await bed.ran('late.txt')]).toEqual([0, 0]);
    });
  });
});
