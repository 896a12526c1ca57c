import type { AuditRecord, AuditType } from '@agentfleet/protocol/keeper';
import { fieldsOf, listOf, textOf, type Fields, printable, printableLines } from '@agentfleet/protocol/text';
import { numberOf } from '../evidence/artifact.ts';
import { childLines, itemOf, quoted, type TimelineItem, type Described, tellNote } from './notes.ts';
import type { ConversationEntry } from '@agentfleet/protocol/results';

const digest = (value: unknown): string => textOf(value).replace('sha256:', '').slice(0, 12);

/** Describes the end of a command. */
function ending(end: Fields | undefined): string {
  if (end === undefined) return 'no end of it in this log';
  const { started, error, exitCode, signal, killed, durationMs, timedOut, oom, interrupted } = end;
  if (started === false) return `did not start (${textOf(error)})`;
  const why = [
    ...(textOf(killed) === '' ? [] : [`killed: ${textOf(killed)}`]),
    ...(timedOut === true ? ['timed out'] : []),
    ...(oom === true ? ['out of memory'] : []),
    ...(interrupted === undefined || interrupted === null ? [] : [`interrupted: ${textOf(interrupted) || 'yes'}`]),
  ];
  const code = numberOf(exitCode) === undefined ? `signal ${textOf(signal) || 'unknown'}` : `exit ${numberOf(exitCode)}`;
  const took = numberOf(durationMs) === undefined ? '' : ` in ${((numberOf(durationMs) ?? 0) / 1000).toFixed(3)} s`;
  return `${code}${took}${why.length === 0 ? '' : ` (${why.join(', ')})`}`;
}

function command(body: Fields, end: Fields | undefined): Described {
  const { tool, argv, command: line, cwd, network } = body;
  const words = textOf(line) === '' ? listOf(argv).map(textOf).map(quoted).join(' ') : textOf(line);
  return {
    kind: 'Command',
    text: `${textOf(tool)} in ${textOf(cwd)}, network ${textOf(network)}: ${ending(end)}`,
    more: [...(words === '' ? [] : words.split('\n')), ...childLines(end?.['commands'], end?.['moreCommands'])],
    facts: { ...body, end: end ?? null },
  };
}

function restore(body: Fields, end: Fields | undefined): Described {
  const { phase, verified, manifestDigest, created, modified, deleted, why } = end ?? body;
  const id = textOf(body['id']);
  const facts = { ...body, ...end };
  if (phase === 'Failed') return { kind: 'Restore', text: `of ${id} failed: ${textOf(why)}`, facts };
  if (phase !== 'Done') return { kind: 'Restore', text: `of ${id} began, no end of it in this log`, facts };
  const counts = `${numberOf(created) ?? 0} created, ${numberOf(modified) ?? 0} modified, ${numberOf(deleted) ?? 0} deleted`;
  return {
    kind: 'Restore',
    text: `of ${id}: ${verified === true ? 'verified' : 'NOT VERIFIED'}, ${counts}, tree ${digest(manifestDigest)}`,
    facts,
  };
}

function snapshot({ id, label, files, bytes, manifestDigest }: Fields): Described {
  const name = textOf(label) === '' ? '' : ` "${textOf(label)}"`;
  return {
    kind: 'Snapshot',
    text: `${textOf(id)}${name}: ${numberOf(files) ?? 0} files, ${numberOf(bytes) ?? 0} bytes, tree ${digest(manifestDigest)}`,
  };
}

function network({ state, targets }: Fields): Described {
  const open = listOf(targets)
    .map(fieldsOf)
    .filter(({ reachable }) => reachable === true);
  const reached = open.length === 0 ? '' : `, reached ${open.map(({ name, address }) => `${textOf(name)} ${textOf(address)}`).join(', ')}`;
  return { kind: 'Network', text: `probe: ${textOf(state)}${reached}` };
}

/** Records that report one thing each. Those that begin or end something are reported with their other half. */
const tellers: Readonly<Partial<Record<AuditType, (body: Fields) => Described>>> = {
  KeeperStarted: ({ version, tornBytes }) => ({
    kind: 'Keeper',
    text: `started, version ${textOf(version)}${(numberOf(tornBytes) ?? 0) > 0 ? `, cut ${numberOf(tornBytes)} torn bytes of its log` : ''}`,
  }),
  ToolsConnected: ({ version, isolation }) => ({
    kind: 'Tools',
    text: `connected, version ${textOf(version)}, isolation ${textOf(fieldsOf(isolation)['level']) || 'unknown'}`,
  }),
  ToolsLost: ({ why }) => ({ kind: 'Tools', text: `lost: ${textOf(why)}` }),
  ToolsRestartRequested: ({ why }) => ({ kind: 'Tools', text: `restart requested: ${textOf(why)}` }),
  NetworkProbed: network,
  EpochRaised: ({ from, to }) => ({ kind: 'Epoch', text: `raised from ${numberOf(from) ?? '?'} to ${numberOf(to) ?? '?'}` }),
  FileWritten: ({ path, bytes, created }) => ({
    kind: 'File',
    text: `${created === true ? 'made' : 'wrote'} ${textOf(path)}, ${numberOf(bytes) ?? '?'} bytes`,
  }),
  TreeWritten: ({ path, files, bytes, why }) => ({
    kind: 'File',
    text: `unpacked ${numberOf(files) ?? 0} files, ${numberOf(bytes) ?? 0} bytes below ${textOf(path)}${textOf(why) === '' ? '' : `, broken off: ${textOf(why)}`}`,
  }),
  Noted: tellNote,
  SnapshotTaken: snapshot,
  EgressClosed: ({ id, connections, bytesOut, bytesIn, why }) => ({
    kind: 'Egress',
    text: `${id === undefined ? `${numberOf(connections) ?? '?'} more connections` : `connection ${numberOf(id) ?? '?'}`} closed (${textOf(why)}), ${numberOf(bytesOut) ?? 0} bytes out, ${numberOf(bytesIn) ?? 0} in`,
  }),
};

