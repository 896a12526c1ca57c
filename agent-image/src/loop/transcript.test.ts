import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { expect, it } from 'vitest';
import { controlSteps } from './compute.ts';
import type { LoopNotes } from './notes.ts';
import { Transcript, TranscriptReader } from './transcript.ts';

const usage = { input: 10, cachedInput: 0, output: 1, estimated: false };
const charge = { usage, costMicros: 5 };
const call = { id: 'c', name: 'bash', arguments: '{}' };
type Note = { readonly [K in keyof LoopNotes]: readonly [kind: K, data: LoopNotes[K]] }[keyof LoopNotes];

const began: Note = ['ConversationBegan', { id: '1', system: 's', goal: 'g', expert: 'gen', tree: { id: 's0', digest: 'd0' } }];

/** One whole step: asked, replied, chosen, one call observed. */
function step(number: number, more: Partial<LoopNotes['CallObserved']> = {}): readonly Note[] {
  const proposals = [{ text: `t${number}`, calls: [call], finish: 'Calls', entropyNats: null } as const];
  return [
    ['ModelAsked', { step: number, request: `r${number}`, n: 1, reserved: charge }],
    ['ModelReplied', { step: number, request: `r${number}`, proposals, charged: charge }],
    ['ReplyChosen', { step: number, index: 0, at: number, signals: {} }],
    [
      'CallObserved',
      { step: number, index: 0, callId: 'c', callKey: `1.${number}.0`, tool: 'bash', text: `o${number}`, ok: true, ...more },
    ],
  ];
}

function transcriptOf(notes: readonly Note[]): Transcript {
  const transcript = new Transcript();
  for (const [kind, data] of notes) transcript.apply(kind, data);
  return transcript;
}

const texts = (transcript: Transcript): readonly string[] => transcript.history.map(({ text }) => text);
const tree = (number: number): Partial<LoopNotes['CallObserved']> => ({ tree: { id: `s${number}`, digest: `d${number}` } });
const person: Note = ['NoticeGiven', { step: 2, origin: 'Person', text: 'ann: hurry', order: 'o1' }];

it.each<readonly [what: string, notes: readonly Note[], left: readonly string[]]>([
  ['drops later steps', [began, ...step(1, tree(1)), ...step(2)], ['t1', 'o1']],
  ['keeps what a person wrote later: it is not sent again', [began, ...step(1, tree(1)), ...step(2), person], ['t1', 'o1', 'ann: hurry']],
  [
    'keeps a summary of the steps before',
    [began, ...step(1, tree(1)), ...step(2), ['ConversationCompacted', { step: 2, messages: 2, summary: 'short' }], ...step(3)],
    ['short'],
  ],
  [
    'undoes summaries that tell of later steps, and no others',
    [
      began,
      ...step(1, tree(1)),
      ['ConversationCompacted', { step: 1, messages: 2, summary: 'first' }],
      ...step(2),
      person,
      ['ConversationCompacted', { step: 2, messages: 4, summary: 'second' }],
      ...step(3),
      ['ConversationCompacted', { step: 3, messages: 3, summary: 'third' }],
    ],
    ['first', 'ann: hurry'],
  ],
])('a rewind %s', (_, notes, left) => {
  const transcript = transcriptOf([...notes, ['ConversationRewound', { step: 3, toStep: 1 }]]);
  expect(texts(transcript)).toEqual(left);
  expect(transcript.trees.map(({ step: at }) => at)).toEqual([0, 1]);
  expect(transcript.open).toBeNull();
});

it.each<readonly [finish: 'Stop' | 'Calls' | 'Length' | 'Filter', calls: number, cut: object | undefined]>([
  ['Stop', 0, undefined],
  ['Length', 0, { by: 'Length', tokens: 512 }],
  ['Filter', 0, { by: 'Filter' }],
  ['Length', 1, undefined],
  ['Calls', 1, undefined],
])('knows by what a reply ended before a call: %s with %i calls', (finish, calls, cut) => {
  const proposals = [{ text: '', calls: calls === 0 ? [] : [call], finish, entropyNats: null }];
  const reserved = { usage: { ...usage, output: 1024 }, costMicros: null };
  const { traces } = transcriptOf([
    began,
    ['ModelAsked', { step: 1, request: 'r1', n: 2, reserved }],
    ['ModelReplied', { step: 1, request: 'r1', proposals, charged: charge }],
    ['ReplyChosen', { step: 1, index: 0, at: 1, signals: {} }],
  ]);
  expect(traces.map((trace) => trace.cut)).toEqual([cut]);
});

