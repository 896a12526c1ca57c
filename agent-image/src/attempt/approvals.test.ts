import { silentLog, type Clock } from '@agentfleet/kube';
import type { AgentTask, Approval } from '@agentfleet/protocol/api';
import type { ShellAct } from '@agentfleet/protocol/inference';
import { describe, expect, test, vi } from 'vitest';
import { MemoryStore } from '../durable/testing/memoryStore.ts';
import { Newest } from '../tasks/assignmentRunner.ts';
import { actionDigest, actionText, questionDigest } from './notes.ts';
import { Approvals } from './approvals.ts';
import type { SandboxSession } from './sandboxSession.ts';
import { noUsage } from '../report/index.ts';
import { Meter } from './meter.ts';
import type { DecidedNote } from './notes.ts';
import type { AttemptContext, Report } from './ports.ts';
import type { Progress } from './progress.ts';

const action = actionDigest('uid', [], [{ tool: 'Shell', command: 'rm -r legacy' }]);
const held = { action, summary: 'run: rm -r legacy', evidence: 'it deletes' };
const said = (decision: Approval['decision'], more: Partial<Approval> = {}): Approval => ({
  action,
  decision,
  orderRef: { name: 'yes-1' },
  requester: 'ann',
  at: '2030-01-01T00:01:00Z',
  ...more,
});

interface Bench {
  readonly approvals: Approvals;
  readonly meter: Meter;
  readonly reports: Report[];
  readonly notes: { readonly kind: string; readonly data: unknown }[];
  readonly stop: AbortController;
  readonly decide: (approval: Approval) => void;
  readonly pass: (ms: number) => void;
}

const demands: object = { approvals: { require: ['Destructive'], timeoutSeconds: 900 } };

function open(noted: readonly DecidedNote[] = [], status: AgentTask['status'] = {}, policy = demands, store = new MemoryStore()): Bench {
  const time = { ms: 0 };
  const clock: Clock = { now: () => Date.parse('2030-01-01T00:00:00.700Z') + time.ms, monotonic: () => time.ms, after: () => ({ cancel: () => undefined }) };
  const spec = { policy };
  const task = { metadata: { name: 't', uid: 'uid' }, spec, status } as unknown as AgentTask;
  const newest = new Newest(task);
  const stop = new AbortController();
  const reports: Report[] = [];
  const notes: { kind: string; data: unknown }[] = [];
  const meter = new Meter(clock, { earlier: noUsage, before: noUsage }, { wallSeconds: 60 });
  const context = {
    task,
    clock,
    log: silentLog,
    store,
    signal: stop.signal,
    assignment: { attempt: 2, epoch: 3 },
    approvals: () => newest.approvals(),
    taskChanged: (signal: AbortSignal) => newest.changed(signal),
    report: (change: Report) => void reports.push(change),
  } as unknown as AttemptContext;
  const session = { note: (kind: string, data: unknown) => Promise.resolve(void notes.push({ kind, data })) } as unknown as SandboxSession;
  const progress = { say: () => undefined } as unknown as Progress;
  const decide = (approval: Approval): void => newest.see({ ...task, status: { ...status, approvals: [approval] } });
  return { approvals: new Approvals({ context, session, meter, progress, noted }), meter, reports, notes, stop, decide, pass: (ms) => void (time.ms += ms) };
} // prettier-ignore

