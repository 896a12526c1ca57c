import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { promptsOf, traceConsents, TraceCandidate, TraceHeader, TraceProposal, type TraceLine } from '@agentfleet/protocol/trace';
import { Ajv } from 'ajv';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import type { LoopNotes } from '../loop/notes.ts';
import { Transcript } from '../loop/transcript.ts';
import { consentOf, traceOf } from './index.ts';

type Kind = keyof LoopNotes;
type Note = { readonly [K in Kind]: readonly [kind: K, data: LoopNotes[K]] }[Kind];

const charged = { usage: { input: 10, cachedInput: 2, output: 3, estimated: false }, costMicros: 5 };
const ajv = new Ajv();
const schemas = { Header: ajv.compile(TraceHeader), Proposal: ajv.compile(TraceProposal), Candidate: ajv.compile(TraceCandidate) };

const record = (kind: string, data: object, at = 0): AuditRecord =>
  ({
    type: 'Noted',
    at: new Date(at).toISOString(),
    hash: 'f'.repeat(64),
    body: { kind, data: { attempt: 1, ...data } },
  }) as unknown as AuditRecord;

const task = record('TaskBegan', {
  consent: 'Training',
  task: { namespace: 'team', name: 'fix', uid: 'u' },
  pool: { namespace: 'platform', name: 'coding' },
  goal: 'Fix it.',
  checks: [{ name: 'unit', type: 'Command', command: ['make'] }],
  models: [{ name: 'gen', role: 'Generalist', engine: 'OpenAI', model: 'm' }],
});
const began: Note = ['ConversationBegan', { id: '1', system: 's', goal: 'g', expert: 'gen', tree: { id: 's0', digest: 'd0' } }];

/** One reply of k answers with the calls of the chosen one observed. */
function step(number: number, k: number, calls: number, more: Partial<LoopNotes['CallObserved']> = {}): readonly Note[] {
  const proposals = Array.from({ length: k }, (_, at) => ({
    text: `t${number}.${at}`,
    calls: Array.from({ length: calls }, (_, n) => ({ id: `c${number}.${n}`, name: 'bash', arguments: `{"command":"echo ${at}"}` })),
    finish: calls > 0 ? ('Calls' as const) : ('Stop' as const),
    entropyNats: 0.5,
  }));
  const considered = proposals.map((_, at) => ({ refused: at === 0, ...(at === 0 && { why: 'rail: no' }), energy: at, risk: 0.25 }));
  const chosen = k - 1;
  return [
    ['ModelReplied', { step: number, request: `r${number}`, proposals, charged }],
    ['ReplyChosen', { step: number, index: chosen, at: 0, signals: { risk: 0.1, margin: 1 }, ...(k > 1 && { considered }) }],
    ...Array.from({ length: calls }, (_, index): Note => [
      'CallObserved',
      {
        step: number,
        index,
        callId: `c${number}.${index}`,
        callKey: `1.${number}.${index}`,
        tool: 'bash',
        text: `o${number}`,
        ok: true,
        ...more,
      },
    ]),
  ];
}

function linesOf(notes: readonly Note[], ...others: readonly AuditRecord[]): readonly TraceLine[] {
  return traceOf([task, ...notes.map(([kind, data], at) => record(kind, data, at)), ...others], 'Chain');
}

const proposalsOf = (lines: readonly TraceLine[]): readonly TraceProposal[] =>
  lines.filter((line): line is TraceProposal => line.type === 'Proposal');

