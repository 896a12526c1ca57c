import { expect, onTestFinished, test, vi } from 'vitest';
import { type ExpertPool, maxOrderMessage } from '@agentfleet/protocol/api';
import type { ConversationEntry } from '@agentfleet/protocol/results';
import type { TaskRow } from '../../../src/base/wire.ts';
import { RequestError } from './api.ts';
import { filterOf, matching, ordered, poolsOf, summarise } from './fleet.ts';
import { afterError } from './hooks.ts';
import { FleetStore } from './store.ts';
import { candidatesOf, changesBySnapshot, doneSince, gistOf, Talk, type Turn } from './talk.ts';
import { bytes, clock, duration, longestWords, short, span, wilson } from './text.ts';

const row = (name: string, more: Partial<TaskRow> = {}): TaskRow => ({
  key: `ns/${name}`,
  version: '1',
  namespace: 'ns',
  name,
  goal: `goal of ${name}`,
  phase: 'Running',
  created: 0,
  tokens: 0,
  candidates: 0,
  vetoes: 0,
  ...more,
});

// Wilson (1927) at 95 %, to three digits.
test.each([
  [0, 0, 0, 1],
  [0, 10, 0, 0.278],
  [10, 10, 0.722, 1],
  [14, 18, 0.548, 0.91],
  [500, 1000, 0.469, 0.531],
])('bounds of %d of %d', (hits, trials, low, high) => {
  const [from, to] = wilson(hits, trials);
  expect(from).toBeCloseTo(low, 3);
  expect(to).toBeCloseTo(high, 3);
});

test('numbers as people read them', () => {
  expect([short(999), short(1000), short(61_400), short(1_234_567)]).toEqual(['999', '1.0 k', '61.4 k', '1.2 M']);
  expect([bytes(1), bytes(36_507_222_016)]).toEqual(['1 B', '34.0 GiB']);
  expect([duration(56), duration(1500), duration(20_000)]).toEqual(['56 ms', '1.5 s', '20 s']);
  expect([span(0), span(61_000), span(3_700_000), span(200_000_000)]).toEqual(['0 s', '1 min', '1 h 1 min', '2 d']);
});

test('times of day are those of the viewer', () => {
  vi.stubEnv('TZ', 'Asia/Tokyo');
  onTestFinished(() => void vi.unstubAllEnvs());
  expect([clock('2026-01-01T20:04:05.678Z'), clock('no time')]).toEqual(['05:04:05', '']);
});

test('fields of the page take as many characters as the API', () => {
  // The page does not import the API itself, which would bring its schemas along.
  expect(longestWords).toBe(maxOrderMessage);
});

test('what needs a person comes first, soonest end before; then what is stuck, what runs, what ended', () => {
  const waits = (expires: number) => ({ waits: { kind: 'Act', summary: 's', expires } as const });
  const rows = [
    row('ended', { phase: 'Succeeded', created: 9 }),
    row('runs', { created: 8 }),
    row('late', waits(20)),
    row('stuck', { stuck: { reason: 'R', message: 'm' } }),
    row('soon', waits(10)),
  ];
  const order = (search: string): string[] => {
    const filter = filterOf(new URLSearchParams(search));
    return matching(ordered(rows, filter.sort), filter).map(({ name }) => name);
  };
  expect(order('')).toEqual(['soon', 'late', 'stuck', 'runs', 'ended']);
  expect(order('phase=Succeeded')).toEqual(['ended']);
  expect(order('q=GOAL of ST')).toEqual(['stuck']);
  expect(order('sort=name')).toEqual(['ended', 'late', 'runs', 'soon', 'stuck']);
});

test('sums of the fleet: judged are those that succeeded or failed', () => {
  const sums = summarise([
    row('a', { phase: 'Succeeded', cost: '0.5', ended: 1 }),
    row('b', { phase: 'Failed', failure: 'CheckFailed' }),
    row('c', { phase: 'Cancelled' }),
    row('d', { tokens: 30, budgetTokens: 100, queuedSince: 7 }),
  ]);
  expect(sums).toMatchObject({ succeeded: 1, judged: 2, cost: 0.5, queued: 1, oldestQueued: 7, burning: { tokens: 30, budget: 100 } });
  expect(sums.byClass.get('CheckFailed')).toBe(1);
});