/** The story of a log, oldest first: a command is reported with its end, a restore with its result. Pure. */
export function timelineOf(records: readonly AuditRecord[]): readonly TimelineItem[] {
  const ends = new Map(records.filter(({ type }) => type === 'ExecEnded').map(({ body }) => [body['execId'], body]));
  const asked = new Set(records.filter(({ type }) => type === 'ExecRequested').map(({ body }) => body['execId']));
  const restores = tellRestores(records.filter(({ type }) => type === 'SnapshotRestored'));
  return records.flatMap((record) => {
    const { type, body } = record;
    if (type === 'ExecRequested') return [itemOf(record, command(body, ends.get(body['execId'])))];
    if (type === 'ExecEnded') return asked.has(body['execId']) ? [] : [itemOf(record, command(body, body))];
    const described = type === 'SnapshotRestored' ? restores.get(record.seq) : tellers[type]?.(body);
    return described === undefined ? [] : [itemOf(record, described)];
  });
}

/** By record: an intent is reported with what came of it, the next record about a restore. */
function tellRestores(records: readonly AuditRecord[]): ReadonlyMap<number, Described> {
  const restores = new Map<number, Described>();
  let begun: AuditRecord | undefined;
  for (const record of records) {
    const { seq, body } = record;
    const intent = body['phase'] === 'Intent';
    const ends = !intent && begun !== undefined && begun.body['id'] === body['id'];
    if (ends && begun !== undefined) restores.set(begun.seq, restore(begun.body, body));
    else restores.set(seq, restore(body, undefined));
    begun = intent ? record : undefined;
  }
  return restores;
}

/** Lines of one text that are shown; more are counted. */
const mostLines = 12;
const longest = 400;

function cut(text: string): string {
  return text.length <= longest ? text : `${text.slice(0, longest)}…`;
}

function body(text: string, most: number): readonly string[] {
  const lines = printableLines(text.trim()).filter((line) => line !== '');
  const rest = lines.length - most;
  return [...lines.slice(0, most).map(cut), ...(rest > 0 ? [`… ${rest} more lines`] : [])];
}

/** An entry in words: a head, and what stands below it. */
function entryLines(entry: ConversationEntry, most: number): readonly string[] {
  switch (entry.type) {
    case 'Began':
      return [`conversation with ${entry.expert}, ${entry.tools.length} tools`, ...body(entry.goal, most)];
    case 'Assistant': {
      const { usage, proposals } = entry;
      const spent = usage === undefined ? '' : `, ${usage.input} tokens in, ${usage.output} out`;
      const chosen = proposals > 1 ? `, chosen of ${proposals}` : '';
      return [
        `model, step ${entry.step}${chosen}${spent}`,
        ...body(entry.text, most),
        ...entry.calls.map((call) => cut(`→ ${printable(call.name)} ${printable(call.arguments)}`)),
      ];
    }
    case 'Observation': {
      const how = entry.refused === undefined ? (entry.notRun ? 'not run' : entry.ok ? 'done' : 'failed') : `refused by ${entry.refused}`;
      return [`${entry.tool}: ${how}`, ...body(entry.text, most)];
    }
    case 'User':
      return [{ Notice: 'notice', Person: 'a person', Summary: 'summary' }[entry.origin], ...body(entry.text, most)];
    case 'Rewound':
      return [`taken back to the tree after step ${entry.toStep}`];
    case 'Decision': {
      const by = entry.requester === undefined ? 'nobody in time' : entry.requester;
      return [`${entry.decision} by ${by}: ${entry.summary}`, ...body(entry.answer ?? entry.why ?? '', most)];
    }
    case 'Snapshot':
      return [`snapshot ${entry.id} ${entry.label}`];
    case 'Restored':
      return [`restored ${entry.id}${entry.verified ? '' : ', NOT verified'}`];
    case 'Note': {
      const { kind, text, more = [] } = tellNote({ kind: entry.kind, data: entry.data });
      // The output of a program is what a log is for.
      return [`${kind.toLowerCase()} ${text}`, ...(kind === 'Program' ? more : more.slice(0, most))];
    }
    case 'Pause':
    default:
      return [];
  }
}

/** An entry of a conversation for people, safe for a terminal; `most` lines of each text. Pure. */
export function conversationLines(entry: ConversationEntry, most = mostLines): readonly string[] {
  const [head, ...more] = entryLines(entry, most);
  if (head === undefined) return [];
  return [`${printable(entry.at.slice(11, 19))} ${printable(cut(head))}`, ...more.map((line) => `         ${printable(line)}`)];
}
