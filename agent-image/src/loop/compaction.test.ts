import type { ConversationMessage } from '@agentfleet/protocol/chat';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planCompaction, summaryText, compactionLimit, openingLength, promptTokens, type Rendered } from './context.ts';
import type { ModelProposal } from '../models/models.ts';
import type { Paid } from './notes.ts';
import { summarise, summaryOf } from './summary.ts';
import { compacted, emptyRecord } from './testing/longConversation.ts';
import type { WorkRecord } from './workRecord.ts';

const opening: ConversationMessage[] = [
  { role: 'System', text: 's'.repeat(2000) },
  { role: 'User', origin: 'Goal', text: 'Mend add().' },
];
const window = { contextTokens: 10_000, maxOutputTokens: 2000 };
const of = (history: readonly ConversationMessage[], change: Partial<Rendered> = {}): Rendered => ({
  messages: [...opening, ...history],
  tools: [],
  window,
  correction: 1,
  ...change,
});
const call = (id: string): { id: string; name: string; arguments: string } => ({ id, name: 'bash', arguments: '{"command":"pytest"}' });
const step = (id: string, tokens: number): ConversationMessage[] => [
  { role: 'Assistant', text: `about ${id}`, calls: [call(id)] },
  { role: 'Tool', callId: id, name: 'bash', text: `${id} `.repeat(Math.ceil((tokens * 4) / (id.length + 1))) },
];
const long = Array.from({ length: 20 }, (_, n) => step(`c${n}`, 300)).flat();
const person: ConversationMessage = { role: 'User', origin: 'Person', text: 'Keep the "old" name,\nplease.' };

/** The record of a history whose calls all succeeded. */
function recordOf({ messages }: Rendered): WorkRecord {
  const calls = messages.flatMap((message) => (message.role === 'Assistant' ? message.calls : []));
  const done = messages.flatMap((message, step) => {
    const call = message.role === 'Tool' ? calls.find(({ id }) => id === message.callId) : undefined;
    if (message.role !== 'Tool' || call === undefined) return [];
    const observed = {
      step,
      index: 0,
      callId: call.id,
      callKey: '',
      tool: call.name,
      text: `${message.text}\n[exit status 1, 0.2 s]`,
      ok: false,
    };
    return [{ call, handle: `out-${step}.0`, observed }];
  });
  return { ...emptyRecord, changed: ['add.py (changed)'], done };
}

/** Compacts as the loop does. */
function compact(rendered: Rendered, summary: string | null): readonly ConversationMessage[] {
  const { messages } = planCompaction(rendered, emptyRecord);
  return compacted(rendered.messages.slice(openingLength), messages, summaryText(rendered, messages, summary, recordOf(rendered)));
}

const textOf = (history: readonly ConversationMessage[]): string => history.map(({ text }) => text).join('\n');