it('has a long result of a call that is made again once, until it is summarised, and the log has each', () => {
  const long = 'a line of a file\n'.repeat(80);
  const again = [began, ...step(1, { text: long }), ...step(2, { text: long }), ...step(3, { text: long })];
  const named = '[the same as out-1.0, the result that this call had a moment ago, word for word]';
  const transcript = transcriptOf(again);
  expect(texts(transcript)).toEqual(['t1', long, 't2', named, 't3', named]);
  expect(transcript.record.done.map(({ observed }) => observed.text)).toEqual([long, long, long]);
  const compacted: Note = ['ConversationCompacted', { step: 3, messages: 4, summary: 'short' }];
  expect(texts(transcriptOf([...again, compacted, ...step(4, { text: long })])).at(-1)).toBe(long);
});

it.each<readonly [text: string, changed: boolean, remark: string | undefined]>([
  ['Which file do you mean?', true, 'Nobody answers questions in it: decide by yourself, and say so at the end.'],
  ['**Shall I go on?**', false, 'Nobody answers questions in it: decide by yourself, and say so at the end.'],
  ['I fixed add(), and all tests pass now.', false, 'No file has been changed yet.'],
  ['I fixed add(), and all tests pass now.', true, undefined],
  ['I look at add() first.', false, undefined],
  ['<think>The sign is wrong, and it is fixed.', false, 'It was empty, or thought alone.'],
  ['{}', false, 'It was empty, or thought alone.'],
  ['Shall I look at it? '.repeat(100), false, 'It repeated itself: do not take it up again.'],
])('remarks on a reply without a call: %s', (text, changed, remark) => {
  const proposals = [{ text, calls: [], finish: 'Stop', entropyNats: null } as const];
  const { traces } = transcriptOf([
    began,
    ...step(1, changed ? tree(1) : {}),
    ['ModelReplied', { step: 2, request: 'r2', proposals, charged: charge }],
    ['ReplyChosen', { step: 2, index: 0, at: 2, signals: {} }],
  ]);
  expect(traces.at(-1)?.remark).toBe(remark);
});

it('knows what refused the work that was handed in', () => {
  const handed = step(1, { tool: 'submit', answer: 'done' });
  const text = 'The submission was refused: unit: does not hold';
  const { done } = transcriptOf([began, ...handed, ['SubmissionRefused', { step: 1, text }], ...step(2)]).record;
  expect(done.map(({ rejected }) => rejected)).toEqual(['unit: does not hold', undefined]);
});

it('a rewind leaves the plan as it was then', () => {
  const plan = (state: 'Open' | 'Done'): Partial<LoopNotes['CallObserved']> => ({ plan: [{ text: 'edit', state }] });
  const notes = [began, ...step(1, { ...tree(1), ...plan('Open') }), ...step(2, plan('Done'))];
  const rewound = (toStep: number): unknown => transcriptOf([...notes, ['ConversationRewound', { step: 2, toStep }]]).plan;
  expect([rewound(1), rewound(0)]).toEqual([plan('Open').plan, []]);
});

const record = (kind: string, data: object): AuditRecord => ({ type: 'Noted', body: { kind, data } }) as unknown as AuditRecord;

it.each<readonly [what: string, between: readonly AuditRecord[], goesOn: boolean]>([
  ['a lost worker', [], true],
  ['an end by the infrastructure', [record('Outcome', { attempt: 1, class: 'Infrastructure' })], true],
  ['a refused result', [record('Outcome', { attempt: 1, class: 'CheckFailed' })], false],
  ['a success', [record('Outcome', { attempt: 1 })], false],
  ['a rollback', [record('RolledBack', { attempt: 1 })], false],
])('after %s the next attempt goes on with the conversation: %#', (_, between, goesOn) => {
  const reader = new TranscriptReader();
  for (const [kind, data] of [began, ...step(1)]) reader.visit(record(kind, { attempt: 1, ...data }));
  for (const one of between) reader.visit(one);
  const next = reader.of(2);
  expect(next.began !== null).toBe(goesOn);
  // What an earlier attempt spent is in the totals of the task.
  expect(next.charges).toEqual([]);
});

