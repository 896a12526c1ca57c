// hack, bench/operator: counts of requests in the API server's audit log. May import any package.
import { createReadStream } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { jsonOf } from '@agentfleet/protocol/text';

/** Fields that are read of one answered request in the API server's audit log. */
export interface AuditEvent {
  readonly verb: string;
  /** With its subresource: `agenttasks/status`. */
  readonly resource: string;
  readonly code: number;
  /** Ms since the epoch at which the server received it. */
  readonly receivedAt: number;
}

/** Requests of one program. Attempts count, whatever the answer was. */
export interface Tally {
  readonly writes: number;
  readonly reads: number;
  readonly conflicts: number;
  /** Answers from 400 on that are no conflict. */
  readonly errors: number;
  /** Writes and reads by verb and resource: `create pods`. */
  readonly calls: Readonly<Record<string, number>>;
  /** Calls about leases: what a leader costs, whatever it does. */
  readonly leaseCalls: number;
  readonly watches: number;
}

/** Fields of a line of the log that we read. */
export interface AuditEntry {
  readonly verb?: string;
  readonly requestURI?: string;
  readonly userAgent?: string;
  readonly user?: { readonly username?: string };
  readonly objectRef?: {
    readonly apiGroup?: string;
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** One line of the log; nothing when it was cut off. Pure. */
export function auditEntry(line: string): AuditEntry | undefined {
  return jsonOf(line) as AuditEntry | undefined;
}

const writing = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** One line of the log; undefined when it is of another program, or was cut off. Pure. */
export function auditEvent(line: string, agent: string): AuditEvent | undefined {
  // Most lines are of others; parsing them would take most of the time.
  if (!line.includes(`"userAgent":"${agent}`)) return undefined;
  const raw = auditEntry(line);
  if (raw?.userAgent?.startsWith(agent) !== true) return undefined;
  const { resource = '', subresource } = raw.objectRef ?? {};
  return {
    verb: raw.verb ?? '',
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    code: raw.responseStatus?.code ?? 0,
    receivedAt: Date.parse(raw.requestReceivedTimestamp ?? ''),
  };
}

/** Reports whether the request asked for a change. Pure. */
export function isWrite({ verb = '' }: Pick<AuditEntry, 'verb'>): boolean {
  return writing.has(verb);
}

/** Counts requests. Pure. */
export function tally(events: readonly AuditEvent[]): Tally {
  const counted = events.filter(({ verb, resource }) => verb !== 'watch' && resource !== 'leases');
  const calls: Record<string, number> = {};
  for (const { verb, resource } of counted) calls[`${verb} ${resource}`] = (calls[`${verb} ${resource}`] ?? 0) + 1;
  const writes = counted.filter(isWrite).length;
  return {
    writes,
    reads: counted.length - writes,
    conflicts: counted.filter(({ code }) => code === 409).length,
    errors: counted.filter(({ code }) => code >= 400 && code !== 409).length,
    calls,
    leaseCalls: events.filter(({ resource }) => resource === 'leases').length,
    watches: events.filter(({ verb, resource }) => verb === 'watch' && resource !== 'leases').length,
  };
}

/** Bytes of each file at one moment, by inode, because files are renamed when they are full. */
export type AuditMark = ReadonlyMap<number, number>;

async function files(folder: string): Promise<readonly { readonly path: string; readonly inode: number; readonly size: number }[]> {
  const names = (await readdir(folder)).filter((name) => /^audit.*\.log$/.test(name));
  return Promise.all(
    names.map(async (name) => {
      const { ino, size } = await stat(join(folder, name));
      return { path: join(folder, name), inode: ino, size };
    }),
  );
}

/** Remembers where the log in a folder ends now. */
export async function markAudit(folder: string): Promise<AuditMark> {
  return new Map((await files(folder)).map(({ inode, size }) => [inode, size]));
}

/** Lines that were written since the mark. */
export async function* auditLines(folder: string, mark: AuditMark): AsyncGenerator<string> {
  for (const { path, inode, size } of await files(folder)) {
    const start = mark.get(inode) ?? 0;
    if (size > start) yield* createInterface({ input: createReadStream(path, { start }) });
  }
}

/** Returns the requests of a program, by the prefix of its user agent, since the mark. */
export async function auditSince(folder: string, mark: AuditMark, agent: string): Promise<readonly AuditEvent[]> {
  const events: AuditEvent[] = [];
  for await (const line of auditLines(folder, mark)) {
    const event = auditEvent(line, agent);
    if (event !== undefined) events.push(event);
  }
  return events.toSorted((a, b) => a.receivedAt - b.receivedAt);
}
