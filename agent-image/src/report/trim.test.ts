import { Ajv, type ValidateFunction } from 'ajv';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ajvOptions, failureClasses, validators, type Run } from '@agentfleet/protocol/api';
import { cut, cutPatch, maxRunBytes, trim } from './shape.ts';
import { runFilter } from './reporter.ts';

const validate = validators<ValidateFunction>(new Ajv(ajvOptions)).AgentTask;

function problems(run: Run): unknown {
  const spec = { goal: 'g', workspace: { type: 'ConfigMap', configMap: { name: 'f' } }, checks: [{ name: 'u', command: ['true'] }] };
  const task = { apiVersion: 'agentfleet.dev/v1alpha1', kind: 'AgentTask', metadata: { name: 'a' }, spec, status: { run } };
  return validate(task) ? undefined : validate.errors;
}

const words = (maxLength: number): fc.Arbitrary<string> => fc.string({ unit: 'binary', maxLength });
const sha = fc.constant('ab'.repeat(32));
const snapshot = fc.integer({ min: 0, max: 9999 }).map((n) => `s${String(n).padStart(4, '0')}`);
const count = fc.oneof(fc.integer({ min: -5, max: 2 ** 40 }), fc.double({ noNaN: true }), fc.constant(Number.NaN));

const outcome = fc.record(
  {
    result: fc.constantFrom('Succeeded', 'Failed', 'Stopped'),
    class: fc.constantFrom(...failureClasses),
    reason: fc.constantFrom('ChecksPassed', 'NoCandidateLeft'),
    message: words(3000),
    checks: fc.array(fc.record({ name: fc.constant('c'.repeat(63)), passed: count, failed: count, skipped: count, seconds: count }), {
      maxLength: 20,
    }),
  },
  { requiredKeys: ['result', 'reason'] },
);

const plan = fc.array(
  fc.record({
    id: fc.constant('1.2.3'),
    kind: fc.constantFrom('Goal', 'Subtask', 'Step'),
    intent: words(300),
    state: fc.constantFrom('Pending', 'Running', 'Done', 'Failed', 'Dropped'),
  }),
  { maxLength: 120, size: 'max' },
);

/** Reports of an engine: texts of any length, lists of any size, numbers of any kind. */
const report = fc.record(
  {
    progress: fc.record({ done: count, total: count, message: words(900) }),
    output: fc.record({
      branch: fc.constantFrom('fix', 'x'.repeat(256)),
      message: words(900),
      pullRequest: fc.oneof(words(3000), fc.constantFrom('https://forge/1', `https://forge/${'x'.repeat(5000)}`)),
    }),
    plan,
    snapshots: fc.record({
      initial: snapshot,
      checkpointURI: fc.constant('ü'.repeat(1024)),
    }),
    usage: fc.record({
      tokensIn: count,
      tokensOut: count,
      toolCalls: count,
      cpuMillis: count,
      wallSeconds: count,
      candidates: count,
      vetoes: count,
      backtracks: count,
    }),
    signals: fc.record({ energy: fc.constant('-1.25') }),
    experts: fc.array(fc.record({ role: fc.constantFrom('Generalist', 'Specialist'), name: fc.constant('e'.repeat(63)) }), {
      maxLength: 30,
    }),
    pendingApproval: fc.record({
      action: fc.constant(`sha256:${'ab'.repeat(32)}`),
      summary: words(900),
      evidence: words(2000),
      expires: fc.constant('2030-01-01T00:00:00Z'),
    }),
    auditRoot: sha,
    artifacts: fc.array(
      fc.record({ name: fc.constant('a'.repeat(128)), uri: fc.constant(`s3://b/${'k'.repeat(900)}`), sha256: sha, bytes: fc.nat() }),
      { maxLength: 20 },
    ),
    patch: words(9000),
    rollback: fc.record({ snapshot, verified: fc.boolean(), irreversible: fc.array(words(600), { maxLength: 30, size: 'max' }) }),
    outcome,
  },
  { requiredKeys: [] },
);

const runs = report.map((fields): Run => ({ attempt: 2, epoch: 7, ...fields }));