test('an observation completes its call, also where two steps use one id; others stand alone', () => {
  const talk = new Talk();
  const at = '2026-01-01T00:00:00Z';
  const reply = (seq: number, step: number): ConversationEntry => ({
    type: 'Assistant',
    seq,
    at,
    step,
    text: '',
    calls: [{ id: 'a', name: 'bash', arguments: '{"command":"ls"}' }],
    proposals: 1,
  });
  const seen = (seq: number, step: number, callId: string, text: string): ConversationEntry => ({
    type: 'Observation',
    seq,
    at,
    step,
    callId,
    tool: 'bash',
    text,
    ok: true,
  });
  const tried: ConversationEntry = {
    type: 'Note',
    seq: 6,
    at,
    kind: 'Tried',
    data: { id: 'sha256:abcdef0123', signals: { pSuccess: 0.5 } },
  };
  for (const entry of [reply(1, 1), seen(2, 1, 'a', 'one'), reply(3, 2), seen(4, 2, 'a', 'two'), seen(5, 2, 'zz', 'lost'), tried])
    talk.add(entry);
  talk.add({ type: 'Pause', seq: 7, at });
  expect(talk.seq).toBe(7);
  expect(talk.turns.map((turn) => (turn.type === 'Assistant' ? turn.done[0]?.observation?.text : turn.type))).toEqual([
    'one',
    'two',
    'Observation',
    'Note',
  ]);
  expect(candidatesOf(talk.turns)).toMatchObject([{ id: 'abcdef01', pSuccess: 0.5 }]);
  expect([gistOf({ arguments: '{"path":"a.py"}' }), gistOf({ arguments: 'no json' })]).toEqual(['a.py', 'no json']);
});

test('what changed between snapshots: edits that were made, commands that ran; nothing that was refused or taken back', () => {
  const at = '2026-01-01T00:00:00Z';
  const snapshot = (seq: number, id: string): Turn => ({ type: 'Snapshot', seq, at, id, label: id });
  const call = (name: string, given: object, seen: object): object => ({
    id: name,
    name,
    arguments: JSON.stringify(given),
    observation: { type: 'Observation', ok: true, text: '', ...seen },
  });
  const reply = (seq: number, ...done: readonly object[]): Turn => ({ type: 'Assistant', seq, at, step: seq, done }) as unknown as Turn;
  const replaced = { old_text: 'a', new_text: 'b' };
  const edit = (path: string): object => ({ path, ...replaced });
  const accepted: Turn = {
    type: 'Note',
    seq: 8,
    at,
    kind: 'Accepted',
    data: { snapshot: 's3', edits: [{ path: 'found.py', before: 'x', after: 'y' }] },
  };
  const turns: readonly Turn[] = [
    snapshot(1, 's0'),
    reply(
      2,
      call('edit_file', edit('made.py'), {}),
      call('edit_file', edit('test.py'), { refused: 'protected', ok: false }),
      call('edit_file', edit('wrong.py'), { ok: false }),
      call('bash', { command: 'make' }, { ok: false }),
      call('read_file', { path: 'a' }, {}),
    ),
    snapshot(3, 's1'),
    reply(4, call('edit_file', edit('gone.py'), {})),
    { type: 'Restored', seq: 5, at, id: 's0', verified: true },
    snapshot(6, 's2'),
    snapshot(7, 's3'),
    accepted,
    reply(
      9,
      call('edit_file', edit('one.py'), {}),
      call('bash', { command: 'make' }, {}),
      call('edit_file', { path: 'two.py', edits: [replaced, replaced] }, {}),
    ),
    { type: 'Snapshot', seq: 10, at, id: 's4', label: 'step 9' },
    { type: 'Snapshot', seq: 11, at, id: 's5', label: 'step 9' },
    reply(12, call('bash', { command: 'ls' }, {})),
  ];
  const found = changesBySnapshot(turns);
  const edits = (paths: readonly string[]) => paths.map((path) => expect.objectContaining({ path }) as object);
  expect([...found.values()]).toEqual([
    { from: undefined, edits: [], commands: [] },
    { from: 's0', edits: edits(['made.py']), commands: ['make'] },
    { from: 's0', edits: [], commands: [] },
    { from: 's2', edits: edits(['found.py']), commands: [] },
    { from: 's3', edits: edits(['one.py']), commands: [] },
    { from: 's4', edits: edits(['two.py', 'two.py']), commands: ['make'] },
  ]);
  expect(doneSince(turns, 's4')).toEqual({ edits: edits(['two.py', 'two.py']), commands: ['make', 'ls'] });
  expect(doneSince(turns, 's0')).toEqual({ edits: edits(['found.py', 'one.py', 'two.py', 'two.py']), commands: ['make', 'ls'] });
  expect(doneSince(turns, 's1')).toBeUndefined(); // s0 was gone back to after it
});

