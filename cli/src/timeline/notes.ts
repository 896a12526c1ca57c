import type { AuditRecord } from '@agentfleet/protocol/keeper';
import { type Fields, fieldsOf, listOf, textOf } from '@agentfleet/protocol/text';
import { numberOf } from '../evidence/artifact.ts';
import { printable } from '@agentfleet/protocol/text';
import { plural } from '../text/format.ts';

type ItemKind =
  | 'Keeper'
  | 'Tools'
  | 'Network'
  | 'Epoch'
  | 'Command'
  | 'File'
  | 'Snapshot'
  | 'Restore'
  | 'Baseline'
  | 'Candidate'
  | 'Step'
  | 'Approval'
  | 'Egress'
  | 'Outcome'
  | 'Program'
  | 'Note';

/** One thing that happened, of one record or of a beginning and its end. */
export interface TimelineItem {
  /** Number of the record, of the first when there are two. */
  readonly seq: number;
  readonly at: string;
  readonly epoch: number;
  readonly kind: ItemKind;
  /** In words, on one line; may hold what an agent wrote. */
  readonly text: string;
  /** More lines of it. */
  readonly more: readonly string[];
  /** Contents of the records. */
  readonly facts: Fields;
}

export type Described = Pick<TimelineItem, 'kind' | 'text'> & Partial<Pick<TimelineItem, 'more' | 'facts'>>;

export function itemOf({ seq, at, epoch, body }: AuditRecord, { kind, text, more = [], facts = body }: Described): TimelineItem {
  return { seq, at, epoch, kind, text, more, facts };
}