describe('trim', () => {
  it('brings anything that an engine reports inside the schema and the size', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const kept = trim(run);
        expect(problems(kept)).toBeUndefined();
        expect(Buffer.byteLength(JSON.stringify(kept))).toBeLessThanOrEqual(maxRunBytes);
      }),
      { numRuns: 300 },
    );
  });

  it('keeps the identity, the end of the attempt, the usage and the restored snapshot', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const kept = trim(run);
        expect([kept.attempt, kept.epoch]).toEqual([2, 7]);
        expect([kept.outcome?.result, kept.outcome?.reason, kept.outcome?.class]).toEqual([
          run.outcome?.result,
          run.outcome?.reason,
          run.outcome?.class,
        ]);
        expect([kept.rollback?.snapshot, kept.rollback?.verified]).toEqual([run.rollback?.snapshot, run.rollback?.verified]);
        expect(kept.usage === undefined).toBe(run.usage === undefined);
      }),
      { numRuns: 200 },
    );
  });

  it('changes nothing the second time, and nothing that fits', () => {
    fc.assert(
      fc.property(runs, (run) => {
        const once = trim(run);
        expect(trim(once)).toEqual(once);
      }),
      { numRuns: 200 },
    );
    const small: Run = { attempt: 1, epoch: 1, progress: { done: 1, total: 2, message: 'edits src/a.py' }, patch: '--- a\n+++ b\n' };
    expect(trim(small)).toEqual(small);
  });

  it('drops finished steps before goals and running steps', () => {
    const node = (id: number, kind: string, state: string): object => ({ id: String(id), kind, intent: 'x', state });
    const nodes = [
      node(0, 'Goal', 'Running'),
      ...Array.from({ length: 90 }, (_, id) => node(id + 1, 'Step', 'Done')),
      node(99, 'Step', 'Running'),
    ];
    const { plan } = trim({ attempt: 1, epoch: 1, plan: nodes } as Run);
    expect(plan?.length).toBeLessThanOrEqual(64);
    expect(plan?.[0]?.kind).toBe('Goal');
    expect(plan?.at(-1)?.id).toBe('99');
  });

  it('drops the oldest failed steps first, whatever else there is', () => {
    const node = (id: string, state: string, kind = 'Step'): object => ({ id, kind, intent: 'x', state });
    const failed = Array.from({ length: 200 }, (_, at) => node(`r${at + 1}`, 'Failed'));
    const nodes = [node('g', 'Running', 'Goal'), node('good', 'Done'), ...failed, node('now', 'Running')];
    const ids = trim({ attempt: 1, epoch: 1, plan: nodes } as Run).plan?.map(({ id }) => id);
    expect(ids).toHaveLength(64);
    expect(ids).toEqual(expect.arrayContaining(['g', 'good', 'now', 'r200', 'r150']));
    expect(ids).not.toContain('r100');
  });
});

describe('cut', () => {
  it('counts characters, not halves of them, and marks omissions', () => {
    expect(cut('🙂🙂🙂', 3)).toBe('🙂🙂🙂');
    expect(cut('🙂🙂🙂🙂', 3)).toBe('🙂🙂…');
    expect(cut('\ud83d', 3)).toBe('\ufffd');
  });

  it('ends a patch after a whole line with a marker', () => {
    const patch = Array.from({ length: 50 }, (_, line) => `+line ${line}`).join('\n');
    const kept = cutPatch(patch, 100);
    expect(kept.length).toBeLessThanOrEqual(100);
    expect(kept).toMatch(/^\+line 0\n[^]*\+line \d+\n… cut; the whole is the artifact change.patch\n$/);
  });
});

describe('the filter of invalid fields', () => {
  it('leaves out one wrong field and names it; the outcome stays', () => {
    const { run, dropped } = runFilter()({
      attempt: 1,
      epoch: 1,
      auditRoot: 'not a hash',
      outcome: { result: 'Succeeded', reason: 'ChecksPassed' },
    });
    expect(run).toEqual({ attempt: 1, epoch: 1, outcome: { result: 'Succeeded', reason: 'ChecksPassed' } });
    expect(dropped).toEqual([expect.stringContaining('auditRoot')]);
  });
});

it('texts of the agent carry nothing that a terminal obeys', () => {
  const sly = 'rm -rf x\u001b[2K\u001b[1Gls\u202e\u0007\r\u009b31m\u2028';
  const shown = 'rm -rf x\\u{1b}[2K\\u{1b}[1Gls\\u{202e}\\u{7}\\u{d}\\u{9b}31m\\u{2028}';
  const { plan, progress, outcome, pendingApproval, rollback } = trim({
    attempt: 1,
    epoch: 1,
    plan: [{ id: '1', kind: 'Step', intent: sly, state: 'Done' }],
    progress: { done: 0, total: 1, message: `one\r\n${sly}` },
    outcome: { result: 'Failed', reason: 'NoCandidateLeft', message: sly },
    pendingApproval: { action: 'ab'.repeat(32), summary: sly, evidence: `\tsaid\n${sly}`, expires: '2030-01-01T00:00:00Z' },
    rollback: { irreversible: [sly] },
  } as unknown as Run);
  const texts = [plan?.[0]?.intent, outcome?.message, pendingApproval?.summary, rollback?.irreversible?.[0]];
  expect(texts).toEqual([shown, shown, shown, shown]);
  expect([progress?.message, pendingApproval?.evidence]).toEqual([`one\n${shown}`, `\tsaid\n${shown}`]);
});