describe('an act that waits', () => {
  test('is reported with its time, goes on when it is approved, is noted, and is not asked about again', async () => {
    const { approvals, reports, notes, decide } = open();
    const asked = approvals.ask(held);
    expect(reports).toEqual([{ pendingApproval: { ...held, expires: '2030-01-01T00:15:00Z' } }]);
    decide(said('Approved', { action: actionDigest('uid', [], [{ tool: 'Shell', command: 'rm -r other' }]) }));
    decide(said('Approved'));
    expect(await asked).toEqual({ decision: 'Approved', by: 'by order yes-1 of ann' });
    expect(reports.at(-1)).toEqual({ pendingApproval: undefined });
    expect(notes).toMatchObject([{ kind: 'Approved', data: { attempt: 2, action, order: 'yes-1', requester: 'ann' } }]);
    expect(await approvals.ask(held)).toMatchObject({ decision: 'Approved' });
    expect([reports.length, notes.length, approvals.rejection]).toEqual([2, 1, null]);
  });

  test('is stored whole before it is asked about, under its own digest', async () => {
    const acts: readonly ShellAct[] = [{ tool: 'Shell', command: `echo ${' '.repeat(600)}; rm -r legacy` }];
    const [whole, own] = [actionText('uid', [], acts), actionDigest('uid', [], acts)];
    const store = new MemoryStore();
    const { approvals, reports, decide } = open([], {}, demands, store);
    const asked = approvals.ask({ ...held, action: own, whole });
    const name = `act-${own.slice(7, 23)}.json`;
    await vi.waitFor(() => expect(reports).toHaveLength(1));
    expect(reports[0]).toMatchObject({ pendingApproval: { action: own }, artifacts: [{ name, sha256: own.slice(7) }] });
    expect(reports[0]).not.toHaveProperty('pendingApproval.whole');
    expect(store.objects.get(`default/t/uid/2/${name}`)?.content.toString()).toBe(whole);
    decide(said('Approved', { action: own }));
    expect(await asked).toMatchObject({ decision: 'Approved' });
  });

  test('leaves the budget alone', async () => {
    const { approvals, meter, decide, pass } = open();
    pass(10_000);
    const asked = approvals.ask(held);
    pass(3_600_000);
    expect(meter.usage().wallSeconds).toBe(10);
    decide(said('Rejected'));
    await asked;
    pass(5000);
    expect(meter.usage().wallSeconds).toBe(15);
    expect(() => meter.check()).not.toThrow();
  });

  test.each([
    [{}, 'run: rm -r legacy was rejected by order yes-1 of ann'],
    [{ orderRef: undefined, requester: undefined }, 'run: rm -r legacy was rejected because nobody answered in time'],
  ])('names who rejected it %#', async (more, words) => {
    const { approvals, decide } = open();
    const asked = approvals.ask(held);
    decide(said('Rejected', more as Partial<Approval>));
    expect((await asked).decision).toBe('Rejected');
    expect(approvals.rejection).toBe(words);
  });

  test('finds a decision that came before this worker, in the status or in the notes', async () => {
    const inStatus = open([], { approvals: [said('Approved')] });
    expect(await inStatus.approvals.ask(held)).toMatchObject({ decision: 'Approved' });
    const note: DecidedNote = { attempt: 2, action, decision: 'Rejected', summary: 'it', at: '', order: 'no' };
    const inNotes = open([note]);
    expect(inNotes.approvals.rejection).toBe('it was rejected by order no');
    expect(await inNotes.approvals.ask(held)).toMatchObject({ decision: 'Rejected' });
    expect([inStatus.reports, inNotes.reports, inNotes.notes]).toEqual([[], [], []]);
    expect(open([{ ...note, attempt: 1 }]).approvals.rejection).toBeNull();
  });

  test('is asked about where only the log says that it was approved: whoever is in the pod can write that', async () => {
    const forged: DecidedNote = { attempt: 2, action, decision: 'Approved', summary: 'it', at: '', order: 'yes-1', requester: 'ann' };
    const { approvals, reports, decide } = open([forged]);
    const asked = approvals.ask(held);
    expect(reports).toMatchObject([{ pendingApproval: held }]);
    decide(said('Rejected'));
    expect(await asked).toMatchObject({ decision: 'Rejected' });
    const known = open([forged], { approvals: [said('Approved')] });
    expect(await known.approvals.ask(held)).toMatchObject({ decision: 'Approved' });
    expect([known.reports, known.notes]).toEqual([[], []]);
  });

  test('a worker that takes over does not begin the time anew', async () => {
    const run = { attempt: 2, epoch: 2, pendingApproval: { ...held, expires: '2030-01-01T00:03:00Z' } };
    const { approvals, reports, stop } = open([], { run });
    const asked = approvals.ask(held);
    expect(reports[0]?.pendingApproval?.expires).toBe('2030-01-01T00:03:00Z');
    stop.abort('Quiesce');
    await expect(asked).rejects.toBe('Quiesce');
    expect(reports.at(-1)).toEqual({ pendingApproval: undefined });
  });

  test('is taken back with what asks, while the attempt goes on', async () => {
    const { approvals, reports } = open();
    const gone = new AbortController();
    const asked = approvals.ask(held, gone.signal);
    gone.abort('Over');
    await expect(asked).rejects.toBe('Over');
    expect(reports.at(-1)).toEqual({ pendingApproval: undefined });
  });
});

