import { isAbsolute } from 'node:path';

export type Env = Readonly<Record<string, string | undefined>>;

export type Read = <T>(name: string, parse: (value: string) => T, fallback?: T) => T;

/** All faults of the environment at once, each with its variable and its cure. */
export class ConfigError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(`the environment is not usable:\n${faults.map((fault) => `  - ${fault}`).join('\n')}`);
    this.name = 'ConfigError';
    this.faults = faults;
  }
}

/** Reads one variable; what is wrong with it goes to `faults`, so that all faults are told at once. */
export function reader(env: Env, faults: string[]): Read {
  return <T>(name: string, parse: (value: string) => T, fallback?: T): T => {
    const value = env[name] ?? '';
    if (value === '' && fallback !== undefined) return fallback;
    try {
      if (value === '') throw new Error('it is missing; set it in the pod');
      return parse(value);
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      return fallback as T;
    }
  };
}

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
