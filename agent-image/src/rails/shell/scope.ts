import type { Node } from '../syntax/node.ts';
import { dynamic, fixed, type Value } from './command.ts';

/** What a variable may hold: alternatives, each a list of fields (one for a plain variable). */
export type Alternatives = readonly (readonly Value[])[];

const maxAlternatives = 8;

/** The state of one shell: a subshell works on a copy, branches are merged. */
export class Scope {
  readonly variables: Map<string, Alternatives>;
  readonly functions: Map<string, Node & { readonly source: FunctionSource }>;
  positional: readonly Value[];
  cwd: string;

  constructor(from: { variables?: Map<string, Alternatives>; functions?: Scope['functions']; positional?: readonly Value[]; cwd: string }) {
    this.variables = new Map(from.variables);
    this.functions = new Map(from.functions);
    this.positional = from.positional ?? [];
    this.cwd = from.cwd;
  }

  copy(): Scope {
    return new Scope(this);
  }

  set(name: string, alternatives: Alternatives): void {
    this.variables.set(name, limit(alternatives));
  }

  setText(name: string, text: string): void {
    this.variables.set(name, [[fixed(text)]]);
  }

  /** After this scope or another ran: what may be true then. */
  merge(other: Scope): void {
    for (const [name, alternatives] of other.variables) {
      const mine = this.variables.get(name);
      if (mine !== alternatives) this.variables.set(name, limit([...(mine ?? [[fixed('')]]), ...alternatives]));
    }
    for (const [name, body] of other.functions) if (!this.functions.has(name)) this.functions.set(name, body);
  }
}

/** A function's body is walked in the text that defined it. */
export interface FunctionSource {
  readonly frame: unknown;
}

function limit(alternatives: Alternatives): Alternatives {
  const seen = new Map<string, readonly Value[]>();
  for (const fields of alternatives) {
    const key = fields.map((value) => value.text).join('\0');
    const known = seen.get(key);
    if (known === undefined || known.every((value) => value.from.length === 0)) seen.set(key, fields);
  }
  const all = [...seen.values()];
  if (all.length <= maxAlternatives) return all;
  return [...all.slice(0, maxAlternatives), [dynamic(all.flat().flatMap((value) => value.from))]];
}