/** Names of a list, the first of them in words. */
function named(values: readonly string[], most = 5): string {
  const rest = values.length - most;
  return `${values.slice(0, most).join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

function measure(name: string, value: unknown): readonly string[] {
  const number = numberOf(value);
  return number === undefined ? [] : [`${name} ${Number(number.toPrecision(3))}`];
}

/** Describes what a decision was based on, in one line. */
function signalsLine(signals: Fields): string {
  const { risk, energy, pSuccess, margin, entropyNats, k, deliberate, degraded } = signals;
  const lacking = listOf(degraded).map(textOf);
  return [
    ...measure('p', pSuccess),
    ...measure('risk', risk),
    ...measure('energy', energy),
    ...measure('margin', margin),
    ...measure('entropy', entropyNats),
    ...measure('k', k),
    ...(deliberate === true ? ['deliberate'] : []),
    ...(lacking.length === 0 ? [] : [`degraded: ${lacking.join('; ')}`]),
  ].join(', ');
}

function candidate(data: Fields): Described {
  const { id, step, operator, location, decision, result, why, facts, signals } = data;
  const { expert, tool, testsFailing, testsFixed, testsTotal } = fieldsOf(facts);
  const by = textOf(expert) === '' ? '' : ` by ${textOf(expert)}`;
  const [failing, fixed, total] = [testsFailing, testsFixed, testsTotal].map(numberOf);
  const tests = failing === undefined ? [] : [`${failing} of ${total ?? '?'} tests fail, ${fixed ?? 0} fixed`];
  const based = signalsLine(fieldsOf(signals));
  return {
    kind: 'Candidate',
    text: `${textOf(id).replace('sha256:', '').slice(0, 8)} of step ${numberOf(step) ?? '?'}: ${textOf(operator)} at ${textOf(location)}${by}: ${textOf(decision)}, ${textOf(result)}`,
    more: [
      ...(textOf(why) === '' ? [] : [`why: ${textOf(why)}`]),
      ...(tests.length === 0 ? [] : [`${textOf(tool)}: ${tests.join('')}`]),
      ...(based === '' ? [] : [based]),
    ],
  };
}

function step({ candidate: id, edits, acts, snapshot, passing }: Fields): Described {
  const ran = listOf(acts).map((act) => textOf(fieldsOf(act)['command']));
  const at = textOf(snapshot) === '' ? '' : `, snapshot ${textOf(snapshot)}`;
  const paths = listOf(edits).map((edit) => textOf(fieldsOf(edit)['path']));
  return {
    kind: 'Step',
    text: `done with candidate ${textOf(id).replace('sha256:', '').slice(0, 8)}: ${plural(listOf(edits).length, 'edit')}, ${plural(ran.length, 'command')}, ${plural(listOf(passing).length, 'test')} newly pass${at}`,
    more: [...(paths.length === 0 ? [] : [`edits ${named([...new Set(paths)])}`]), ...ran.map((command) => `act: ${command}`)],
  };
}

function baseline({ checks }: Fields): Described {
  const lines = listOf(checks).map((one) => {
    const { check, expect, failing, flaky } = fieldsOf(one);
    const flaking = listOf(flaky).length === 0 ? '' : `, ${listOf(flaky).length} flaky`;
    return `check ${textOf(check)} (${textOf(expect)}): ${listOf(failing).length} failing${flaking}: ${named(listOf(failing).map(textOf)) || 'none'}`;
  });
  return { kind: 'Baseline', text: `${plural(lines.length, 'check')} before any change`, more: lines };
}

function approval(decision: string, { summary, action, answer, order, requester, why }: Fields): Described {
  const by = textOf(requester) === '' ? 'nobody answered in time' : `by ${textOf(requester)}, order ${textOf(order)}`;
  return {
    kind: 'Approval',
    text: `${decision}: ${textOf(summary)} (${by})`,
    more: [
      ...(textOf(answer) === '' ? [] : [`answer: ${textOf(answer)}`]),
      ...(textOf(why) === '' ? [] : [`reason: ${textOf(why)}`]),
      `act ${textOf(action)}`,
    ],
  };
}

function egress({ mode, requests, others }: Fields): Described {
  const lines = listOf(requests).map((one) => {
    const { host, port, decision, requests: times, bytesOut, bytesIn } = fieldsOf(one);
    return `${textOf(decision)}: ${textOf(host)}:${numberOf(port) ?? '?'} ${numberOf(times) ?? 1}×, ${numberOf(bytesOut) ?? 0} bytes out, ${numberOf(bytesIn) ?? 0} in`;
  });
  const unnamed = numberOf(others) ?? 0;
  const more = unnamed === 0 ? lines : [...lines, `and ${unnamed} more requests, to hosts that are not named`];
  return { kind: 'Egress', text: `${textOf(mode)}: ${plural(lines.length, 'line')} of requests`, more };
}

function outcome({ attempt, result, reason, class: cls }: Fields): Described {
  const failure = textOf(cls) === '' ? '' : ` (${textOf(cls)})`;
  return { kind: 'Outcome', text: `attempt ${numberOf(attempt) ?? '?'}: ${textOf(result)}, ${textOf(reason)}${failure}` };
}

function other(kind: string, data: Fields): Described {
  const words = Object.entries(data).map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return { kind: 'Note', text: `${kind}: ${words.join(', ')}` };
}

function began({ goal, consent, pool }: Fields): Described {
  return {
    kind: 'Note',
    text: `TaskBegan: pool ${textOf(fieldsOf(pool)['name'])}, trace consent ${textOf(consent)}`,
    more: textOf(goal).split('\n'),
  };
}

/** Of the tools only the names: their descriptions are long. */
function conversation({ tools, ...data }: Fields): Described {
  return other('ConversationBegan', { ...data, tools: listOf(tools).map((tool) => textOf(fieldsOf(tool)['name'])) });
}

/** Describes the output of an agent program, with all its lines. */
function programOutput({ round, text, omitted, dropped }: Fields): Described {
  const before = (numberOf(omitted) ?? 0) === 0 ? '' : `; ${numberOf(omitted)} characters before it are left out`;
  const after = (numberOf(dropped) ?? 0) === 0 ? '' : `; ${numberOf(dropped)} bytes after it were not kept`;
  const lines = textOf(text)
    .replace(/\r?\n$/, '')
    .split(/\r?\n/);
  return {
    kind: 'Program',
    text: `run ${numberOf(round) ?? '?'} printed${before}${after}`,
    more: lines.length === 1 && lines[0] === '' ? [] : lines,
  };
}

/** A word as a shell would need it, so that what is one word looks like one. */
export const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`);