test('a connection without a sign of life counts as lost, and another one is opened', () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });
  const made: Connection[] = [];
  class Connection extends EventTarget {
    static readonly CLOSED = 2;
    readyState = 1;
    constructor() {
      super();
      made.push(this);
    }
    close(): void {
      this.readyState = Connection.CLOSED;
    }
  }
  vi.stubGlobal('EventSource', Connection);
  vi.stubGlobal('window', { setTimeout, clearTimeout, requestAnimationFrame: (draw: () => void) => setTimeout(draw, 16) });
  const store = new FleetStore();
  const comes = (event: string): void => void made.at(-1)?.dispatchEvent(new Event(event));
  const begun = Date.now();
  store.connect([], () => undefined);
  comes('open');
  for (let beat = 1; beat <= 3; beat += 1) {
    vi.advanceTimersByTime(10_000);
    comes('beat');
  }
  expect([store.fleet().link, made.length]).toEqual(['Open', 1]);
  vi.advanceTimersByTime(25_000);
  expect([store.fleet().link, store.fleet().at - begun, made.map(({ readyState }) => readyState)]).toEqual(['Away', 30_000, [2, 1]]);
  comes('open');
  expect(store.fleet().link).toBe('Open');
  store.close();
  vi.advanceTimersByTime(60_000);
  expect(made).toHaveLength(2);
});

test.each([
  [404, 'a', {}],
  [403, 'a', {}],
  [503, 'a', { value: 'old', at: 7 }],
  [0, 'a', { value: 'old', at: 7 }],
  [503, 'b', {}],
])('after an answer %d to %s: what is shown of it', (status, key, left) => {
  const error = new RequestError(status, { code: 'C', message: 'm' });
  expect(afterError({ key: 'a', value: 'old', at: 7 }, key, error)).toEqual({ key, error, ...left });
});

const pool = (key: string, from: string, creationTimestamp: string, more: object = {}): ExpertPool => {
  const [namespace, name] = key.split('/');
  const spec = { default: true, allowedNamespaces: { from }, ...more };
  return { metadata: { namespace, name, creationTimestamp }, spec } as unknown as ExpertPool;
};

// The operator's rule is `resolvePoolRef`.
test.each([
  ['the only one of the namespace', [pool('ns/a', 'Same', '1')], 'ns/a'],
  [
    'the oldest of the namespace, before one of another',
    [pool('ns/b', 'Same', '2'), pool('ns/c', 'All', '1'), pool('p/d', 'All', '0')],
    'ns/c',
  ],
  ['the only one of another that takes all', [pool('ns/a', 'Same', '1', { default: false }), pool('p/d', 'All', '0')], 'p/d'],
  ['none of another that takes its own tasks', [pool('p/d', 'Same', '0')], undefined],
  ['none of two others: grants decide', [pool('p/d', 'All', '0'), pool('q/d', 'Selector', '1')], undefined],
])('tasks that name no pool are of the default: %s', (_, pools, found) => {
  const poolOf = poolsOf(pools);
  const [task, named] = [row('a'), row('b', { pool: 'x/y' })];
  expect([poolOf(task), poolOf(named)]).toEqual([found, 'x/y']);
  expect(matching([task, named], filterOf(new URLSearchParams('pool=p/d')), poolOf)).toEqual(found === 'p/d' ? [task] : []);
});