test('an action is named by what would be done, whatever the order of keys, and by its task', () => {
  const edit = { path: 'a', range: { startByte: 0, endByte: 1 }, before: 'x', after: 'y', expectedSha256: '0'.repeat(64) };
  const other = { expectedSha256: '0'.repeat(64), after: 'y', before: 'x', range: { endByte: 1, startByte: 0 }, path: 'a' };
  expect(actionDigest('uid', [edit], [])).toBe(actionDigest('uid', [other], []));
  expect(action).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(
    new Set([action, actionDigest('uid2', [], [{ tool: 'Shell', command: 'rm -r legacy' }]), actionDigest('uid', [edit], [])]).size,
  ).toBe(3);
});

describe('a question of the model', () => {
  const asked = { action: questionDigest('uid', 'a1.s3.c0', 'Which port?'), text: 'Which port?' };
  const answered = said('Approved', { action: asked.action, decision: 'Answered', answer: '8080' });

  test('waits with its text, however the task stands to approvals, and is noted with its answer', async () => {
    const { approvals, reports, notes, meter, decide, pass } = open([], {}, {});
    const answer = approvals.question(asked);
    const pendingApproval = { action: asked.action, kind: 'Question', summary: asked.text, question: asked.text };
    expect(reports).toEqual([{ pendingApproval: { ...pendingApproval, expires: '2030-01-01T00:15:00Z' } }]);
    pass(600_000);
    expect(meter.usage().wallSeconds).toBe(0);
    decide(answered);
    expect(await answer).toEqual({ answer: '8080', by: 'by order yes-1 of ann' });
    expect(notes).toMatchObject([{ kind: 'Answered', data: { attempt: 2, action: asked.action, answer: '8080', order: 'yes-1' } }]);
    expect(await approvals.question(asked)).toMatchObject({ answer: '8080' });
    expect([notes.length, approvals.rejection]).toEqual([1, null]);
  });

  test.each([
    ['nobody answered', { orderRef: undefined, requester: undefined }, 'because nobody answered in time'],
    ['somebody declined', {}, 'by order yes-1 of ann'],
  ])('stays without an answer when %s, which rejects no act', async (_, more, by) => {
    const { approvals, notes, decide } = open();
    const answer = approvals.question(asked);
    decide(said('Rejected', { action: asked.action, ...more } as unknown as Partial<Approval>));
    expect(await answer).toEqual({ answer: null, by });
    expect(notes).toMatchObject([{ kind: 'Unanswered' }]);
    expect(approvals.rejection).toBeNull();
    const again = open([notes[0]?.data as DecidedNote]);
    expect(await again.approvals.question(asked)).toEqual({ answer: null, by });
    expect(again.reports).toEqual([]);
  });

  test('has a name of its own by its call and its text', () => {
    const names = [asked.action, questionDigest('uid', 'a1.s3.c1', 'Which port?'), questionDigest('u2', 'a1.s3.c0', 'Which port?')];
    expect(new Set(names).size).toBe(3);
  });
});

test('a rejection comes back with its reason', async () => {
  const { approvals, notes, decide } = open();
  const asked = approvals.ask({ ...held, kind: 'Review' });
  decide(said('Rejected', { reason: 'the name is wrong' }));
  expect(await asked).toEqual({ decision: 'Rejected', by: 'by order yes-1 of ann', why: 'the name is wrong' });
  expect(await open([notes[0]?.data as DecidedNote]).approvals.ask(held)).toMatchObject({ why: 'the name is wrong' });
});