/** Commands of a program's children, a line each. */
export function childLines(commands: unknown, more: unknown): readonly string[] {
  const lines = listOf(commands).map((one) => {
    const { atMs, argv } = fieldsOf(one);
    return `child +${((numberOf(atMs) ?? 0) / 1000).toFixed(3)} ${listOf(argv).map(textOf).map(quoted).join(' ')}`;
  });
  const unnamed = numberOf(more) ?? 0;
  return unnamed === 0 ? lines : [...lines, `and ${plural(unnamed, 'more command')} of children`];
}

function programCommands({ commands, moreCommands }: Fields): Described {
  const more = childLines(commands, moreCommands);
  return { kind: 'Program', text: `its children ran ${plural(listOf(commands).length + (numberOf(moreCommands) ?? 0), 'command')}`, more };
}

const tellers: Readonly<Record<string, (data: Fields) => Described>> = {
  TaskBegan: began,
  ConversationBegan: conversation,
  Tried: candidate,
  Accepted: step,
  Baseline: baseline,
  Approved: (data) => approval('Approved', data),
  Rejected: (data) => approval('Rejected', data),
  Answered: (data) => approval('Answered', data),
  Unanswered: (data) => approval('Unanswered', data),
  Egress: egress,
  Green: ({ snapshot }) => ({ kind: 'Outcome', text: `all checks hold in a fresh container, snapshot ${textOf(snapshot)}` }),
  Outcome: outcome,
  ProgramOutput: programOutput,
  ProgramCommands: programCommands,
};

/** Describes a note of the worker, in words. A kind that is not known is reported as it is. */
export function tellNote({ kind, data }: Fields): Described {
  const fields = fieldsOf(data);
  const own = Object.hasOwn(tellers, textOf(kind)) ? tellers[textOf(kind)]?.(fields) : undefined;
  return { ...(own ?? other(textOf(kind), fields)), facts: fields };
}

/** Files in a row that are reported one by one; more are counted. */
const mostFiles = 3;

/** A run of items of one kind. */
function runs(items: readonly TimelineItem[]): readonly (readonly TimelineItem[])[] {
  const groups: TimelineItem[][] = [];
  for (const item of items) {
    const last = groups.at(-1);
    if (last !== undefined && last[0]?.kind === item.kind) last.push(item);
    else groups.push([item]);
  }
  return groups;
}

function offset(at: string, start: number): string {
  const seconds = (Date.parse(at) - start) / 1000;
  return Number.isFinite(seconds) ? `${seconds < 0 ? '' : '+'}${seconds.toFixed(3)}` : '?';
}

/** A story for people: record, seconds since the first one, kind, words. Safe for a terminal. */
export function timelineLines(items: readonly TimelineItem[]): readonly string[] {
  const start = Date.parse(items[0]?.at ?? '');
  const row = ({ seq, at, kind }: TimelineItem, text: string, more: readonly string[]): readonly string[] => [
    `${String(seq).padStart(6)} ${offset(at, start).padStart(10)}  ${kind.padEnd(9)} ${printable(text)}`,
    ...more.map((line) => `${' '.repeat(31)}${printable(line)}`),
  ];
  return runs(items).flatMap((group) => {
    const [first] = group;
    const all = group.flatMap((item) => row(item, item.text, item.more));
    if (first?.kind !== 'File' || group.length <= mostFiles) return all;
    const [last] = group.slice(-1);
    const path = textOf(last?.facts['path']);
    return row(first, `${group.length} files, the last one ${path} (record ${last?.seq ?? '?'})`, []);
  });
}