it('charges a request whose answer was not seen as it was reserved, and one that was refused not at all', () => {
  const asked = (request: string, refused?: string): Note => [
    'ModelAsked',
    { step: 1, request, n: 1, reserved: charge, ...(refused !== undefined && { refused }) },
  ];
  expect(transcriptOf([began, asked('a')]).charges).toEqual([{ usage: { ...usage, estimated: true }, costMicros: 5 }]);
  expect(transcriptOf([began, asked('a'), asked('b', 'a'), ...step(1).slice(1)]).charges).toHaveLength(2);
});

it('goes on at the same step after an answer of no use, which is charged', () => {
  const none: Note = ['ModelReplied', { step: 2, request: 'a', proposals: [], charged: charge }];
  const transcript = transcriptOf([began, ...step(1), ['ModelAsked', { step: 2, request: 'a', n: 1, reserved: charge }], none]);
  const { step: last, open, charges } = transcript;
  expect({ last, open, charges }).toEqual({ last: 1, open: null, charges: [charge, charge] });
});

it('gives the planner the acts that the gates judged', () => {
  const facts = { tool: 'Shell', seconds: 2, budgetUsed: 0.25 } as const;
  const notes = [
    began,
    ...step(1, { facts, energy: 0.5, ...tree(1) }),
    ...step(2),
    ...step(3, { facts: { ...facts, tool: 'Editor' }, refused: 'protected' }),
  ];
  expect(controlSteps(transcriptOf(notes).acts, 0, [])).toMatchObject([
    { tool: 'Shell', result: 'Command', energy: 0.5, depth: 1, seconds: 2, budgetUsed: 0.25 },
    { tool: 'Editor', result: 'Denied', edits: 1, depth: 1 },
  ]);
});

it('counts a note once that was written again, because the keeper died before it answered', () => {
  const reader = new TranscriptReader();
  const notes = [began, ...step(1), ...step(2)].flatMap((note, at) => [
    { note, at },
    { note, at },
  ]);
  for (const { note, at } of notes) {
    const body = { kind: note[0], data: { attempt: 1, note: `n${at}`, ...note[1] } };
    reader.visit({ type: 'Noted', body } as unknown as AuditRecord);
  }
  expect(texts(reader.of(1))).toEqual(['t1', 'o1', 't2', 'o2']);
  expect(reader.of(1).charges).toHaveLength(2);
});

it.each<readonly [string, readonly Note[], readonly [string, object][], readonly number[]]>([
  ['its worker was lost after a reply', [began, ...step(1)], [], [10]],
  ['its worker was lost before one', [began, ...step(1), ['ModelAsked', { step: 2, request: 'r2', n: 1, reserved: charge }]], [], [10, 10]],
  [
    'its worker ended it with a request that was refused',
    [began, ...step(1), ['ModelAsked', { step: 2, request: 'r2', n: 1, reserved: charge }]],
    [['Outcome', { attempt: 1, class: 'AgentError' }]],
    [10],
  ],
  [
    'another attempt that asked nothing ended after its worker was lost',
    [began, ['ModelAsked', { step: 1, request: 'r1', n: 1, reserved: charge }]],
    [['Outcome', { attempt: 2, class: 'CheckFailed' }]],
    [10],
  ],
])('what an earlier attempt spent by the log is known, when %s', (_, notes, after, spent) => {
  const reader = new TranscriptReader();
  for (const [kind, data] of notes) reader.visit(record(kind, { attempt: 1, ...data }));
  for (const [kind, data] of after) reader.visit(record(kind, data));
  const next = reader.of(3);
  expect(reader.before.map((one) => one.usage.input)).toEqual(spent);
  expect(next.charges).toEqual([]);
  next.owe(charge);
  expect(next.charges).toEqual([charge]);
});
