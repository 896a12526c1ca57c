import type { Code, Command, Value } from './command.ts';
import type { Run, Site } from './run.ts';

/** Something that a command runs in turn. */
export type Inner = Common & ({ readonly argv: readonly Value[] } | { readonly code: Code });

export type Unwrapper = (command: Command, run: Run, site: Site) => readonly Inner[];

interface Common {
  readonly env?: ReadonlyMap<string, Value>;
  readonly stdin?: Value;
  readonly cwd?: string;
  readonly positional?: readonly Value[];
  /** Value of `$0` inside. */
  readonly zero?: Value;
  /** It runs in the shell itself, as `eval` does. */
  readonly sameShell?: boolean;
}
