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

/** Returns a summary of a call in one line: the command, the path, or its arguments. */
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

/** A text of a file that another took the place of; without `before` the file is new. */
export interface Edit {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** Edits and commands since the snapshot before. */
export interface Since {
  /** The snapshot before it; undefined for the first. */
  readonly from: string | undefined;
  readonly edits: readonly Edit[];
  /** Commands that ran: what they changed is in no record but their output. */
  readonly commands: readonly string[];
}

function editOf(given: string): readonly Edit[] {
  try {
    const { path, edits, ...first } = fieldsOf(JSON.parse(given));
    const more = Array.isArray(edits) ? edits.map(fieldsOf) : [];
    const all = 'new_text' in first || more.length === 0 ? [first, ...more] : more;
    if (textOf(path) === '') return [];
    return all.map(({ old_text: before, new_text: after }) => ({ path: textOf(path), before: textOf(before), after: textOf(after) }));
  } catch {
    return [];
  }
}

const changing = new Set(['bash', 'edit_file', 'shell']);

/** An edit or a command, of those that took place. */
interface Piece {
  readonly edits: readonly Edit[];
  readonly commands: readonly string[];
}

function piecesOf({ done }: Reply): readonly Piece[] {
  return done.flatMap(({ name, arguments: given, observation }): readonly Piece[] => {
    // A call that was refused, or not run, did nothing; a command that failed may have changed files before it failed.
    if (!changing.has(name) || observation?.refused !== undefined || observation?.notRun === true) return [];
    if (name !== 'edit_file') return [{ edits: [], commands: [gistOf({ arguments: given })] }];
    return observation?.ok === true ? [{ edits: editOf(given), commands: [] }] : [];
  });
}

const joined = (pieces: readonly Piece[]): Piece => ({
  edits: pieces.flatMap(({ edits }) => edits),
  commands: pieces.flatMap(({ commands }) => commands),
});

/**
 * Returns the edits and commands that belong to each snapshot of a step. A call that changed the tree has one snapshot, an edit always, a
 * command perhaps: where it cannot be determined which, the first has all.
 */
function byCall(pieces: readonly Piece[], snapshots: number): Piece[] {
  if (snapshots === pieces.length) return [...pieces];
  const groups: Piece[] = [];
  let rest: Piece[] = [];
  for (const piece of pieces) {
    rest.push(piece);
    if (piece.edits.length === 0) continue;
    groups.push(joined(rest));
    rest = [];
  }
  if (groups.length !== snapshots) return [joined(pieces)];
  return rest.length === 0 ? groups : [...groups, joined(rest)];
}

/** Edits and commands that the conversation records: by the seq of each snapshot's record, and since the last one. */
interface Done {
  readonly found: ReadonlyMap<number, Since>;
  readonly seqs: ReadonlyMap<string, number>;
  readonly last: Since;
}

export const changesBySnapshot = (turns: readonly Turn[]): ReadonlyMap<number, Since> => walk(turns).found;

/** Returns the edits and commands since a snapshot, which a return to it discards; undefined: an earlier one was restored since. */
export function doneSince(turns: readonly Turn[], id: string): Piece | undefined {
  const { found, seqs, last } = walk(turns);
  const pieces: Piece[] = [];
  let since: Since | undefined = last;
  for (let steps = 0; since !== undefined && steps <= found.size; steps += 1) {
    pieces.unshift(since);
    if (since.from === id) return joined(pieces);
    since = found.get(seqs.get(since.from ?? '') ?? -1);
  }
  return undefined;
}

function walk(turns: readonly Turn[]): Done {
  const found = new Map<number, Since>();
  const seqs = new Map<string, number>();
  const labels = turns.flatMap((turn) => (turn.type === 'Snapshot' ? [turn.label] : []));
  let from: string | undefined;
  let waiting: Piece[] = [];
  let step = '';
  for (const turn of turns) {
    if (turn.type === 'Assistant') {
      step = `step ${turn.step}`;
      const [first, ...more] = byCall(piecesOf(turn), labels.filter((label) => label === step).length);
      // The next snapshot includes the changes that earlier steps left without one.
      waiting = first === undefined ? waiting : [joined([...waiting, first]), ...more];
    } else if (turn.type === 'Snapshot') {
      const taken = turn.label === step ? waiting.splice(0, 1) : waiting.splice(0);
      found.set(turn.seq, { from, ...joined(taken) });
      seqs.set(turn.id, turn.seq);
      from = turn.id;
    } else if (turn.type === 'Restored') {
      from = turn.id;
      waiting = [];
    } else if (turn.type === 'Note' && turn.kind === 'Accepted') {
      // A search notes what it took after the snapshot that holds it.
      const edits = listOf(turn.data['edits'])
        .map(fieldsOf)
        .map(({ path, before, after }) => ({ path: textOf(path), before: textOf(before), after: textOf(after) }));
      const at = seqs.get(textOf(turn.data['snapshot']));
      const held = at === undefined ? undefined : found.get(at);
      if (at === undefined || held === undefined) waiting.push({ edits, commands: [] });
      else found.set(at, { ...held, edits: [...held.edits, ...edits] });
    }
  }
  return { found, seqs, last: { from, ...joined(waiting) } };
}
