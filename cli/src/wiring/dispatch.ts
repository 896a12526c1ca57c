import { InvalidArgumentError } from 'commander';
import type { CommandContext, LocalContext } from '../commands/index.ts';
import type { ConnectionFlags } from '../base/connection.ts';

/** Runs one command. */
export interface Dispatch {
  /** With a connection that is closed after it. */
  readonly connected: (flags: ConnectionFlags, command: (context: CommandContext) => Promise<void>) => Promise<void>;
  /** Without one: nothing is asked of any cluster. */
  readonly locally: (command: (context: LocalContext) => Promise<void>) => Promise<void>;
}

/** Returns the options that were given, of those that may be left out. */
export const given = <T extends object>(flags: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined)) as { [K in keyof T]: Exclude<T[K], undefined> };

/** Reads an option that is a time to wait. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 86_400) throw new InvalidArgumentError('write whole seconds from 1 to 86400');
  return value;
}
