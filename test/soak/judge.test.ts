import { expect, test } from 'vitest';
import type { AgentTask } from '@agentfleet/protocol/api';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { seededRandom } from '@agentfleet/kube/testing';
import { foreignKeys, orphansOf } from './inventory.ts';
import { factsOf, judge, type Evidence, type LogFacts } from './judge.ts';
import { slopeOf, verdictOf, type Sample } from './slope.ts';
import { caseIn, draw, goalOf, nextCall, type Drawn, type Kind } from './tasks.ts';

const drawn = (kind: Kind): Drawn => ({ name: kind, kind, word: 'w1' });

function ended(name: string, phase: string, conditions: Readonly<Record<string, string>> = {}): AgentTask {
  const all = Object.entries(conditions).map(([type, status]) => ({ type, status, reason: 'R', message: '' }));
  return { metadata: { name }, status: { phase, finished: 'true', conditions: all } } as unknown as AgentTask;
}

const succeeded = (name: string): AgentTask => ended(name, 'Succeeded', { Succeeded: 'True' });
const log = (more: Partial<LogFacts> = {}): LogFacts => ({ faults: [], repeated: [], done: 0, open: 0, ...more });

/** One task of each kind, ended as it has to. */
const good: Evidence = {
  submitted: (['write', 'outward', 'wrong', 'cancelled'] as const).map(drawn),
  tasks: [
    succeeded('write'),
    succeeded('outward'),
    ended('wrong', 'Failed', { Succeeded: 'False', RolledBack: 'True' }),
    ended('cancelled', 'Cancelled', { Succeeded: 'False' }),
  ],
  ledger: { outward: 1 },
  logs: new Map([
    ['write', log()],
    ['outward', log({ done: 1 })],
    ['wrong', log()],
  ]),
  broken: [],
  orphans: [],
};

const others = (name: string): readonly AgentTask[] => good.tasks.filter(({ metadata }) => metadata.name !== name);
const withLog = (name: string, facts: LogFacts): Evidence => ({ ...good, logs: new Map([...good.logs, [name, facts]]) });

test('a soak in which all is well has no fault', () => {
  expect(judge(good)).toEqual({ succeeded: 2, failed: 1, cancelled: 1, lost: [], twice: [], wrong: [], orphans: [] });
});

test.each<readonly [string, Evidence, 'lost' | 'twice' | 'wrong' | 'orphans']>([
  ['a task that is gone', { ...good, tasks: others('write') }, 'lost'],
  [
    'a task that has not finished',
    { ...good, tasks: [...others('write'), { ...succeeded('write'), status: { phase: 'Running' } }] },
    'lost',
  ],
  [
    'a failure that was not rolled back',
    { ...good, tasks: [...others('wrong'), ended('wrong', 'Failed', { Succeeded: 'False' })] },
    'lost',
  ],
  ['a task that a death made fail', { ...good, tasks: [...others('write'), ended('write', 'Failed', { RolledBack: 'True' })] }, 'wrong'],
  ['a task that succeeds by mistake', { ...good, tasks: [...others('wrong'), succeeded('wrong')] }, 'wrong'],
  ['a task that nobody submitted', { ...good, tasks: [...good.tasks, succeeded('other')] }, 'twice'],
  ['an effect that was made twice', { ...good, ledger: { outward: 2 } }, 'twice'],
  ['an effect that was lost', { ...good, ledger: {} }, 'wrong'],
  ['an effect of no task', { ...good, ledger: { ...good.ledger, other: 1 } }, 'wrong'],
  ['an effect that no log knows', withLog('outward', log()), 'wrong'],
  ['a command that ran twice', withLog('write', log({ repeated: ['ExecEnded 1'] })), 'twice'],
  ['a broken log', withLog('write', log({ faults: ['its event log is broken'] })), 'wrong'],
  ['no log', { ...good, logs: new Map([...good.logs].filter(([name]) => name !== 'write')) }, 'wrong'],
  ['a broken history', { ...good, broken: ['write: the epoch went back'] }, 'wrong'],
  ['what is left', { ...good, orphans: ['Pod/x'] }, 'orphans'],
])('%s is reported', (_, evidence, where) => {
  const verdict = judge(evidence);
  expect(verdict[where].length).toBeGreaterThan(0);
});

