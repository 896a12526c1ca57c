/** The conversation of a task as turns: replies with their calls, each with what came of it. Pure, and added to line by line. */
import type { ConversationEntry } from '@agentfleet/protocol/results';

type Of<T extends ConversationEntry['type']> = Extract<ConversationEntry, { type: T }>;
export type Call = { readonly id: string; readonly name: string; readonly arguments: string; readonly observation?: Of<'Observation'> };
export type Reply = Of<'Assistant'> & { readonly done: readonly Call[] };
export type Turn = Reply | Exclude<ConversationEntry, { type: 'Assistant' | 'Pause' }>;

/** Turns so far. `add` returns nothing new for a pause; an observation completes the call that it belongs to. */
export class Talk {
  readonly turns: Turn[] = [];
  readonly #open = new Map<string, { readonly turn: number; readonly call: number }>();
  /** Newest record that was read. */
  seq = 0;

  add(entry: ConversationEntry): void {
    this.seq = Math.max(this.seq, entry.seq);
    if (entry.type === 'Pause') return;
    if (entry.type === 'Assistant') {
      const at = this.turns.push({ ...entry, done: entry.calls }) - 1;
      entry.calls.forEach(({ id }, call) => this.#open.set(`${entry.step} ${id}`, { turn: at, call }));
      return;
    }
    const place = entry.type === 'Observation' ? this.#open.get(`${entry.step} ${entry.callId}`) : undefined;
    const reply = place === undefined ? undefined : this.turns[place.turn];
    if (entry.type !== 'Observation' || place === undefined || reply?.type !== 'Assistant') {
      this.turns.push(entry);
      return;
    }
    const done = reply.done.with(place.call, { ...reply.done[place.call]!, observation: entry });
    this.turns[place.turn] = { ...reply, done };
  }
}

export type Fields = Readonly<Record<string, unknown>>;
export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '');
export const numberOf = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value;
  return typeof number === 'number' && Number.isFinite(number) ? number : undefined;
};

/** What a call does, in one line: the command, the path, or its arguments. */
export function gistOf({ arguments: given }: { readonly arguments: string }): string {
  try {
    const fields = fieldsOf(JSON.parse(given));
    const first = ['command', 'path', 'pattern', 'query', 'url', 'question', 'text', 'answer', 'message']
      .map((name) => fields[name])
      .find((one) => typeof one === 'string');
    return (typeof first === 'string' ? first : given).trim();
  } catch {
    return given;
  }
}

/** A proposal that was tried, as the worker noted it. */
export interface Candidate {
  readonly id: string;
  readonly seq: number;
  readonly step?: number;
  readonly operator: string;
  readonly location: string;
  readonly expert: string;
  readonly decision: string;
  readonly result: string;
  readonly why: string;
  readonly energy?: number;
  readonly pSuccess?: number;
  readonly risk?: number;
  readonly failing?: number;
  readonly total?: number;
}

export function candidatesOf(turns: readonly Turn[]): readonly Candidate[] {
  return turns.flatMap((turn) => {
    if (turn.type !== 'Note' || turn.kind !== 'Tried') return [];
    const { data } = turn;
    const [facts, signals] = [fieldsOf(data['facts']), fieldsOf(data['signals'])];
    const numbers = {
      step: numberOf(data['step']),
      energy: numberOf(signals['energy']),
      pSuccess: numberOf(signals['pSuccess']),
      risk: numberOf(signals['risk']),
      failing: numberOf(facts['testsFailing']),
      total: numberOf(facts['testsTotal']),
    };
    const text = (name: string): string => textOf(data[name]);
    return {
      id: text('id').replace('sha256:', '').slice(0, 8),
      seq: turn.seq,
      operator: text('operator'),
      location: text('location'),
      expert: textOf(facts['expert']),
      decision: text('decision'),
      result: text('result'),
      why: text('why'),
      ...(Object.fromEntries(Object.entries(numbers).filter(([, value]) => value !== undefined)) as Partial<
        Record<keyof typeof numbers, number>
      >),
    };
  });
}

type Note = Extract<Turn, { type: 'Note' }>;

const figures = (fields: Fields, names: readonly string[]): string =>
  names
    .flatMap((name) => {
      const value = numberOf(fields[name]);
      return value === undefined ? [] : [`${name} ${Number(value.toPrecision(3))}`];
    })
    .join(', ');

const words: Readonly<Record<string, (data: Fields) => readonly [title: string, text: string]>> = {
  TaskBegan: (data) => ['The task began', `pool ${textOf(fieldsOf(data['pool'])['name'])}`],
  Tried: (data) => [
    `Candidate ${textOf(data['id']).replace('sha256:', '').slice(0, 8)}: ${textOf(data['decision'])}, ${textOf(data['result'])}`,
    [
      `${textOf(data['operator'])} at ${textOf(data['location'])}`,
      textOf(data['why']),
      figures(fieldsOf(data['signals']), ['pSuccess', 'energy', 'risk', 'margin']),
    ]
      .filter((text) => text !== '')
      .join(' · '),
  ],
  Accepted: (data) => [
    `Step done with candidate ${textOf(data['candidate']).replace('sha256:', '').slice(0, 8)}`,
    `${listOf(data['edits']).length} edits, snapshot ${textOf(data['snapshot']) || 'none'}`,
  ],
  Baseline: (data) => [
    'Checks before any change',
    listOf(data['checks'])
      .map(fieldsOf)
      .map((check) => `${textOf(check['check'])} (${textOf(check['expect'])}): ${listOf(check['failing']).length} failing`)
      .join(' · '),
  ],
  Green: (data) => ['All checks hold in a fresh container', `snapshot ${textOf(data['snapshot'])}`],
  Outcome: (data) => [
    `Attempt ${textOf(data['attempt'])}: ${textOf(data['result'])}`,
    [textOf(data['class']), textOf(data['reason'])].filter((text) => text !== '').join(', '),
  ],
  Egress: (data) => [`Network: ${textOf(data['mode'])}`, `${listOf(data['requests']).length} hosts were asked for`],
};

/** A note of the worker in words; one that is not known as it is. */
export function noteOf({ kind, data }: Note): { readonly title: string; readonly text: string } {
  const known = Object.hasOwn(words, kind) ? words[kind] : undefined;
  if (known !== undefined) {
    const [title, text] = known(data);
    return { title, text };
  }
  const text = Object.entries(data)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
  return { title: kind.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' '), text: text.slice(0, 600) };
}