const notice = (at: number, text: string): Note => ['NoticeGiven', { step: at, origin: 'Notice', text }];
const steps = fc.array(
  fc.oneof(
    fc.record({ type: fc.constant('Step' as const), k: fc.integer({ min: 1, max: 3 }), calls: fc.integer({ min: 0, max: 3 }) }),
    fc.record({ type: fc.constant('Notice' as const), text: fc.constantFrom('a', 'b', 'c') }),
    fc.record({ type: fc.constant('Compacted' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
    fc.record({ type: fc.constant('Rewound' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  ),
  { maxLength: 40 },
);

it('rebuilds the messages of every request, however the conversation went, and has each message once', () => {
  fc.assert(
    fc.property(steps, (ops) => {
      const transcript = new Transcript();
      const notes: Note[] = [];
      const sent = new Map<string, unknown>();
      const add = (...all: readonly Note[]): void => {
        for (const [kind, data] of all) {
          if (kind === 'ModelReplied') for (const at of data.proposals.keys()) sent.set(`1.${data.step}.${at}`, transcript.messages);
          transcript.apply(kind, data);
          notes.push([kind, data] as Note);
        }
      };
      add(began);
      for (const op of ops) {
        const at = transcript.step;
        if (op.type === 'Step') add(...step(at + 1, op.k, op.calls));
        else if (op.type === 'Notice') add(notice(at, op.text));
        else if (op.type === 'Rewound') add(['ConversationRewound', { step: at, toStep: Math.floor(op.share * at) }]);
        else add(['ConversationCompacted', { step: at, messages: Math.floor(op.share * transcript.history.length), summary: `sum ${at}` }]);
      }
      const lines = linesOf(notes);
      expect(Object.fromEntries(promptsOf(lines))).toEqual(Object.fromEntries(sent));
      const whole = proposalsOf(lines).flatMap(({ prompt }) =>
        prompt.filter((part) => !Array.isArray(part)).map((part) => JSON.stringify(part)),
      );
      expect(new Set(whole).size).toBe(whole.length);
      for (const line of lines) expect(schemas[line.type](line), JSON.stringify(schemas[line.type].errors)).toBe(true);
    }),
  );
});

const outcome = (result: string, more: object = {}): AuditRecord => record('Outcome', { result, reason: 'R', ...more });
const one = (more: Partial<LoopNotes['CallObserved']> = {}): readonly Note[] => [began, ...step(1, 1, 1, more)];
const two = [began, ...step(1, 1, 1), ...step(2, 1, 1)];
const recordsOf = (notes: readonly Note[], more: object = {}): readonly AuditRecord[] =>
  notes.map(([kind, data]) => record(kind, { ...data, ...more }));
const rejected = record('Rejected', { action: 'a', decision: 'Rejected', why: 'too wide', requester: 'ann' });
const edits = [{ path: 'a.py', before: '-', after: '+' }];
const tried = {
  state: 's',
  step: 1,
  id: 'x',
  operator: 'swap',
  location: 'a.py:1',
  decision: 'Allow',
  result: 'Worse',
  why: 'broke',
  edits,
};
const named = recordsOf(one()).map((each) =>
  record(String(each.body['kind']), { ...(each.body['data'] as object), note: each.body['kind'] }),
);
const handedIn: Note = ['SubmissionRefused', { step: 1, text: 'no' }];
const secret = `key ghp_${'a1B2c3D4'.repeat(4)}e5F6`;

it.each<readonly [what: string, lines: readonly TraceLine[], last: object]>([
  ['a call', linesOf(two), { id: '1.2.0', chosen: true, acts: [{ call: 0, outcome: 'Done', observation: 'o2' }], undone: false }],
  ['a refusal', linesOf(one({ ok: false, refused: 'rail x: no' })), { acts: [{ outcome: 'Refused', rule: 'rail x: no' }] }],
  [
    'what was not chosen',
    linesOf([began, ...step(1, 2, 1)]).slice(0, 2),
    { chosen: false, judged: { refused: true, why: 'rail: no', energy: 0 }, acts: [], usage: { input: 10, costMicros: 5 } },
  ],
  [
    'what was chosen of several',
    linesOf([began, ...step(1, 2, 1)]),
    { chosen: true, judged: { energy: 1 }, signals: { risk: 0.1, margin: 1 }, usage: null },
  ],
  [
    'a word of a person, who is not named',
    traceOf([task, ...recordsOf(one()).toSpliced(3, 0, rejected)], 'Chain'),
    { acts: [{ people: [{ decision: 'Rejected', why: 'too wide' }] }] },
  ],
  ['a lost tree', linesOf([...two, ['ConversationRewound', { step: 2, toStep: 1 }]]), { undone: true }],
  ['an undo', linesOf([...two, ...step(3, 1, 1, { restored: { step: 0, id: 's0', digest: 'd0' } })]).slice(0, 3), { undone: true }],
  ['a hand-in that held', linesOf(one({ answer: 'done' }), outcome('Succeeded')), { submission: { accepted: true } }],
  [
    'a hand-in that did not',
    linesOf([...one({ answer: 'done' }), handedIn], outcome('Failed')),
    { submission: { accepted: false, why: 'no' } },
  ],
  ['a note that was written twice', traceOf([task, ...named, ...named], 'Chain'), { acts: [{ call: 0 }] }],
  ['a secret', linesOf(one({ text: secret })), { acts: [{ observation: 'key [REDACTED:Token]' }] }],
  ['an edit of a search', linesOf([], record('Tried', tried)), { type: 'Candidate', result: 'Worse', edits, accepted: false }],
])('%s', (_, lines, last) => {
  expect(lines.at(-1)).toMatchObject(last);
  expect(JSON.stringify(lines)).not.toContain('ann');
  for (const line of lines) expect(schemas[line.type](line), JSON.stringify(schemas[line.type].errors)).toBe(true);
});

it('has task, checks before and after, and the end in its header', () => {
  const baseline = record('Baseline', { checks: [{ check: 'unit', expect: 'FailThenPass', failing: ['a'], flaky: [] }] });
  const checks = [{ name: 'unit', passed: 1, failed: 0, skipped: 0, newlyPassing: ['a'], stillFailing: [] }];
  const [header] = linesOf(two, baseline, record('Green', { snapshot: 's1', digest: 'sha256:1' }), outcome('Succeeded', { checks }));
  expect(header).toMatchObject({
    consent: 'Training',
    models: [{ model: 'm' }],
    checks: [{ name: 'unit', failingBefore: ['a'], end: { passed: 1, newlyPassing: ['a'] } }],
    outcome: { attempt: 1, result: 'Succeeded' },
    verified: 'sha256:1',
    usage: { input: 20, cachedInput: 4, output: 6, requests: 2 },
  });
  expect(linesOf(two, record('Green', { digest: 'd' }), outcome('Failed'))[0]).toMatchObject({ verified: null });
});

it('takes consent from the first note about it, whatever follows', () => {
  const later = (consent: string): AuditRecord => record('TaskBegan', { consent });
  for (const consent of traceConsents) expect(consentOf([later(consent), later('Training')])).toBe(consent);
  expect(consentOf([record('Outcome', {})])).toBeUndefined();
});