test('an effect whose end was not seen may stand once or not at all', () => {
  const open = withLog('outward', log({ open: 1 }));
  expect(judge(open).wrong).toEqual([]);
  expect(judge({ ...open, ledger: {} }).wrong).toEqual([]);
});

test('facts of a log are commands that are repeated, and effects that ended or did not', () => {
  const noted = (kind: string, data: object): Partial<AuditRecord> => ({ type: 'Noted', body: { kind, data } });
  const records = [
    { type: 'ExecRequested', body: { execId: 'a' } },
    { type: 'ExecEnded', body: { execId: 'a' } },
    { type: 'ExecEnded', body: { execId: 'a' } },
    noted('EffectPlanned', { id: '1' }),
    noted('EffectEnded', { id: '1', outcome: 'Done' }),
    noted('EffectPlanned', { id: '2' }),
    noted('EffectPlanned', { id: '3' }),
    noted('EffectEnded', { id: '3', outcome: 'Unknown' }),
  ];
  expect(factsOf(records as AuditRecord[], [])).toEqual({ faults: [], repeated: ['ExecEnded a'], done: 1, open: 2 });
});

test('orphans are what came since and is of no pod of a part', () => {
  const before = new Set(['Secret/a', 'Pod/w-1']);
  const now = new Set(['Secret/a', 'Pod/w-2', 'Lease/w-2', 'Lease/w-1', 'Pod/task']);
  expect(orphansOf(before, now, new Set(['w-2']))).toEqual(['Lease/w-1', 'Pod/task']);
  const [known, foreign] = ['11111111-1111-4111-8111-111111111111', '22222222-2222-4222-8222-222222222222'];
  expect(foreignKeys([`a/${known}/1.json`, `a/${foreign}/1.json`, 'packs/x'], new Set([known]))).toEqual([`a/${foreign}/1.json`]);
});

test('the same seed draws the same tasks, and the model does for each what its goal asks', () => {
  const [one, two] = [seededRandom(7), seededRandom(7)];
  const tasks = Array.from({ length: 300 }, (_, at) => draw(at, one));
  expect(tasks).toEqual(tasks.map((_, at) => draw(at, two)));
  expect(new Set(tasks.map(({ kind }) => kind)).size).toBe(4);
  for (const task of tasks) {
    const { name, kind, word } = task;
    const read = caseIn(JSON.stringify([{ role: 'user', content: goalOf(task) }]));
    expect(read).toEqual({ name, kind, word });
    const names = Array.from({ length: 9 }, (_, made) => nextCall(read!, made).name);
    expect(names.lastIndexOf('ledger__record')).toBe(kind === 'outward' ? 0 : -1);
    expect(new Set(names.slice(-4))).toEqual(new Set(['bash', 'submit']));
  }
});

/** A process that holds 100 MiB and more each hour, looked at every 10 s. */
const life = (name: string, from: number, minutes: number, perHour: number): readonly Sample[] =>
  Array.from({ length: minutes * 6 }, (_, at) => ({
    life: name,
    at: from + at * 10_000,
    mib: 100 + (perHour * at) / 360 + (at < 12 ? 40 : 0) + Math.sin(at),
  }));

test.each([
  ['one that stays as it is', life('a', 0, 120, 0), 'Flat'],
  ['one that grows', life('a', 0, 120, 60), 'Grows'],
  ['one that is killed now and then and grows in each life', [0, 40, 80, 120].flatMap((at) => life(`${at}`, at * 60_000, 40, 60)), 'Grows'],
  ['lives that begin higher and do not grow', [0, 40, 80, 120].flatMap((at) => life(`${at}`, at * 60_000, 40, 0)), 'Flat'],
  ['lives that are too short', [0, 3, 6].flatMap((at) => life(`${at}`, at * 60_000, 3, 60)), 'Open'],
] as const)('of memory: %s', (_, samples, verdict) => {
  expect(verdictOf(slopeOf(samples, 0))).toBe(verdict);
});
