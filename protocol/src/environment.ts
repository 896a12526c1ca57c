// protocol, src: reader of process settings from environment variables. Imports nothing of the project.

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

/** Reads one of the values that are known. */
export function oneOf<T extends string>(known: readonly T[]): (value: string) => T {
  return (value) => {
    const found = known.find((one) => one === value);
    if (found === undefined) throw new Error(`"${value}" is not one of ${known.join(', ')}`);
    return found;
  };
}

/** @throws Error for what is no port */
export function parsePort(value: string): number {
  const port = Number(value);
  if (/^\d{1,5}$/.test(value) && port <= 65_535) return port;
  throw new Error(`"${value}" is not a port; write a number up to 65535, 0 for any free one`);
}

/** Reads a switch. */
export function parseFlag(value: string): boolean {
  if (value === 'true' || value === 'false') return value === 'true';
  throw new Error(`"${value}" is neither true nor false`);
}

/** Address of a server. */
export interface Listen {
  readonly host: string;
  readonly port: number;
}

/** @throws Error for an invalid address */
export function parseListen(value: string): Listen {
  const match = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(value);
  const port = Number(match?.[3]);
  if (match === null || port > 65_535) throw new Error(`"${value}" is not an address; write [::]:PORT or 0.0.0.0:PORT`);
  return { host: match[1] ?? (match[2] || '::'), port };
}

/** Listens; where there is no IPv6, on all addresses of IPv4. */
export async function listen(app: { listen(at: Listen): Promise<string> }, { host, port }: Listen): Promise<string> {
  try {
    return await app.listen({ host, port });
  } catch (error) {
    // No IPv6 on this node.
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (host !== '::' || (code !== 'EAFNOSUPPORT' && code !== 'EADDRNOTAVAIL')) throw error;
    return app.listen({ host: '0.0.0.0', port });
  }
}

/** @throws Error for a path that depends on where the process was started */
export function parsePath(value: string): string {
  if (!value.startsWith('/')) throw new Error(`"${value}" is not an absolute path; write it from / on`);
  return value;
}
