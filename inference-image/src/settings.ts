import { isAbsolute } from 'node:path';
import { logLevels, type LogLevel } from './logger.ts';

/** @throws Error for a path that depends on where the server was started */
export function parsePath(value: string): string {
  if (!isAbsolute(value)) throw new Error(`"${value}" is not an absolute path; write it from / on`);
  return value;
}

/** @throws Error for what is not from 1 to 999999 */
export function parseCount(value: string): number {
  const count = Number(value);
  if (!/^\d{1,6}$/.test(value) || count === 0) throw new Error(`"${value}" is not a number from 1 to 999999`);
  return count;
}

/** @throws Error for what is no level */
export function parseLevel(value: string): LogLevel {
  const level = logLevels.find((known) => known === value);
  if (level === undefined) throw new Error(`"${value}" is not one of ${logLevels.join(', ')}`);
  return level;
}