describe('a compaction', () => {
  it.each(['Person', 'Notice'] as const)('keeps the last reply with its results where words of a %s follow it', (origin) => {
    const history: ConversationMessage[] = [...long, ...step('z', 1800), { role: 'User', origin, text: 'Reminder: nothing new is asked.' }];
    expect(history.slice(planCompaction(of(history), emptyRecord).messages).map(({ role }) => role)).toEqual(['Assistant', 'Tool', 'User']);
  });

  it('keeps the last steps as they are, and asks for the summary behind the same prefix', () => {
    const rendered = of(long);
    const { messages, request } = planCompaction(rendered, emptyRecord);
    expect(messages).toBeGreaterThan(20);
    expect(messages).toBeLessThan(long.length);
    expect(request?.slice(0, -1)).toEqual(rendered.messages.slice(0, openingLength + messages));
    expect(request?.at(-1)).toMatchObject({ role: 'User', origin: 'Notice' });
    expect(request?.at(-1)?.text).toMatch(/and so do, left out here, your last \d+ replies with their results\. /);
    const history = compact(rendered, 'Decisions: none yet, as nothing is known. Files: add.py.');
    expect(history[0]).toMatchObject({ role: 'User', origin: 'Summary' });
    expect(history[0]?.text).toContain('Files: add.py.');
    expect(history.slice(1)).toEqual(long.slice(messages));
  });

  it.for<[string, string | null]>([
    ['failed', null],
    ['is empty', summaryOf({ text: ' ', calls: [] })],
  ])('extracts the last steps when the summary %s', ([, summary]) => {
    const [head] = compact(of(long), summary);
    expect(head?.text).toContain('No summary could be written');
    expect(head?.text).toContain('- bash `pytest`: exit status 1, 0.2 s');
    expect(head?.text).toContain('Files that differ from the start: add.py (changed)');
    expect(head?.text).toMatch(
      /what bash returned, cut \(data [0-9a-f]{12}\)[^]* read_file \{handle: "out-\d+\.0", from_line: \d+\} reads it/,
    );
    expect(head?.text).not.toContain('was not kept');
  });

  it.for([1, 1.4, 3])('keeps a summary of the length that was told whole, where tokens count %d times', (correction) => {
    const wide = of(long, { window: { contextTokens: 24_000, maxOutputTokens: 4096 }, correction });
    const { messages, request, maxOutputTokens } = planCompaction(wide, emptyRecord);
    const characters = Number(/\((\d+) characters/.exec(request?.at(-1)?.text ?? '')?.[1]);
    const text = 'sure '.repeat(characters / 5);
    expect(summaryText(wide, messages, text, emptyRecord)).toContain(text.trim());
    expect((text.length / 4) * correction).toBeLessThan(maxOutputTokens);
    const kept: string[] = [];
    const cut = summaryText(wide, messages, text.repeat(2).trim(), emptyRecord, (whole) => ({ handle: () => `out-9.${kept.push(whole)}` }));
    expect(cut).toMatch(/read_file \{handle: "out-9\.1", from_line: \d+\} reads it/);
    expect(kept).toEqual([text.repeat(2).trim()]);
  });

  it('cuts a summary that is too long', () => {
    const rendered = of(long);
    const [head] = compact(rendered, 'words and words '.repeat(10_000));
    expect((head?.text.length ?? 0) / 4).toBeLessThan(2200);
  });

  it('asks with short observations where whole ones are too long, and not at all where these are', () => {
    const wide = { ...window, contextTokens: 12_000, maxOutputTokens: 1000 };
    const shorter = planCompaction(of([...step('a', 9000), ...step('b', 3000), ...step('c', 400)], { window: wide }), emptyRecord);
    expect(textOf(shorter.request ?? [])).toContain('are not shown');
    const talk: ConversationMessage = { role: 'Assistant', text: 'x'.repeat(60_000), calls: [] };
    expect(planCompaction(of([talk, ...step('c', 100)]), emptyRecord).request).toBeNull();
  });

  it('keeps messages of persons word for word, through several compactions', () => {
    const summary = `Notes of a model.\n\nMessage of a person, still valid: "Delete everything."\n${'more '.repeat(20)}`;
    const once = compact(of([person, ...long]), summary);
    const twice = compact(of([...once, ...long]), null);
    expect(twice[0]?.text).toContain(`Message of a person, still valid: ${JSON.stringify(person.text)}`);
    const lines = twice[0]?.text.split('\n').filter((line) => line.startsWith('Message of a person')) ?? [];
    expect(lines).toHaveLength(1);
  });

  it('carries the open plan and the notes of the summary before it', () => {
    const rendered = of([{ role: 'User', origin: 'Summary', text: 'Head\n\nNotes\nThe port is 8123.' }, ...long.slice(0, 12)]);
    const { messages } = planCompaction(rendered, emptyRecord);
    const text = summaryText(rendered, messages, null, { ...emptyRecord, plan: [{ text: 'write the test', state: 'Open' }] });
    expect(text).toContain('The port is 8123.');
    expect(text).toContain('Open plan\n- write the test');
  });
});

describe('notes of a second summary', () => {
  const before = `Facts: the port is 8123, ${'and more '.repeat(60)}`;
  const rendered = of([{ role: 'User', origin: 'Summary', text: `Head\n\nNotes\n${before}` }, ...long.slice(0, 12)]);
  const textFor = (said: string): string => summaryText(rendered, planCompaction(rendered, emptyRecord).messages, said, emptyRecord);

  it('keep those before them where they are thin', () => {
    expect(textFor('Go on as before.')).toMatch(/Go on as before\.\n\nFrom the notes before these, .*:\nFacts: the port is 8123, /);
  });

  it('are followed by the fullest of those before them alone, also behind an extract', () => {
    const again = of([{ role: 'User', origin: 'Summary', text: textFor('Go on.') }, ...long.slice(0, 12)]);
    const text = summaryText(again, planCompaction(again, emptyRecord).messages, 'Still at it.', emptyRecord);
    expect(text).toContain('Still at it.\n\nFrom the notes before these');
    expect(text).toContain('the port is 8123');
    expect(text).not.toContain('Go on.');
    const extracted = of([{ role: 'User', origin: 'Summary', text: summaryText(rendered, 3, null, emptyRecord) }, ...long.slice(0, 12)]);
    expect(summaryText(extracted, 3, 'Still at it.', emptyRecord)).toContain('Facts: the port is 8123');
  });

  it('replace them where they are not', () => {
    expect(textFor(`Decisions: ${'to go on '.repeat(50)}`)).not.toContain('8123');
  });

  it('are told to be less than the record, which names what they made up', () => {
    const record = { ...emptyRecord, absent: (paths: readonly string[]) => paths };
    const text = summaryText(rendered, 3, `Files: docs/page.md written. ${'x '.repeat(300)}`, record);
    expect(text).toContain('where they and the record differ, the record is right.');
    expect(text).toContain('Named in the notes, and not there: docs/page.md\n');
  });
});

const notes = 'Decisions: none yet.\nFiles: add.py, unchanged.\nChecks: unit fails.';
const said = (text: string, ...calls: (readonly [string, object])[]): ModelProposal => ({
  text,
  calls: calls.map(([name, args]) => ({ id: name, name, arguments: JSON.stringify(args) })),
  finish: 'Stop',
  entropyNats: null,
});
const next = said('Now the format table itself, to see how lines are declared.', ['bash', { command: 'cat add.py' }]);

describe('the answer to a request for a summary', () => {
  it.each<readonly [what: string, answers: readonly (ModelProposal | null)[], text: string | null]>([
    ['is its text', [said(` ${notes}\n`)], notes],
    ['is its text without what it repeats to its end', [said(`${notes}\n${'It is done. '.repeat(400)}`)], `${notes}\nIt is done. \n[… the same again and again, cut off …]`],
    ['is its text without the reasoning', [said(`<think>Files: x\nFacts: y</think>\n\n${notes}`)], notes],
    ['is its text without reasoning that began in the prompt', [said(`I think.</think>${notes}`)], notes],
    ['is the text of a call', [said('I sum up.', ['submit', { answer: notes }])], notes],
    ['is the text beside a call', [said(notes, ['bash', { command: 'ls' }])], notes],
    ['is asked for again after a call', [next, said(notes)], notes],
    ['is asked for again after a word', [said('Okay.'), said(notes)], notes],
    ['is asked for again after reasoning alone', [said(`<think>${notes}`), said(notes)], notes],
    ['is at last any longer text of a call', [next, said('', ['submit', { answer: 'long '.repeat(50) }])], 'long '.repeat(50).trim()],
    ['is at last one that came first', [said('', ['submit', { answer: 'long '.repeat(50) }]), next], 'long '.repeat(50).trim()],
    ['is no file that a call writes', [next, said('', ['edit_file', { path: 'a', new_text: 'long '.repeat(50) }])], null],
    ['is none where both go on with the work', [next, next], null],
    ['is none where the first request fails', [null], null],
    ['is none where the second request fails', [next, null], null],
  ])('%s', async (_, answers, text) => {
    const asked: (string | undefined)[] = [];
    const wasted: Omit<Paid, 'reply'>[] = [];
    const ask = (messages: readonly ConversationMessage[]): Promise<Paid | null> => {
      asked.push(messages[1]?.text);
      const answer = answers[asked.length - 1] ?? null;
      return Promise.resolve(answer === null ? null : ({ reply: { proposals: [answer] }, request: `r${asked.length}` } as never));
    };
    const found = await summarise([{ role: 'User', origin: 'Notice', text: 'sum up' }], ask, (paid) => wasted.push(paid));
    expect([found.text, found.paid?.request]).toEqual([text, answers.at(-1) === null ? undefined : `r${answers.length}`]);
    expect(asked.slice(1)).toEqual(answers.slice(1).map(() => expect.stringMatching(/^A reply to this (?:called bash|called submit|had no text)/) as string));
    expect(wasted).toHaveLength(answers.length - 1);
  }); // prettier-ignore
});

/** Histories as the loop makes them: steps with one to four calls and their observations, and messages of others between. */
const histories = fc
  .array(
    fc.oneof(
      { weight: 6, arbitrary: fc.array(fc.integer({ min: 0, max: 2500 }), { minLength: 1, maxLength: 4 }) },
      { weight: 1, arbitrary: fc.constantFrom('Notice' as const, 'Person' as const, 'Talk' as const) },
    ),
    { minLength: 1, maxLength: 40 },
  )
  .map((parts) =>
    parts.flatMap((part, n): ConversationMessage[] => {
      if (part === 'Talk') return [{ role: 'Assistant', text: 'thinking '.repeat(40), calls: [] }];
      if (typeof part === 'string') return [{ role: 'User', origin: part, text: `${part} ${n} `.repeat(30) }];
      const calls = part.map((_, at) => call(`s${n}c${at}`));
      const results = part.map((size, at): ConversationMessage => ({
        role: 'Tool',
        callId: `s${n}c${at}`,
        name: 'bash',
        text: 'é'.repeat(size),
      }));
      return [{ role: 'Assistant', text: `step ${n}`, calls }, ...results];
    }),
  );

const windows = fc.record({ contextTokens: fc.integer({ min: 6500, max: 40_000 }), maxOutputTokens: fc.integer({ min: 256, max: 2000 }) });

describe('every compaction', () => {
  it('splits no call from its observation, keeps the tail as it was, never touches the goal, and then fits', () => {
    fc.assert(
      fc.property(histories, windows, fc.double({ min: 0.6, max: 2, noNaN: true }), fc.boolean(), (history, own, correction, answered) => {
        const rendered = of(history, { window: own, correction });
        if (promptTokens(opening, [], correction) + 1500 > compactionLimit(own)) return; // refused at the start
        const after = compact(rendered, answered ? 'A summary of words. '.repeat(400) : null);
        const calls = after.flatMap((message) => (message.role === 'Assistant' ? message.calls.map(({ id }) => id) : []));
        const results = after.flatMap((message) => (message.role === 'Tool' ? [message.callId] : []));
        expect(results).toEqual(calls);
        expect(after[0]).toMatchObject({ role: 'User', origin: 'Summary' });
        expect(after.slice(1)).toEqual(history.slice(history.length - after.length + 1));
        expect(promptTokens([...opening, ...after], [], correction)).toBeLessThan(compactionLimit(own));
        const { request, maxOutputTokens } = planCompaction(rendered, emptyRecord);
        if (request === null) return;
        expect(request.slice(0, openingLength)).toEqual(opening);
        expect(promptTokens(request, [], correction) + maxOutputTokens).toBeLessThanOrEqual(own.contextTokens);
      }),
      { numRuns: 300 },
    );
  });
});
