import { execFile } from 'node:child_process';
import type { AuditRecord } from '@agentfleet/protocol/keeper';
import type { JournalOptions } from '../journal.ts';
import type { Answer, Probe } from '../types.ts';

/** Runs programs in a folder of this machine, as the sandbox would in its workspace. */
export function probeIn(cwd: string, env: Readonly<Record<string, string>> = {}): Probe {
  return ([program = '', ...args]) =>
    new Promise((resolve) => {
      execFile(program, args, { cwd, env: { ...process.env, ...env } }, (error, stdout) => {
        const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : 127;
        resolve({ exitCode, stdout });
      });
    });
}

/** An event log in memory, as the journal and a rollback use it. */
export class Log {
  readonly records: AuditRecord[] = [];
  #ids = 0;

  note: JournalOptions['note'] = (kind, data) => {
    const seq = this.records.length + 1;
    this.records.push({ seq, type: 'Noted', body: { kind, data: structuredClone(data) } } as unknown as AuditRecord);
    return Promise.resolve();
  };
  newId = (): string => `effect-${(this.#ids += 1)}`;

  /** `kind` and the key facts of each note, in the order of the log. */
  get kinds(): readonly string[] {
    return this.records.map(({ body }) => (body as { readonly kind: string }).kind);
  }
}

export const shellIn =
  (probe: Probe) =>
  (command: string): Promise<Answer> =>
    probe(['/bin/sh', '-c', command]);
