/** The environment of a process: how every part of the system reads its settings. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Reads one variable. Empty is absent; a variable without a fallback must be there. `parse` throws with words and a cure. */
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

/**
 * Reads variables; what is wrong with them goes to `faults`, so that all faults are reported at once.
 *
 * @param where what sets the variables, for the cure of one that is missing
 */
export function reader(env: Env, faults: string[], where: string): Read {
  return <T>(name: string, parse: (value: string) => T, fallback?: T): T => {
    const value = env[name] ?? '';
    if (value === '' && fallback !== undefined) return fallback;
    try {
      if (value === '') throw new Error(`it is missing; set it in ${where}`);
      return parse(value);
    } catch (error) {
      faults.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      return fallback as T;
    }
  };
}
