import { mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { ExecEnd } from '@agentfleet/protocol/keeper';
import { errnoOf } from '../failure.ts';
import { readLines } from '../lines.ts';
import type { FollowSource } from './follow.ts';
import { Journal, type JournalHeader } from './journal.ts';

const idPattern = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;

/** The journals of all commands of this sandbox, `<store>/execs/<execId>.ndjson`. */
export class JournalArchive {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(folder: string): Promise<JournalArchive> {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new JournalArchive(folder);
  }

  create(header: JournalHeader, onFault: (error: unknown) => void): Promise<Journal> {
    return Journal.create(this.path(header.execId), header, onFault);
  }

  /** The header and a source of a finished command; null for an unknown one. */
  async find(execId: string): Promise<{ readonly header: JournalHeader; readonly source: FollowSource } | null> {
    if (!idPattern.test(execId)) return null;
    const file = this.path(execId);
    try {
      const { size } = await stat(file);
      const header = await readHeader(file);
      if (header === null) return null;
      return { header, source: { file, size, ended: true, changed: () => Promise.resolve() } };
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return null;
      throw error;
    }
  }

  /** Execs on disk, for metrics. */
  async count(): Promise<number> {
    return (await readdir(this.#folder)).length;
  }

  /** Where the journal of a command lies. */
  path(execId: string): string {
    return join(this.#folder, `${execId}.ndjson`);
  }
}

/** The end of a command that nobody saw end. */
export function interruptedEnd(interrupted: NonNullable<ExecEnd['interrupted']>, durationMs = 0): Omit<ExecEnd, 'seq'> {
  return {
    type: 'end',
    exitCode: null,
    signal: null,
    timedOut: false,
    killed: null,
    oom: null,
    durationMs,
    cpuMs: 0,
    maxRssBytes: 0,
    bytes: { stdout: 0, stderr: 0 },
    dropped: { stdout: 0, stderr: 0 },
    swept: 0,
    interrupted,
  };
}

async function readHeader(file: string): Promise<JournalHeader | null> {
  for await (const line of readLines(file)) {
    return line.complete ? (JSON.parse(line.bytes.toString('utf8')) as JournalHeader) : null;
  }
  return null;
}
